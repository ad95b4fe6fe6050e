package check

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pawl-go/pawl/engine/trace"
	"github.com/pawl-go/pawl/spec"
)

// Violation is the error of a trace that is not allowed. It is immutable.
type Violation struct {
	Index int         // of the event, from 1: the prefix up to it is the shortest that is not allowed
	Event trace.Event // the zero Event: the end of the trace
	// Property is the number of the property of the semantics, 0 for a rule or
	// an edge.
	Property int
	Cause    error
	// Timeline are the events before it about the same invocation, its callers
	// and its actor, oldest first, as far as they are still known.
	Timeline []trace.Event
}

// Error gives the cause, the event and the timeline before it.
func (v *Violation) Error() string {
	var b strings.Builder
	if v.Event.Kind == "" {
		fmt.Fprintf(&b, "trace: not allowed at its end, behind event %d", v.Index)
	} else {
		fmt.Fprintf(&b, "trace: event %d is not allowed", v.Index)
	}
	if v.Property > 0 {
		fmt.Fprintf(&b, " (property %d)", v.Property)
	}
	fmt.Fprintf(&b, ": %v", v.Cause)
	for i := range v.Timeline {
		fmt.Fprintf(&b, "\n    %s", &v.Timeline[i])
	}
	if v.Event.Kind != "" {
		fmt.Fprintf(&b, "\n--> %s", &v.Event)
	}
	return b.String()
}

// Unwrap gives the cause: a *spec.Refusal if a rule refused.
func (v *Violation) Unwrap() error { return v.Cause }

// breach is a property or an edge that an event breaks.
type breach struct {
	property int
	text     string
}

func (b *breach) Error() string { return b.text }

// broken says that an event breaks a property.
func broken(property int, format string, args ...any) error {
	return &breach{property, fmt.Sprintf(format, args...)}
}

// edge says that an event breaks what the semantics say of the commit index,
// or that the trace contradicts itself.
func edge(format string, args ...any) error { return broken(0, format, args...) }

func (c *Checker) violation(e *trace.Event, cause error) *Violation {
	v := &Violation{Index: c.report.Events, Event: *e, Cause: cause}
	if b, ok := errors.AsType[*breach](cause); ok {
		v.Property = b.property
	}
	v.Timeline = c.recent.about(e, c.caller)
	return v
}

// pending names the requests left, a few of them.
func (c *Checker) pending() string {
	var names []string
	for i := range c.s.F {
		if m := &c.s.F[i]; !m.Response && !m.Void {
			names = append(names, fmt.Sprintf("%s %s.%s", m.ID, m.Actor, m.Method))
		}
	}
	if len(names) > 5 {
		names = append(names[:5], "...")
	}
	return strings.Join(names, ", ")
}

// recent keeps the newest events, for timelines.
type recent struct {
	ring []trace.Event // of remembered events at most
	n    int
}

const remembered = 4096

func (r *recent) add(e *trace.Event) {
	if len(r.ring) < remembered {
		r.ring = append(r.ring, *e)
	} else {
		r.ring[r.n%remembered] = *e
	}
	r.n++
}

// lines bounds a timeline.
const lines = 40

// about gives the events before the newest that have to do with e.
func (r *recent) about(e *trace.Event, caller map[spec.ID]spec.ID) []trace.Event {
	ids := map[string]bool{}
	for _, id := range []string{e.ID, e.By.ID, e.Callee, e.Caller} {
		for i, n := spec.ID(id), 0; i != "" && n < lines; i, n = caller[i], n+1 {
			ids[string(i)] = true
		}
	}
	var found []trace.Event
	for i := r.n - 2; i >= max(0, r.n-len(r.ring)) && len(found) < lines; i-- {
		x := &r.ring[i%remembered]
		whole := x.Kind == trace.Open || x.Kind == trace.Epoch || x.Kind == trace.Fail || x.Kind == trace.Leave
		if whole || ids[x.ID] || ids[x.By.ID] || e.Actor != "" && x.Actor == e.Actor {
			found = append(found, *x)
		}
	}
	slices.Reverse(found)
	return found
}
