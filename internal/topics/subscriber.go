package topics

import (
	"slices"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/internal/runtime"
)

// A subscriber has a cell for each subscription, by its name.

// subscribeStep sets a subscription; it says whether there was one of the name.
func subscribeStep(i *instance, inv *runtime.Invocation, payload []byte) runtime.Result {
	m, err := decode(payload)
	if err != nil {
		return failed(err)
	}
	old := i.cells[string(m.Name)]
	if old != nil {
		was, err := decode(old)
		if err != nil {
			return failed(&engine.Error{Code: engine.ErrBadState, Err: err})
		}
		if was.Topic != m.Topic {
			if res := pass(inv, was, unsubscribe); res != nil {
				return *res
			}
		}
	}
	if res := pass(inv, m, subscribe); res != nil {
		return *res
	}
	i.put(string(m.Name), payload)
	return said(old != nil)
}

// unsubscribeStep gives up a subscription by its name, if it is to the topic that
// is named; empty: whatever it is to. It says whether there was one.
func unsubscribeStep(i *instance, inv *runtime.Invocation, payload []byte) runtime.Result {
	m, err := decode(payload)
	if err != nil {
		return failed(err)
	}
	return i.giveUp(inv, string(m.Name), m.Topic)
}

// clearStep gives up all subscriptions.
func clearStep(i *instance, inv *runtime.Invocation, _ []byte) runtime.Result {
	names := slices.Clone(i.names())
	for _, name := range names {
		if res := i.giveUp(inv, name, ""); res.Value == nil {
			return res
		}
	}
	return said(len(names) > 0)
}

func (i *instance) giveUp(inv *runtime.Invocation, name string, topic text) runtime.Result {
	old := i.cells[name]
	if old == nil {
		return said(false)
	}
	was, err := decode(old)
	if err != nil {
		return failed(&engine.Error{Code: engine.ErrBadState, Err: err})
	}
	if topic != "" && was.Topic != topic {
		return said(false)
	}
	if res := pass(inv, was, unsubscribe); res != nil {
		return *res
	}
	return said(i.drop(name))
}

// pass passes a change on to the topic; not nil: it could not.
func pass(inv *runtime.Invocation, m *message, method string) *runtime.Result {
	o, err := inv.Call(inv, runtime.Call{To: topicActor(string(m.Topic)), Method: method, Payload: m.encode()})
	switch {
	case err != nil:
		res := failed(err)
		return &res
	case o.Failure != nil:
		return &runtime.Result{Failure: o.Failure}
	}
	return nil
}
