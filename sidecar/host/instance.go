package host

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/internal/runtime"
)

// stateless is what instances here have in common: the state of their actors
// is written at once, so nothing of it is kept with an outcome.
type stateless struct{}

func (stateless) Load([]engine.Cell) error                          { return nil }
func (stateless) Writes(dst []engine.Write) ([]engine.Write, error) { return dst, nil }
func (stateless) Recorded()                                         {}
func (stateless) Discard()                                          {}
func (stateless) Settle()                                           {}

// instance is an actor in the memory of the application.
type instance struct {
	stateless
	host  *Host
	actor engine.Actor
	made  bool // the application has it
}

// MethodDeactivate has the application let go of an actor, wherever it is; no
// method of an application has such a name.
const MethodDeactivate = "\x00deactivate"

var _ runtime.Instance = (*instance)(nil)

// Activate has the application make the actor, if it has not.
func (i *instance) Activate(inv *runtime.Invocation) error {
	if inv.Method() == MethodDeactivate {
		return nil
	}
	s := i.host.open(inv)
	defer s.close()
	a, err := i.host.do(inv, http.MethodGet, actorPath(i.actor, "", s.name), nil, nil)
	switch {
	case err != nil:
		return &runtime.FailureError{Failure: i.host.broken(inv, err)}
	case a.status >= 400:
		return &runtime.FailureError{Failure: a.refusal()}
	}
	if f := a.thrown(); f != nil {
		return &runtime.FailureError{Failure: f}
	}
	i.made = true
	return nil
}

// Invoke runs a method.
func (i *instance) Invoke(inv *runtime.Invocation, _ *runtime.Method, payload []byte) runtime.Result {
	if inv.Method() == MethodDeactivate {
		i.host.Forget(inv, i.actor)
		i.made = false
		return runtime.Result{}
	}
	if !i.made {
		if err := i.Activate(inv); err != nil {
			f, _ := errors.AsType[*runtime.FailureError](err) // it gives no other
			return runtime.Result{Failure: f.Failure}
		}
	}
	s := i.host.open(inv)
	defer s.close()
	header := http.Header{"Content-Type": {"application/kar+json"}}
	a, err := i.host.do(inv, http.MethodPost, actorPath(i.actor, inv.Method(), s.name), header, Arguments(payload))
	if err != nil {
		return runtime.Result{Failure: i.host.broken(inv, err)}
	}
	return a.result(inv)
}

// deactivateTimeout bounds how long the application may take to let an actor go.
const deactivateTimeout = 5 * time.Second

// Deactivate tells the application that the actor is idle.
func (i *instance) Deactivate() {
	i.host.Forget(context.Background(), i.actor)
}

// Arguments makes a JSON array of a payload, as methods here take it: what is
// none is the only argument, and nothing is none.
func Arguments(payload []byte) []byte {
	for _, c := range payload {
		switch c {
		case ' ', '\t', '\r', '\n':
			continue
		case '[':
			return payload
		}
		return append(append([]byte{'['}, payload...), ']')
	}
	return []byte("[]")
}

// Argument is the reverse, for a type that is hosted elsewhere, in Go: its
// methods take one value. Several arguments stay an array.
func Argument(array []byte) []byte {
	var args []json.RawMessage
	if json.Unmarshal(array, &args) != nil {
		return array
	}
	switch len(args) {
	case 0:
		return nil
	case 1:
		return args[0]
	}
	return array
}

// Forget has the application let go of an actor, if its instance is here.
func (h *Host) Forget(ctx context.Context, a engine.Actor) {
	ctx, cancel := context.WithTimeout(ctx, deactivateTimeout)
	defer cancel()
	if _, err := h.once(ctx, http.MethodDelete, actorPath(a, "", ""), nil, nil); err != nil {
		h.cfg.Logger.Debug("deactivate", "actor", a, "error", err)
	}
}
