package walk

import (
	"cmp"
	"slices"
	"strings"

	"github.com/pawl-go/pawl/spec"
	"github.com/pawl-go/pawl/spec/journal"
	"github.com/pawl-go/pawl/spec/program"
)

// node is a world together with what is left to its surroundings.
type node struct {
	world    *spec.World
	log      *journal.Machine // the second machine, whose world it is; nil: the first one
	sent     []uint8          // calls that each client has made
	failures uint8            // still allowed
	acts     uint8            // of the operator, taken: one bit each
}

func (w *walker) root() *node {
	cfg := &w.cfg
	n := &node{sent: make([]uint8, len(cfg.Program.Clients)), failures: uint8(cfg.Failures)}
	if cfg.Journal == nil {
		n.world = spec.NewWorld(cfg.Mutants)
		return n
	}
	n.log = journal.New(cfg.Journal.Mutants, cfg.Journal.Outside...)
	n.world = n.log.World
	return n
}

func (n *node) clone() *node {
	c := &node{sent: n.sent, failures: n.failures, acts: n.acts}
	if n.log == nil {
		c.world = n.world.Clone()
		return c
	}
	c.log = n.log.Clone()
	c.world = c.log.World
	return c
}

func (n *node) appendKey(b []byte) []byte {
	b = append(b, n.sent...)
	b = append(b, n.failures, n.acts)
	if n.log != nil {
		return n.log.AppendKey(b)
	}
	return n.world.AppendKey(b)
}

// do applies an event, by whichever machine it is.
func (n *node) do(e *spec.Event) error {
	if n.log == nil {
		return n.world.Do(e)
	}
	err := n.log.Do(e)
	n.world = n.log.World // a crash makes it anew
	return err
}

// choice is an event that may happen at a node.
type choice struct {
	event  spec.Event
	client int // who sends, from 1
	act    int // which act of the operator, from 1
	// alone says that the event commutes with all that others may do and
	// changes nothing for them: it is enough to take it first.
	alone bool
	// try says that a refusal is expected: what a zombie does. It is the last
	// thing that the zombie does.
	try bool
}

// take applies a choice to a node.
func (n *node) take(c *choice) error {
	err := n.do(&c.event)
	if err != nil {
		return err
	}
	switch {
	case c.event.Rule == spec.RuleFailure || c.event.Rule == journal.RuleCrash:
		n.failures--
	case c.client > 0:
		n.sent = slices.Clone(n.sent)
		n.sent[c.client-1]++
	case c.act > 0:
		n.acts |= 1 << (c.act - 1)
	}
	return nil
}

// choices lists what may happen at a node. Events that turn out to be refused
// are no choices; whoever takes them finds out.
func (w *walker) choices(n *node) []choice {
	s := n.world.State
	var cs []choice
	for at := range s.E {
		cs = w.runs(cs, s, &s.E[at])
	}
	cs = w.flows(cs, n)
	cs = w.clients(cs, n)
	cs = w.operator(cs, n)
	if n.log != nil && n.log.Uncommitted() > 0 {
		cs = append(cs, choice{event: spec.Event{Rule: journal.RuleCommit}})
	}
	if w.cfg.Program.Deadlocks || quiet(s) {
		cs = deadlocked(cs, s)
	}
	return cs
}

// runs adds what the code of a process may do.
func (w *walker) runs(cs []choice, s *spec.State, p *spec.Process) []choice {
	instr := w.cfg.Program.At(p.Method, p.Point)
	if q := s.Request(p.ID); p.Zombie && q != nil && q.Void {
		cs = append(cs, choice{event: spec.Event{Rule: spec.RuleGone, By: p.Attempt}})
	}
	if p.Waiting() {
		for _, i := range p.Waits {
			r := s.Response(i)
			if r == nil {
				continue
			}
			e := spec.Event{Rule: spec.RuleReturn, By: p.Attempt, ID: i, Next: p.Point, At: true}
			if instr.Got != nil {
				e.Next = instr.Got(p.Point, r.Value)
			}
			cs = append(cs, choice{event: e, alone: !instr.Deadline && onlyOut(s, p, i), try: p.Zombie})
		}
		if instr.Deadline && !p.Zombie {
			e := spec.Event{Rule: spec.RuleGoOn, By: p.Attempt, Next: p.Point, At: true}
			e.Next.PC++
			cs = append(cs, choice{event: e})
		}
		return cs
	}
	events := instr.Next(program.View{P: s.Read(p.Attempt, ""), Point: p.Point, N: p.N})
	for _, e := range events {
		w.complete(&e, p)
		cs = append(cs, choice{event: e, alone: len(events) == 1 && local(&e), try: p.Zombie})
	}
	return cs
}

// local reports whether an event changes its own process only.
func local(e *spec.Event) bool {
	switch e.Rule {
	case spec.RuleStep, spec.RuleWait:
		return true
	case spec.RuleTell:
		return e.When != spec.Immediately
	}
	return false
}

// onlyOut reports whether nothing is out for a process but a response: then
// nothing can begin on its actor whether it takes that now or later.
func onlyOut(s *spec.State, p *spec.Process, i spec.ID) bool {
	return !slices.ContainsFunc(s.F, func(m spec.Message) bool {
		return m.Kind == spec.Nested && m.Return == p.ID && !(m.Response && m.ID == i)
	})
}

// complete fills in what the program leaves out.
func (w *walker) complete(e *spec.Event, p *spec.Process) {
	e.By = p.Attempt
	for at := range e.Writes {
		e.Writes[at].Cell.Actor = p.Actor
	}
	switch e.Rule {
	case spec.RuleWait:
		e.Waits, e.Next, e.At = p.Calls[:1], p.Point, true
	case spec.RuleEnd, spec.RuleTailOther, spec.RuleTailSelf, spec.RulePostpone:
		if len(p.Calls) > 0 && !w.cfg.Mutants.Has(spec.EndWithoutJoin) {
			*e = spec.Event{Rule: spec.RuleWait, By: p.Attempt, Waits: p.Calls, Next: p.Point, At: true}
		}
	case spec.RuleCall, spec.RuleCallOnce, spec.RuleTell:
		e.Next.Sent++
		e.Msg.Sender = p.Attempt
		if e.Rule != spec.RuleTell {
			e.Msg.Kind, e.Msg.Return = spec.Nested, p.ID
		}
		e.Msg.Once = e.Rule == spec.RuleCallOnce
		e.Msg.ID = name(p, e.Next.Sent, e.Msg.ID)
	}
}

// name makes the id of a request: "A1/2" is the second that A1 has sent,
// "A1/2.1" the first of its step 2, "A1/2'" the second of its second attempt,
// "A1/charge" the one made once by that name.
func name(p *spec.Process, sent int, once spec.ID) spec.ID {
	var b strings.Builder
	b.WriteString(string(p.ID))
	b.WriteByte('/')
	if p.Step > 1 {
		b.WriteString(digits(p.Step) + ".")
	}
	if once != "" {
		b.WriteString(string(once))
	} else {
		b.WriteString(digits(sent) + strings.Repeat("'", p.N-1))
	}
	return spec.ID(b.String())
}

// flows adds what may become of the messages in F.
func (w *walker) flows(cs []choice, n *node) []choice {
	s := n.world.State
	for at := range s.F {
		m := &s.F[at]
		if m.Response {
			r := spec.RuleForget
			if m.Kind == spec.Call {
				r = spec.RuleRelease
			}
			cs = append(cs, choice{event: spec.Event{Rule: r, ID: m.ID}, alone: true})
			continue
		}
		if s.Live(m.ID) == nil {
			cs = w.begins(cs, n, m)
		}
		if m.Kind != spec.Nested {
			continue
		}
		if w.cfg.Program.Cancels || w.cfg.Mutants.Has(spec.PapersCancel) {
			cs = append(cs, choice{event: spec.Event{Rule: spec.RuleCancel, ID: m.ID}})
		}
		if w.cfg.Program.Preempts {
			cs = append(cs, choice{event: spec.Event{Rule: spec.RulePreempt, ID: m.ID}})
		}
	}
	return cs
}

// begins adds the next attempt of a request, or what takes its place. What an
// operator has resumed is not parked again.
func (w *walker) begins(cs []choice, n *node, m *spec.Message) []choice {
	switch limit := w.cfg.Program.MaxAttempts; {
	case m.Void || !m.Decided && !n.world.State.Runnable(m.ID):
		return cs
	case m.Decided:
		return append(cs, choice{event: spec.Event{Rule: spec.RuleAnswer, ID: m.ID, Value: m.Verdict}})
	case limit > 0 && m.Attempts >= limit && !w.resumed(n, m.ID):
		return append(cs, choice{event: spec.Event{Rule: spec.RulePark, ID: m.ID, Value: "parked"}})
	}
	next := spec.Attempt{ID: m.ID, Step: m.Step, N: m.Attempts + 1}
	return append(cs, choice{event: spec.Event{Rule: spec.RuleBegin, By: next}})
}

// resumed reports whether an operator has resumed an invocation.
func (w *walker) resumed(n *node, i spec.ID) bool {
	at := slices.Index(w.cfg.Program.Operator, program.Act{Rule: spec.RuleResume, ID: i})
	return at >= 0 && n.acts&(1<<at) != 0
}

// clients adds the next call of each client that has the answer to its last. A
// call that a crash has cut was not acknowledged: the client asks again.
func (w *walker) clients(cs []choice, n *node) []choice {
	for at := range w.cfg.Program.Clients {
		c := &w.cfg.Program.Clients[at]
		sent := int(n.sent[at])
		switch {
		case sent > 0 && n.log != nil && unknown(n.world, c.ID(sent-1)):
			cs = append(cs, choice{event: c.Send(sent - 1)})
		case sent == len(c.Calls) || sent > 0 && !c.Calls[sent-1].Tell && !answered(n.world, c.ID(sent-1)):
		default:
			cs = append(cs, choice{event: c.Send(sent), client: at + 1})
		}
	}
	return cs
}

// unknown reports whether nothing is known of a request.
func unknown(w *spec.World, i spec.ID) bool {
	_, ended := w.History.Ended[i]
	return !ended && w.History.Life(i) == nil
}

// answered reports whether a client has the answer to a call.
func answered(w *spec.World, i spec.ID) bool {
	l := w.History.Life(i)
	return w.State.Response(i) == nil && (l == nil || l.Told)
}

// operator adds what an operator may do.
func (w *walker) operator(cs []choice, n *node) []choice {
	for at, a := range w.cfg.Program.Operator {
		if n.acts&(1<<at) == 0 {
			cs = append(cs, choice{event: spec.Event{Rule: a.Rule, ID: a.ID, Value: "operator"}, act: at + 1})
		}
	}
	return cs
}

// quiet reports whether no code runs: a deadlock may be all there is.
func quiet(s *spec.State) bool {
	return !slices.ContainsFunc(s.E, func(p spec.Process) bool { return !p.Zombie && !p.Waiting() })
}

// deadlocked adds what breaks a deadlock.
func deadlocked(cs []choice, s *spec.State) []choice {
	if cycle := s.Deadlock(); cycle != nil {
		if i, rule := s.Victim(cycle); i != "" {
			cs = append(cs, choice{event: spec.Event{Rule: rule, ID: i, Value: "deadlock"}})
		}
	}
	return cs
}

// failures adds every failure: any set of the actors on which attempts live, and
// for the second machine every crash, with any part of the log that may be cut.
func failures(cs []choice, n *node) []choice {
	if n.failures == 0 {
		return cs
	}
	var actors []spec.Actor
	for at := range n.world.State.E {
		if p := &n.world.State.E[at]; !p.Zombie && !slices.Contains(actors, p.Actor) {
			actors = append(actors, p.Actor)
		}
	}
	slices.SortFunc(actors, cmp.Compare)
	for set := 1; set < 1<<len(actors); set++ {
		var lost []spec.Actor
		for at, a := range actors {
			if set&(1<<at) != 0 {
				lost = append(lost, a)
			}
		}
		cs = append(cs, choice{event: spec.Event{Rule: spec.RuleFailure, Actors: lost}})
	}
	if n.log == nil {
		return cs
	}
	for keep := range n.log.Uncommitted() + 1 {
		cs = append(cs, choice{event: spec.Event{Rule: journal.RuleCrash, By: spec.Attempt{N: keep}}})
	}
	return cs
}
