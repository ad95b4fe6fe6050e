package host

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/internal/runtime"
)

// RefusedCode begins the code of a failure that keeps the HTTP status with
// which the application refused: "http.418".
const RefusedCode = "http."

// refusal is the failure of an answer of 400 and above: the caller gets it as
// it is.
func (a *answer) refusal() *engine.Failure {
	return &engine.Failure{Code: RefusedCode + strconv.Itoa(a.status), Message: string(a.body)}
}

// body is what an answer to an activation or an invocation may say.
type body struct {
	Error    bool            `json:"error"`
	Message  string          `json:"message"`
	Stack    string          `json:"stack"`
	Value    json.RawMessage `json:"value"`
	TailCall bool            `json:"tailCall"`
	State    *Changes        `json:"state"`
}

// thrown is the failure of an answer that reports an error.
func (a *answer) thrown() *engine.Failure {
	var b body
	if json.Unmarshal(a.body, &b) != nil || !b.Error {
		return nil
	}
	return &engine.Failure{Message: b.Message, Detail: []byte(b.Stack)}
}

// result understands the answer to an invocation: how it ends, and what of the
// actor's state changes with that.
func (a *answer) result(inv *runtime.Invocation) (runtime.Result, *Changes) {
	switch {
	case a.status == http.StatusNoContent:
		return runtime.Result{}, nil
	case a.status == http.StatusNotFound:
		return runtime.Result{Failure: engine.Fail(engine.ErrNoMethod, string(a.body))}, nil
	case a.status >= 300:
		return runtime.Result{Failure: a.refusal()}, nil
	case len(bytes.TrimSpace(a.body)) == 0:
		return runtime.Result{}, nil
	}
	var b body
	if err := json.Unmarshal(a.body, &b); err != nil {
		return runtime.Result{Failure: engine.Fail(engine.ErrBadPayload,
			fmt.Sprintf("the application answered %s with what is not {value} or {error,message,stack}: %v", inv.Method(), err))}, nil
	}
	switch {
	case b.Error:
		return runtime.Result{Failure: a.thrown()}, nil
	case b.TailCall:
		return tailOf(inv, b.Value), b.State
	}
	return runtime.Result{Value: b.Value}, b.State
}

// tail is the value of an answer that ends with a tail call.
type tail struct {
	ActorType   string          `json:"actorType"`
	ActorID     string          `json:"actorId"`
	ServiceName string          `json:"serviceName"`
	Path        string          `json:"path"`
	Method      string          `json:"method"`
	Payload     json.RawMessage `json:"payload"` // an array as a string, for an actor
	ReleaseLock string          `json:"releaseLock"`
}

func tailOf(inv *runtime.Invocation, value []byte) runtime.Result {
	bad := func(why string) runtime.Result {
		return runtime.Result{Failure: engine.Fail(engine.ErrBadPayload, "the application answered with a tail call "+why)}
	}
	var t tail
	if err := json.Unmarshal(value, &t); err != nil {
		return bad("that does not decode: " + err.Error())
	}
	payload := []byte(t.Payload)
	if text := ""; json.Unmarshal(t.Payload, &text) == nil {
		payload = []byte(text)
	}
	if t.ServiceName != "" {
		r := Request{Verb: t.Method, Path: t.Path, Body: payload}
		if r.Verb == "" {
			r.Verb = http.MethodPost
		}
		r.Header = http.Header{"Content-Type": {"application/json"}}
		call := r.Call(t.ServiceName, inv.Component().Session().NewID().String())
		return runtime.Result{Tail: &runtime.Tail{To: call.To, Method: call.Method, Payload: call.Payload}}
	}
	method := strings.TrimPrefix(t.Path, "/")
	if t.ActorType == "" || method == "" {
		return bad("that names no actor and path, and no service")
	}
	return runtime.Result{Tail: &runtime.Tail{
		To: engine.Actor{Type: t.ActorType, ID: t.ActorID}, Method: method,
		Payload: For(inv.Component(), t.ActorType, payload), Release: t.ReleaseLock == "true",
	}}
}

// For turns an array of arguments into what methods of the type take, wherever
// it is hosted.
func For(c *runtime.Component, kind string, array []byte) []byte {
	if t := c.Hosts(kind); t != nil {
		return array
	}
	for _, m := range c.Session().Members() {
		for _, t := range m.Types {
			if t.Name == kind && t.Identity != Identity {
				return Argument(array)
			}
		}
	}
	return array
}

// Knows reports whether a living component hosts the type as one of ours.
func Knows(c *runtime.Component, kind string) bool {
	for _, m := range c.Session().Members() {
		for _, t := range m.Types {
			if t.Name == kind && t.Identity == Identity {
				return true
			}
		}
	}
	return false
}
