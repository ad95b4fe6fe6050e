package host

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/internal/runtime"
)

// stateless is what an instance is that keeps nothing of the actor's state.
type stateless struct{}

func (stateless) Load([]engine.Cell) error                          { return nil }
func (stateless) Writes(dst []engine.Write) ([]engine.Write, error) { return dst, nil }
func (stateless) Recorded()                                         {}
func (stateless) Discard()                                          {}
func (stateless) Settle()                                           {}

// instance is an actor in the memory of the application. What a method changes by
// requests of its own is recorded at once, past the instance; what its answer changes
// is recorded with its outcome.
type instance struct {
	stateless
	host    *Host
	actor   engine.Actor
	made    bool           // the application has it; changed by who has the turn
	changed []engine.Write // by an answer whose outcome is not recorded yet
	gone    *leaving       // since Leave; nil before, and if there was nothing to let go
}

// Writes are those of the answer.
func (i *instance) Writes(dst []engine.Write) ([]engine.Write, error) {
	return append(dst, i.changed...), nil
}

// Recorded says that the writes are the state's.
func (i *instance) Recorded() { i.changed = nil }

// Discard drops the writes.
func (i *instance) Discard() { i.changed = nil }

// MethodDeactivate has the application let go of an actor, wherever it is; no
// method of an application has such a name.
const MethodDeactivate = "\x00deactivate"

var (
	_ runtime.Instance = (*instance)(nil)
	_ runtime.Leaver   = (*instance)(nil)
)

// Activate has the application make the actor, if it has not.
func (i *instance) Activate(inv *runtime.Invocation) error {
	if inv.Method() == MethodDeactivate {
		return nil
	}
	s := i.host.open(inv)
	defer s.close()
	i.host.gone(i.actor) // not the one that is about to go
	a, err := i.host.ask(inv, http.MethodGet, actorPath(i.actor, "", s.name), nil, nil)
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
	r, changes := i.ask(inv, payload)
	if r.Failure == nil {
		i.changed = changes.Writes()
	}
	return r
}

// ask has the application run a method. The turn is the attempt's again when it
// returns.
func (i *instance) ask(inv *runtime.Invocation, payload []byte) (runtime.Result, *Changes) {
	s := i.host.open(inv)
	defer s.close()
	header := http.Header{"Content-Type": {"application/kar+json"}}
	a, err := i.host.ask(inv, http.MethodPost, actorPath(i.actor, inv.Method(), s.name), header, Arguments(payload))
	if err != nil {
		return runtime.Result{Failure: i.host.broken(inv, err)}, nil
	}
	i.host.metrics.answered(i.actor.Type, "/"+inv.Method(), a.status, a.took)
	return a.result(inv)
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
