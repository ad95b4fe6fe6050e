package check

import (
	"errors"
	"fmt"
	"iter"

	"github.com/pawl-go/pawl/engine/trace"
	"github.com/pawl-go/pawl/spec"
)

// Options say what is known of a trace beside its events.
type Options struct {
	// Settled: it ended when nothing was pending any more. Requests left in the
	// flow are a violation then (property 1).
	Settled bool
}

// Report counts what a trace has shown.
type Report struct {
	Events   int `json:"events"`
	Records  int `json:"records"`
	Lives    int `json:"lives"`    // of processes
	Attempts int `json:"attempts"` // that began
	Outcomes int `json:"outcomes"` // final ones
	Failures int `json:"failures"` // of components, beside the ends of lives
	Cut      int `json:"cut"`      // records that a crash has undone
	Refused  int `json:"refused"`  // acts of attempts that did not count any more
	Pending  int `json:"pending"`  // requests in the flow at the end
}

// String gives the report in a line.
func (r *Report) String() string {
	return fmt.Sprintf("%d events of %d lives are allowed (%d attempts, %d outcomes, %d failures of components, %d records undone, %d acts refused, %d pending)",
		r.Events, r.Lives, r.Attempts, r.Outcomes, r.Failures, r.Cut, r.Refused, r.Pending)
}

// Events checks a whole trace, as package trace reads it. The error is a
// *Violation, or what the reading of the trace returned, wrapped with how far
// the check had come; the report is up to there.
func Events(events iter.Seq2[trace.Event, error], o Options) (Report, error) {
	c := New(o)
	for e, err := range events {
		if err != nil {
			return c.report, fmt.Errorf("check trace: the first %d events are allowed: %w", c.report.Events, err)
		}
		if err := c.Event(&e); err != nil {
			return c.report, err
		}
	}
	return c.End()
}

// File checks the trace in a file. A last event that a dying process left
// unfinished is no error.
func File(path string, o Options) (Report, error) {
	c := New(o)
	for e, err := range trace.File(path) {
		if corrupt, ok := errors.AsType[*trace.CorruptError](err); ok && corrupt.Cut {
			break
		}
		if err != nil {
			return c.report, fmt.Errorf("check trace: the first %d events are allowed: %w", c.report.Events, err)
		}
		if err := c.Event(&e); err != nil {
			return c.report, err
		}
	}
	return c.End()
}

// Slice checks a trace in memory.
func Slice(events []trace.Event, o Options) (Report, error) {
	c := New(o)
	for i := range events {
		if err := c.Event(&events[i]); err != nil {
			return c.report, err
		}
	}
	return c.End()
}

// Checker checks a trace event by event. Not safe for concurrent use.
type Checker struct {
	o      Options
	report Report
	failed error // the first violation: nothing is checked behind it
	recent recent

	s         spec.State
	cells     cells                    // S, by hashes
	sessions  map[uint64]bool          // those that have joined; true while they live
	of        map[spec.Attempt]uint64  // the session of an attempt in E
	retried   map[spec.ID]spec.Attempt // asked for another attempt; in E until it is known which rule that is
	caller    map[spec.ID]spec.ID      // the birth chain of what has no outcome
	scheduled map[spec.ID]spec.Message // tells not in F yet
	kept      map[spec.ID]spec.Message // failed tells
	rests     map[spec.ID]uint64       // the record on which the next attempt rests
	newestOf  map[string]uint64        // the newest record of an actor's state or outcomes
	decided   map[spec.ID]bool         // an operator has given their outcome
	outcomes  map[spec.ID]outcome      // final ones, and what those got who waited for a parked one

	atOnce         bool   // a record counts when it is made
	newest, commit uint64 // positions of records
	undo           undo
	record         struct{ writes, sends int } // of the record of which events have come
}

// outcome is how an invocation has ended.
type outcome struct{ value spec.Value }

// New makes a checker of an empty trace.
func New(o Options) *Checker {
	return &Checker{
		o:         o,
		cells:     cells{},
		sessions:  map[uint64]bool{},
		of:        map[spec.Attempt]uint64{},
		retried:   map[spec.ID]spec.Attempt{},
		caller:    map[spec.ID]spec.ID{},
		scheduled: map[spec.ID]spec.Message{},
		kept:      map[spec.ID]spec.Message{},
		rests:     map[spec.ID]uint64{},
		newestOf:  map[string]uint64{},
		decided:   map[spec.ID]bool{},
		outcomes:  map[spec.ID]outcome{},
	}
}

// Event checks the next event. It returns a *Violation if the event is not
// allowed, and the same one from then on.
func (c *Checker) Event(e *trace.Event) error {
	if c.failed != nil {
		return c.failed
	}
	c.report.Events++
	c.recent.add(e)
	if err := c.event(e); err != nil {
		c.failed = c.violation(e, err)
	}
	return c.failed
}

// End says that the trace has ended, and gives the report.
func (c *Checker) End() (Report, error) {
	c.report.Pending = 0
	for i := range c.s.F {
		if m := &c.s.F[i]; !m.Response && !m.Void {
			c.report.Pending++
		}
	}
	if c.failed == nil && c.o.Settled && c.report.Pending > 0 {
		c.failed = c.violation(&trace.Event{}, broken(1, "the trace ended settled, and %d requests are left in the flow: %s", c.report.Pending, c.pending()))
	}
	return c.report, c.failed
}

// event hands an event to its rule.
func (c *Checker) event(e *trace.Event) error {
	if e.Kind.Record() {
		return c.recorded(e)
	}
	switch e.Kind {
	case trace.Open:
		return c.open(e)
	case trace.Commit:
		return c.committed(e)
	case trace.Release:
		return c.release(e)
	case trace.Refuse:
		c.report.Refused++
		return nil
	}
	return c.attempt(e)
}
