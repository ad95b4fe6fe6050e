package spec_test

import (
	"fmt"

	"github.com/pawl-go/pawl/spec"
)

// A counter is incremented. The first attempt is lost with its write; what it
// still tries is refused; the second attempt adds one, once.
func Example() {
	w := spec.NewWorld(0)
	do := func(e spec.Event) {
		if err := w.Do(&e); err != nil {
			fmt.Println("refused:", err)
		}
	}
	value := spec.Cell{Actor: "counter"}
	first, second := spec.Attempt{ID: "i", Step: 1, N: 1}, spec.Attempt{ID: "i", Step: 1, N: 2}

	do(spec.Event{Rule: spec.RuleSend, Msg: spec.Message{ID: "i", Kind: spec.Call, Return: "client", Actor: "counter", Method: "incr"}})
	do(spec.Event{Rule: spec.RuleBegin, By: first})
	do(spec.Event{Rule: spec.RuleStep, By: first, Writes: []spec.Write{{Cell: value, Value: "1"}}})
	do(spec.Event{Rule: spec.RuleFailure, Actors: []spec.Actor{"counter"}})
	fmt.Printf("after the failure the counter is %q, and i is runnable: %v\n", w.State.S[value], w.State.Runnable("i"))

	do(spec.Event{Rule: spec.RuleBegin, By: second})
	do(spec.Event{Rule: spec.RuleEnd, By: first, Value: "late"})
	do(spec.Event{Rule: spec.RuleStep, By: second, Writes: []spec.Write{{Cell: value, Value: "1"}}})
	do(spec.Event{Rule: spec.RuleEnd, By: second, Value: "ok"})
	fmt.Printf("the counter is %q, the client is told %q\n", w.State.S[value], w.State.Response("i").Value)
	// Output:
	// after the failure the counter is "", and i is runnable: true
	// refused: end i: the attempt is a zombie
	// the counter is "1", the client is told "ok"
}
