package main

import (
	"github.com/pawl-go/pawl/examples/histories/history"
)

// deed is one way to do an operation.
type deed struct {
	kind   history.Kind
	on     string // the actor type of the key
	via    string // what sets it apart, for people
	method string
	cell   string // read from outside by /state, in place of a method
	// readOnly: the method leaves no invocation, so it takes no idempotency key.
	readOnly bool
	courier  bool // a courier is asked to do it
}

// workloads are what clients do, by name. All but sound must be refuted.
var workloads = map[string][]deed{
	"sound": {
		{kind: history.Read, on: "Register", method: "Read"},
		{kind: history.Read, on: "Register", method: "Peek", readOnly: true, via: "read-only"},
		{kind: history.Read, on: "Register", cell: "number", via: "state"},
		{kind: history.Read, on: "Register", method: "Read", courier: true, via: "nested"},
		{kind: history.Read, on: "Register", method: "Peek", courier: true, via: "nested, read-only"},
		{kind: history.Write, on: "Register", method: "Write"},
		{kind: history.Write, on: "Register", method: "Write", courier: true, via: "tail call"},
		{kind: history.CompareAndSet, on: "Register", method: "CompareAndSet"},
		{kind: history.CompareAndSet, on: "Register", method: "CompareAndSet", courier: true, via: "nested, once"},

		{kind: history.Add, on: "Counter", method: "Add"},
		{kind: history.Add, on: "Counter", method: "AddByTail", via: "tail call to itself"},
		{kind: history.Add, on: "Counter", method: "Add", courier: true, via: "nested, once"},
		{kind: history.Add, on: "Counter", method: "AddByTail", courier: true, via: "two tail calls"},
		{kind: history.Read, on: "Counter", method: "Get"},
		{kind: history.Read, on: "Counter", method: "Peek", readOnly: true, via: "read-only"},
		{kind: history.Read, on: "Counter", cell: "number", via: "state"},
	},
	"forgetful": {
		{kind: history.Read, on: "Forgetful", method: "Read"},
		{kind: history.Write, on: "Forgetful", method: "Write"},
	},
	"lagging": {
		{kind: history.Read, on: "Lagging", method: "Read"},
		{kind: history.Write, on: "Lagging", method: "Write"},
	},
	"losing": {
		{kind: history.Add, on: "Losing", method: "Add"},
		{kind: history.Read, on: "Losing", method: "Get"},
	},
}

// keyed reports whether the deed is an invocation, which can be asked for again
// under its idempotency key.
func (d *deed) keyed() bool { return !d.readOnly && d.cell == "" }

// target names whom to ask for a deed on the actor id, and with what input.
func (d *deed) target(id, courier string, o *history.Operation) (kind, actor string, input any) {
	if d.courier {
		return "Courier", courier, Errand{To: id, Arg: o.Arg, Old: o.Old}
	}
	switch o.Kind {
	case history.Write, history.Add:
		input = o.Arg
	case history.CompareAndSet:
		input = Swap{Old: o.Old, New: o.Arg}
	}
	return d.on, id, input
}
