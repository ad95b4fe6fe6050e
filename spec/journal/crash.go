package journal

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/pawl-go/pawl/spec"
)

// Refuted is the error of a crash after which the path is none of the first
// machine.
type Refuted struct {
	Event spec.Event // what had happened, and cannot have, without what was cut
	Cause error      // not to be unwrapped: a refusal here is none of the event that is tried
}

// Error says what cannot have happened.
func (r *Refuted) Error() string {
	return fmt.Sprintf("with the cut records left out, %s of %s cannot have happened: %v", r.Event.Rule, r.Event.Of(), r.Cause)
}

// Crash ends the engine's process and cuts the log: keep records behind the
// commit index are left. It opens anew, and the end of what was lost is on
// record and committed. It returns a *Refuted, or a *spec.Violation.
func (m *Machine) Crash(keep int) error {
	last := m.committed + keep
	w, begins, err := m.without(last)
	if err != nil {
		return err
	}
	if err := m.lose(w, last); err != nil {
		return err
	}
	for _, s := range begins {
		if err := explained(w.State, s); err != nil {
			return &Refuted{s.event, err}
		}
	}
	if err := m.agrees(w.State, last); err != nil {
		return err
	}
	m.World, m.base, m.path = w, w.Clone(), nil
	m.records, m.committed = last+1, last+1
	for i, on := range m.rests {
		on.request, on.response = min(on.request, last), min(on.response, last)
		m.rests[i] = on
	}
	for a, at := range m.newest {
		m.newest[a] = min(at, last)
	}
	return nil
}

// without takes the path again, by the first machine, without the records
// behind last. It returns the begins that had to be left out too.
func (m *Machine) without(last int) (w *spec.World, begins []*step, err error) {
	w = m.base.Clone()
	for at := range m.path {
		s := &m.path[at]
		begin := s.event.Rule == spec.RuleBegin
		if s.record > last {
			if begin {
				begins = append(begins, s)
			}
			continue
		}
		err := w.Do(&s.event)
		if err == nil {
			continue
		}
		refusal, refused := errors.AsType[*spec.Refusal](err)
		switch {
		case !refused:
			return nil, nil, err
		case begin && !s.outside:
			begins = append(begins, s)
		case begin || s.record > 0 || s.event.Rule == spec.RuleRelease:
			return nil, nil, &Refuted{s.event, refusal}
		}
	}
	return w, begins, nil
}

// explained says why a begin that is left out may be: the crash has lost the
// attempt, and its request is there for the next one; or the call that made it
// is lost with its caller (the rule preempt).
func explained(s *spec.State, x *step) error {
	a := x.event.By
	q, live := s.Request(a.ID), s.Live(a.ID)
	switch {
	case live != nil && live.N < a.N:
		return fmt.Errorf("attempt %d of it lives", live.N)
	case !x.atOnce && (q == nil || q.Step != a.Step):
		return errors.New("its request was never sent")
	}
	return nil
}

// lose takes what a crash ends out of a world: every attempt in the engine's
// process, and those outside of which something is cut.
func (m *Machine) lose(w *spec.World, last int) error {
	fenced := map[spec.Attempt]bool{}
	for at := range m.path {
		if s := &m.path[at]; s.record > last {
			fenced[s.event.By] = true
		}
	}
	var actors []spec.Actor
	var dead []spec.Attempt
	for _, p := range w.State.E {
		switch inside := !m.outside(p.Actor); {
		case inside:
			dead = append(dead, p.Attempt)
			actors = append(actors, p.Actor)
		case fenced[p.Attempt]:
			actors = append(actors, p.Actor)
		}
	}
	if err := w.Do(&spec.Event{Rule: spec.RuleFailure, Actors: actors}); err != nil {
		return err
	}
	for _, a := range dead {
		if err := w.Do(&spec.Event{Rule: spec.RuleGone, By: a}); err != nil {
			return err
		}
	}
	return nil
}

// agrees compares F and S with what the log says up to last.
func (m *Machine) agrees(s *spec.State, last int) error {
	flow, state := replay(m.base.State, m.path, last)
	got := requests(s.F)
	if !slices.Equal(got, flow) {
		return &Refuted{spec.Event{Rule: RuleCrash}, fmt.Errorf("the flow is %v, and the log says %v", got, flow)}
	}
	if !maps.Equal(s.S, state) {
		return &Refuted{spec.Event{Rule: RuleCrash}, fmt.Errorf("the state is %v, and the log says %v", s.S, state)}
	}
	return nil
}

// replay applies the records up to last to the requests and the state of a base.
func replay(base *spec.State, path []step, last int) ([]string, map[spec.Cell]spec.Value) {
	flow := slices.Clone(base.F)
	state := maps.Clone(base.S)
	if state == nil {
		state = map[spec.Cell]spec.Value{}
	}
	for at := range path {
		s := &path[at]
		if s.record == 0 || s.record > last {
			continue
		}
		for _, wr := range s.delta.Writes {
			if wr.Value == "" {
				delete(state, wr.Cell)
			} else {
				state[wr.Cell] = wr.Value
			}
		}
		flow = moved(flow, &s.delta)
	}
	return requests(flow), state
}

// moved applies what a record has done to the flow. What is taken out and put
// in again as a step in place keeps its place.
func moved(flow []spec.Message, r *spec.Record) []spec.Message {
	for _, q := range r.Sent {
		at := slices.IndexFunc(flow, func(x spec.Message) bool { return x.ID == q.ID && !x.Response })
		if at >= 0 && q.InPlace && !q.Response {
			flow[at] = q
			continue
		}
		flow = append(flow, q)
	}
	for _, q := range r.Removed {
		// The oldest: one that was put in behind it is not meant.
		at := slices.IndexFunc(flow, func(x spec.Message) bool {
			return x.ID == q.ID && x.Response == q.Response && x.Step == q.Step
		})
		if at >= 0 {
			flow = slices.Delete(flow, at, at+1)
		}
	}
	return flow
}

// requests writes the requests of a flow, oldest first.
func requests(f []spec.Message) []string {
	list := []string{}
	for _, q := range f {
		if !q.Response {
			list = append(list, fmt.Sprintf("%s.%d %s.%s(%s) for %q", q.ID, q.Step, q.Actor, q.Method, q.Arg, q.Return))
		}
	}
	return list
}
