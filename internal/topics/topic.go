package topics

import (
	"slices"
	"strings"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/internal/runtime"
)

// The cells of a topic.
const (
	existsCell       = "exists"
	reachedCell      = "reached" // the last subscription told the event that is being published
	subscriptionCell = "to:"     // and the key of the subscription
)

// atOnce is how many subscribers are told an event in one record.
const atOnce = 1000

// publishStep tells the event to as many subscribers as one outcome takes, and
// goes on by a tail call to itself.
func publishStep(i *instance, inv *runtime.Invocation, event []byte) runtime.Result {
	from := subscriptionCell
	if inv.Step() > 1 {
		from = string(i.cells[reachedCell]) + "\x00"
	}
	names := i.names()
	at, _ := slices.BinarySearch(names, from)
	size, n, reached := len(event), 0, "" // a tail call's argument is the event once more
	for _, name := range names[at:] {
		if !strings.HasPrefix(name, subscriptionCell) {
			break
		}
		m, err := decode(i.cells[name])
		if err != nil {
			return failed(&engine.Error{Code: engine.ErrBadState, Err: err})
		}
		payload := event
		if m.Array {
			payload = slices.Concat([]byte("["), event, []byte("]"))
		}
		size += len(payload)
		if n > 0 && (n == atOnce || size > i.outcomeLimit/2) {
			i.put(reachedCell, []byte(reached))
			return runtime.Result{Tail: &runtime.Tail{To: inv.Self(), Method: publish, Payload: event}}
		}
		_, err = inv.Tell(inv, runtime.Call{To: m.actor(), Method: string(m.Method), Payload: payload, WithOutcome: true})
		if err != nil {
			return failed(err)
		}
		n, reached = n+1, name
	}
	i.drop(reachedCell)
	return runtime.Result{}
}

// createStep makes the topic known; it says whether it was not.
func createStep(i *instance, _ *runtime.Invocation, _ []byte) runtime.Result {
	if i.cells[existsCell] != nil {
		return said(false)
	}
	i.put(existsCell, []byte("true"))
	return said(true)
}

// removeStep forgets the topic, with all subscriptions to it.
func removeStep(i *instance, inv *runtime.Invocation, _ []byte) runtime.Result {
	for _, name := range slices.Clone(i.names()) {
		if !strings.HasPrefix(name, subscriptionCell) {
			continue
		}
		m, err := decode(i.cells[name])
		if err != nil {
			return failed(&engine.Error{Code: engine.ErrBadState, Err: err})
		}
		i.drop(name)
		if _, err := inv.Tell(inv, runtime.Call{
			To: subscriberActor(m.actor()), Method: unsubscribe, Payload: m.encode(), WithOutcome: true,
		}); err != nil {
			return failed(err)
		}
	}
	return said(i.drop(existsCell))
}

func topicSubscribe(i *instance, _ *runtime.Invocation, payload []byte) runtime.Result {
	m, err := decode(payload)
	if err != nil {
		return failed(err)
	}
	if i.cells[existsCell] == nil {
		i.put(existsCell, []byte("true"))
	}
	_, known := i.cells[m.key()]
	i.put(m.key(), payload)
	return said(known)
}

func topicUnsubscribe(i *instance, _ *runtime.Invocation, payload []byte) runtime.Result {
	m, err := decode(payload)
	if err != nil {
		return failed(err)
	}
	return said(i.drop(m.key()))
}
