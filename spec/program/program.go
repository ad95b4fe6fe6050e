package program

import (
	"slices"
	"strconv"
	"strings"

	"github.com/pawl-go/pawl/spec"
)

// Program is a small program with its clients.
type Program struct {
	Name  string
	About string // one line
	// Failures is how many failures it is explored with; a test takes one less.
	Failures int
	Clients  []Client
	Methods  map[string]Method // by name; one name means the same on every actor

	// What beside the rules of running code may happen.
	Cancels     bool   // the rule cancel
	Preempts    bool   // the rule preempt
	MaxAttempts int    // a request that has begun so often is parked; 0: never
	Deadlocks   bool   // deadlocks are looked for at every step, not only while no code runs
	Operator    []Act  // what an operator may do, each at most once, at any time
	Refuted     string // what is wrong with it, if it is to be refuted

	// Check says what is wrong with a final state, "" for nothing.
	Check func(Final) string
}

// Client calls from outside, one call after the other's answer.
type Client struct {
	Name  string
	Calls []Request
}

// Request is a call of a client, or a tell: then the client does not wait.
type Request struct {
	Actor  spec.Actor
	Method string
	Arg    spec.Value
	Tell   bool
}

// Act is what an operator may do: a rule, and the invocation that it is about.
// For overrule, answer and force the outcome is "operator".
type Act struct {
	Rule spec.Rule
	ID   spec.ID
}

// Method is the code of a method.
type Method []Instr

// View is what an instruction sees.
type View struct {
	P     spec.Value // the state of its actor: recorded, under its own writes
	Point spec.Point
	N     int // which attempt this is
}

// Instr is an instruction.
type Instr struct {
	// Next gives the transitions from here. In the messages it sends, Actor,
	// Method and Arg are set, and ID for a call made once; Waits is left out: a
	// wait is for the oldest call out.
	Next func(View) []spec.Event
	// Got gives where the code goes on when its wait has returned a value.
	Got func(spec.Point, spec.Value) spec.Point
	// Deadline says that its wait may also end without.
	Deadline bool
}

// At gives the instruction at a point of a method.
func (p *Program) At(method string, at spec.Point) Instr {
	m := p.Methods[method]
	if at.PC >= len(m) {
		return end(none)
	}
	return m[at.PC]
}

// Final is a state from which nothing leads on.
type Final struct {
	Program *Program
	World   *spec.World
}

// State gives the recorded state of an actor.
func (f Final) State(a spec.Actor) spec.Value { return f.World.State.S[spec.Cell{Actor: a}] }

// Answers gives the outcomes of the clients' calls that have ended by their
// code, in the order of the clients.
func (f Final) Answers() []spec.Value {
	var all []spec.Value
	for _, c := range f.Program.Clients {
		for at, r := range c.Calls {
			if e, ok := f.World.History.Ended[c.ID(at)]; ok && e.How == spec.ByOutcome && !r.Tell {
				all = append(all, e.Value)
			}
		}
	}
	return all
}

// ID names a client's call.
func (c *Client) ID(call int) spec.ID {
	return spec.ID(c.Name + string(rune('1'+call)))
}

// Send gives the event by which a client makes its call.
func (c *Client) Send(call int) spec.Event {
	r := c.Calls[call]
	m := spec.Message{ID: c.ID(call), Kind: spec.Call, Return: spec.ID("client " + c.Name), Actor: r.Actor, Method: r.Method, Arg: r.Arg}
	if r.Tell {
		m.Kind, m.Return = spec.Tell, ""
	}
	return spec.Event{Rule: spec.RuleSend, Msg: m}
}

// Find gives the program of a name; "random-7" is Random(7).
func Find(name string) (*Program, bool) {
	if number, ok := strings.CutPrefix(name, "random-"); ok {
		seed, err := strconv.ParseUint(number, 10, 64)
		return Random(seed), err == nil
	}
	all := All()
	at := slices.IndexFunc(all, func(p *Program) bool { return p.Name == name })
	if at < 0 {
		return nil, false
	}
	return all[at], true
}

// Names lists the programs.
func Names() string {
	var names []string
	for _, p := range All() {
		names = append(names, p.Name)
	}
	return strings.Join(names, ", ")
}
