package host

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/internal/runtime"
)

// Request is an HTTP request to a service, as a payload.
type Request struct {
	Verb   string      `json:"verb"`
	Path   string      `json:"path"` // escaped, with its query
	Header http.Header `json:"header,omitempty"`
	Body   []byte      `json:"body,omitempty"`
}

// Call makes the call of an actor of the service that serves nothing else.
func (r *Request) Call(name, id string) runtime.Call {
	b, err := json.Marshal(r)
	if err != nil { // strings and bytes
		panic(err)
	}
	return runtime.Call{To: engine.Actor{Type: ServicePrefix + name, ID: id}, Method: "request", Payload: b}
}

// Response is what a service has answered, as an outcome.
type Response struct {
	Status int         `json:"status"`
	Header http.Header `json:"header,omitempty"`
	Body   []byte      `json:"body,omitempty"`
}

// responseMark begins an outcome that is a Response: a chain of tail calls may
// end at a service, and no JSON begins so.
var responseMark = []byte("HTTP ")

// ResponseOf reads an outcome. Not ok: it is that of a method.
func ResponseOf(value []byte) (r Response, ok bool) {
	rest, ok := bytes.CutPrefix(value, responseMark)
	return r, ok && json.Unmarshal(rest, &r) == nil
}

// service is one request to a service.
type service struct {
	stateless
	host *Host
}

var _ runtime.Instance = (*service)(nil)

// Activate does nothing: a service has no actors.
func (*service) Activate(*runtime.Invocation) error { return nil }

// Deactivate does nothing.
func (*service) Deactivate() {}

// Invoke makes the request. Whatever is answered is the outcome.
func (s *service) Invoke(inv *runtime.Invocation, _ *runtime.Method, payload []byte) runtime.Result {
	var r Request
	if err := json.Unmarshal(payload, &r); err != nil || r.Verb == "" || len(r.Path) == 0 || r.Path[0] != '/' {
		return runtime.Result{Failure: engine.Fail(engine.ErrBadPayload, "a request to a service needs verb and path")}
	}
	a, err := s.host.ask(inv, r.Verb, r.Path, r.Header, r.Body)
	if err != nil {
		return runtime.Result{Failure: s.host.broken(inv, err)}
	}
	path, _, _ := strings.Cut(r.Path, "?")
	s.host.metrics.answered(inv.Self().Type[len(ServicePrefix):], path, a.status, a.took)
	b, err := json.Marshal(Response{a.status, a.header, a.body})
	if err != nil { // strings and bytes
		panic(err)
	}
	return runtime.Result{Value: append(bytes.Clone(responseMark), b...)}
}
