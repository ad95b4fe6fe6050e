package history

import (
	"fmt"
	"io"
	"slices"
	"sort"
	"time"

	"github.com/anishathalye/porcupine"
)

// Explanation shows why a key was refuted: the shortest beginning of its history
// for which there is no order. The last operation to return in it is the one
// that no order explains.
type Explanation struct {
	Key        string
	Whole      int         // operations in the whole history of the key
	Operations []Operation // of the beginning, by their calls; not answered by its end: open
	Events     []Event     // within the beginning
	Order      []Operation // the longest that was found
	Number     int64       // the number at its end

	info porcupine.LinearizationInfo
}

// Explain explains a key that Check has refuted. Each of a few searches takes at
// most limit; where one is not done by then, the beginning shown is longer than
// need be. It returns an error if the key is not refuted within limit.
func Explain(h *History, key string, limit time.Duration) (*Explanation, error) {
	ops := byKey(h.Operations)[key]
	returns := returnsOf(ops)
	refuted := func(n int) bool {
		result, _, _ := search(until(ops, returns[n]), limit)
		return result == Refuted
	}
	// Whatever begins with a refuted beginning is refuted too.
	n := sort.Search(len(returns), refuted)
	if n == len(returns) {
		return nil, fmt.Errorf("explain %s: it is not refuted within %v", key, limit)
	}
	e := &Explanation{Key: key, Whole: len(ops), Operations: until(ops, returns[n])}
	_, e.Order, e.info = search(e.Operations, limit)
	for len(e.Order) > 0 && e.Order[len(e.Order)-1].Open {
		e.Order = e.Order[:len(e.Order)-1] // it may as well not have happened
	}
	for i := range e.Order {
		e.Number, _ = e.Order[i].Apply(e.Number)
	}
	for _, event := range h.Events {
		if event.At >= e.Operations[0].Call && event.At <= returns[n] {
			e.Events = append(e.Events, event)
		}
	}
	return e, nil
}

// returnsOf gives the moments at which operations returned, in rising order.
func returnsOf(ops []Operation) []time.Duration {
	var returns []time.Duration
	for i := range ops {
		if !ops[i].Open {
			returns = append(returns, ops[i].Return)
		}
	}
	slices.Sort(returns)
	return slices.Compact(returns)
}

// until is the history as it was known at a moment: what was called later is not
// there, and what returned later is open.
func until(ops []Operation, moment time.Duration) []Operation {
	var known []Operation
	for _, o := range ops {
		if o.Call > moment {
			continue
		}
		if !o.Open && o.Return > moment {
			o.Open, o.Return, o.Value, o.Set = true, 0, 0, false
		}
		if o.Kind != Read || !o.Open {
			known = append(known, o)
		}
	}
	return known
}

// WritePage writes a page for a browser, which shows the beginning, the orders
// that were tried and where each ended.
func (e *Explanation) WritePage(w io.Writer) error {
	var notes []porcupine.Annotation
	for _, event := range e.Events {
		notes = append(notes, porcupine.Annotation{Tag: "process", Start: int64(event.At), Description: event.What})
	}
	e.info.AddAnnotations(notes)
	if err := porcupine.Visualize(model, e.info, w); err != nil {
		return fmt.Errorf("write page of %s: %w", e.Key, err)
	}
	return nil
}
