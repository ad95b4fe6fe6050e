package history

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/anishathalye/porcupine"
)

// Result says whether there is an order.
type Result string

// The results.
const (
	Linearizable Result = "linearizable"
	Refuted      Result = "refuted" // there is no order
	Unknown      Result = "unknown" // none was found, and not all were tried
)

// Verdict is what the check of one key has come to.
type Verdict struct {
	Key        string
	Result     Result
	Operations int // that count: open reads have no effect
	Open       int // of them, without an answer
	Ordered    int // in the longest order that was found: how far it came
	Took       time.Duration
}

// Check checks each key of h, for at most limit each, and returns their verdicts
// in the order of the keys. Keys that were not begun when ctx ended are Unknown.
func Check(ctx context.Context, h *History, limit time.Duration) []Verdict {
	keys := byKey(h.Operations)
	var verdicts []Verdict
	for _, key := range slices.SortedFunc(maps.Keys(keys), naturally) {
		v := Verdict{Key: key, Result: Unknown, Operations: len(keys[key])}
		for i := range keys[key] {
			if keys[key][i].Open {
				v.Open++
			}
		}
		if ctx.Err() == nil {
			began := time.Now()
			var order []Operation
			v.Result, order, _ = search(keys[key], limit)
			v.Ordered, v.Took = len(order), time.Since(began)
		}
		verdicts = append(verdicts, v)
	}
	return verdicts
}

// byKey sorts operations by their keys and, within one, by their calls. Open
// reads are left out.
func byKey(all []Operation) map[string][]Operation {
	keys := map[string][]Operation{}
	for _, o := range all {
		if o.Kind != Read || !o.Open {
			keys[o.Key] = append(keys[o.Key], o)
		}
	}
	for _, ops := range keys {
		slices.SortStableFunc(ops, func(a, b Operation) int { return cmp.Compare(a.Call, b.Call) })
	}
	return keys
}

// naturally puts shorter keys first, so that 9 stands before 10.
func naturally(a, b string) int {
	return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
}

// search looks for an order of the operations of one key. It returns the longest
// that it found, which holds all of them if the result is Linearizable.
func search(ops []Operation, limit time.Duration) (Result, []Operation, porcupine.LinearizationInfo) {
	if len(ops) == 0 {
		return Linearizable, nil, porcupine.LinearizationInfo{}
	}
	found, info := porcupine.CheckOperationsVerbose(model, operations(ops), limit)
	var longest []Operation
	for _, partition := range info.PartialLinearizations() {
		for _, ids := range partition {
			if len(ids) <= len(longest) {
				continue
			}
			longest = longest[:0]
			for _, id := range ids {
				longest = append(longest, ops[id])
			}
		}
	}
	results := map[porcupine.CheckResult]Result{
		porcupine.Ok: Linearizable, porcupine.Illegal: Refuted, porcupine.Unknown: Unknown,
	}
	return results[found], longest, info
}

// operations puts ops into the terms of porcupine. An open operation returns
// after all else: then it may take its place anywhere after its call, and one
// that never happened may take it behind everything that was answered.
func operations(ops []Operation) []porcupine.Operation {
	var end time.Duration
	for i := range ops {
		end = max(end, ops[i].Call, ops[i].Return)
	}
	list := make([]porcupine.Operation, len(ops))
	for i := range ops {
		o := &ops[i]
		list[i] = porcupine.Operation{ClientId: o.Client, Input: o, Output: o, Call: int64(o.Call), Return: int64(o.Return)}
		if o.Open {
			list[i].Return = int64(end) + 1
		}
	}
	return list
}

// model is [Operation.Apply] in the terms of porcupine.
var model = porcupine.Model{
	Init: func() any { return int64(0) },
	Step: func(state, input, _ any) (bool, any) {
		after, ok := input.(*Operation).Apply(state.(int64))
		return ok, after
	},
	DescribeOperation: func(input, _ any) string { return input.(*Operation).String() },
	DescribeState:     func(state any) string { return strconv.FormatInt(state.(int64), 10) },
}
