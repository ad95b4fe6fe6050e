package journal

import (
	"maps"
	"slices"

	"github.com/pawl-go/pawl/spec"
)

// Machine is a first machine in a log. Not safe for concurrent use.
type Machine struct {
	// World is how all records, committed or not, have made it.
	World *spec.World
	// Outside are the actors that components in other processes host.
	Outside []spec.Actor
	Mutants Mutants

	records, committed int // the newest record, and the commit index

	base  *spec.World    // the world when everything was committed last
	path  []step         // what has happened since
	rests map[spec.ID]on // by invocation in F
	// newest is the newest outcome of each actor: another process learns of it
	// when it counts, and begins nothing there before.
	newest map[spec.Actor]int
}

// on is the records on which an invocation rests.
type on struct {
	request  int  // that put it into F, or counted its attempt as lost
	response int  // of its outcome
	failed   bool // request is the record of a failure
}

// step is an event that has happened, with its record, if it has one.
type step struct {
	event  spec.Event
	record int // 0: none
	delta  spec.Record
	// Of a begin: it need not wait; it is in another process.
	atOnce, outside bool
}

// NotCommitted is the condition of an edge that does not hold.
const NotCommitted spec.Condition = "the record on which it rests does not count yet"

// The rules that come to those of the first machine. A crash keeps By.N records
// behind the commit index.
const (
	RuleCommit spec.Rule = "commit"
	RuleCrash  spec.Rule = "crash"
)

// New gives an empty machine.
func New(mutants Mutants, outside ...spec.Actor) *Machine {
	return &Machine{
		World: spec.NewWorld(0), base: spec.NewWorld(0), Outside: outside, Mutants: mutants,
		rests: map[spec.ID]on{}, newest: map[spec.Actor]int{},
	}
}

// Clone copies the machine.
func (m *Machine) Clone() *Machine {
	c := *m
	c.World, c.path = m.World.Clone(), slices.Clip(m.path)
	c.rests, c.newest = maps.Clone(m.rests), maps.Clone(m.newest)
	return &c
}

// Uncommitted is the number of records that do not count yet.
func (m *Machine) Uncommitted() int { return m.records - m.committed }

// Commit moves the commit index on by one record, if there is one.
func (m *Machine) Commit() {
	if m.committed == m.records {
		return
	}
	m.committed++
	if m.committed == m.records {
		m.base, m.path = m.World.Clone(), nil
	}
}

// Do takes a rule: one of the first machine if the edges let it, a commit or a
// crash. It returns a *spec.Refusal, a *spec.Violation or a *Refuted.
func (m *Machine) Do(e *spec.Event) error {
	switch e.Rule {
	case RuleCommit:
		m.Commit()
		return nil
	case RuleCrash:
		return m.Crash(e.By.N)
	}
	s := step{event: *e, atOnce: m.atOnce(e), outside: m.begunOutside(e)}
	if err := m.edge(e, &s); err != nil {
		return err
	}
	lost := m.lost(e)
	flushes := e.Rule == spec.RuleBegin && m.flushes(e.By)
	if err := m.World.Do(e); err != nil {
		return err
	}
	if record := m.World.State.Record(); recorded(e, record) || flushes {
		m.records++
		s.record, s.delta = m.records, copied(record)
		m.rest(&s, lost)
	}
	m.path = append(m.path, s)
	return nil
}

// recorded reports whether an event makes a record in the log.
func recorded(e *spec.Event, r *spec.Record) bool {
	switch e.Rule {
	case spec.RuleStep, spec.RuleRead, spec.RuleWait, spec.RuleReturn, spec.RuleGoOn,
		spec.RuleRetry, spec.RuleForget, spec.RuleRelease, spec.RuleGone:
		return false
	case spec.RuleBegin:
		return e.By.N > 1
	case spec.RuleFailure, spec.RuleOverrule:
		return true
	}
	return !r.Empty()
}

// flushes reports whether a begin records writes of one that it re-enters.
func (m *Machine) flushes(a spec.Attempt) bool {
	q := m.World.State.Request(a.ID)
	return q != nil && slices.ContainsFunc(m.World.State.E, func(p spec.Process) bool {
		return p.Actor == q.Actor && !p.Zombie && len(p.Writes) > 0
	})
}

// atOnce reports whether an event is a begin that need not wait.
func (m *Machine) atOnce(e *spec.Event) bool {
	if e.Rule != spec.RuleBegin {
		return false
	}
	q := m.World.State.Request(e.By.ID)
	return q != nil && q.Kind == spec.Nested && q.Step == 1 && q.Attempts == 0 && !m.outside(q.Actor)
}

// begunOutside reports whether an event is a begin in another process.
func (m *Machine) begunOutside(e *spec.Event) bool {
	q := m.World.State.Request(e.By.ID)
	return e.Rule == spec.RuleBegin && q != nil && m.outside(q.Actor)
}

func (m *Machine) outside(a spec.Actor) bool { return slices.Contains(m.Outside, a) }

// edge refuses what must wait for a commit.
func (m *Machine) edge(e *spec.Event, s *step) error {
	i, record := e.Of(), 0
	switch e.Rule {
	case spec.RuleBegin:
		on := m.rests[i]
		free := s.atOnce || m.Mutants&TellBegunBeforeCommit != 0 && !on.failed || m.Mutants&FailureBeforeRecord != 0 && on.failed
		if !free {
			record = on.request
		}
		if s.outside {
			record = max(record, m.newest[m.World.State.Request(i).Actor])
		}
	case spec.RuleReturn:
		i = e.ID
		if p := m.World.State.Process(e.By); p != nil && m.outside(p.Actor) {
			record = m.rests[i].response
		}
	case spec.RuleRelease:
		record = m.rests[i].response
	}
	if record > m.committed {
		return &spec.Refusal{Rule: e.Rule, ID: i, Condition: NotCommitted}
	}
	return nil
}

// lost lists the invocations of which a failure takes an attempt.
func (m *Machine) lost(e *spec.Event) []spec.ID {
	var ids []spec.ID
	if e.Rule == spec.RuleFailure {
		for _, p := range m.World.State.E {
			if !p.Zombie && slices.Contains(e.Actors, p.Actor) {
				ids = append(ids, p.ID)
			}
		}
	}
	return ids
}

// rest notes what rests on a record.
func (m *Machine) rest(s *step, lost []spec.ID) {
	for _, q := range s.delta.Sent {
		on := m.rests[q.ID]
		if q.Response {
			on.response = s.record
		} else {
			on.request, on.failed = s.record, false
		}
		m.rests[q.ID] = on
	}
	for _, q := range s.delta.Removed {
		m.newest[q.Actor] = s.record
	}
	for _, i := range lost {
		on := m.rests[i]
		on.request, on.failed = s.record, true
		m.rests[i] = on
	}
}

func copied(r *spec.Record) spec.Record {
	return spec.Record{Writes: slices.Clone(r.Writes), Sent: slices.Clone(r.Sent), Removed: slices.Clone(r.Removed)}
}
