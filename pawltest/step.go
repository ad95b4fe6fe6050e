package pawltest

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/pawl-go/pawl/engine"
)

// Step is a kind of moment at which a failure is tried.
type Step string

// The steps of a run that can fail. Between two of them a failure makes no
// difference to what Pawl keeps; for the outside world there is [MayFail].
const (
	BeforeBegin   Step = "begin"    // a method is about to begin
	AfterSend     Step = "sent"     // a method has sent a call, or tells
	BeforeSync    Step = "sync"     // pawl.Sync is about to record
	AfterSync     Step = "synced"   // and has
	BeforeOutcome Step = "outcome"  // a method has returned, its outcome is not recorded
	AfterOutcome  Step = "recorded" // it is, and nobody has been told
	AtMark        Step = "mark"     // in MayFail
)

// steps is every one, with how a timeline says that it was here.
var steps = map[Step]string{
	BeforeBegin:   "before %s began",
	AfterSend:     "when %s had just sent that",
	BeforeSync:    "before the Sync of %s was recorded",
	AfterSync:     "after the Sync of %s was recorded",
	BeforeOutcome: "before the outcome of %s was recorded",
	AfterOutcome:  "after the outcome of %s was recorded",
	AtMark:        "in %s",
}

// place is one moment of a run, named so that it is found again: by what
// happens there and to whom, not by its number.
type place struct {
	step    Step
	what    string // of a mark
	run     *attempt
	ordinal int // among the moments of one name, from 1
}

// attempt is one attempt of one step of an invocation.
type attempt struct {
	*engine.Request
	n uint32
}

// String gives "Type/id.Method", with the attempt if it is not the first.
func (a *attempt) String() string {
	if a.n > 1 {
		return fmt.Sprintf("%s.%s (attempt %d)", a.Actor, a.Method, a.n)
	}
	return fmt.Sprintf("%s.%s", a.Actor, a.Method)
}

// name is the place in a schedule: "outcome:Type/id.Method/step.attempt#ordinal",
// with the parts escaped.
func (p *place) name() string {
	step := string(p.step)
	if p.what != "" {
		step += "=" + url.QueryEscape(p.what)
	}
	r := p.run
	name := fmt.Sprintf("%s:%s/%s.%s/%d.%d", step,
		url.QueryEscape(r.Actor.Type), url.QueryEscape(r.Actor.ID), url.QueryEscape(r.Method), r.Step, r.n)
	if p.ordinal > 1 {
		name += "#" + strconv.Itoa(p.ordinal)
	}
	return name
}

// String says it in words.
func (p *place) String() string {
	if p.step == AtMark {
		return fmt.Sprintf("at %q in %v", p.what, p.run)
	}
	return fmt.Sprintf(steps[p.step], p.run)
}

// schedule says how a run goes: in which order the ready are chosen, and where
// something fails.
type schedule struct {
	seed     uint64
	failures []failure
}

// failure is the death of the process, or of one component alone, at a place.
type failure struct {
	at    string // place.name
	alone bool
}

// with adds a failure to the schedule.
func (s schedule) with(f failure) schedule {
	s.failures = append(slices.Clip(s.failures), f)
	return s
}

// String gives the schedule as the flag takes it: "1@outcome:Counter/c.Incr/1.1".
// A component that fails alone is marked with "~".
func (s schedule) String() string {
	var b strings.Builder
	b.WriteString(strconv.FormatUint(s.seed, 10))
	for _, f := range s.failures {
		b.WriteByte('@')
		if f.alone {
			b.WriteByte('~')
		}
		b.WriteString(f.at)
	}
	return b.String()
}

// parseSchedule reads what String wrote.
func parseSchedule(text string) (schedule, error) {
	parts := strings.Split(text, "@")
	seed, err := strconv.ParseUint(parts[0], 10, 64)
	if err != nil {
		return schedule{}, fmt.Errorf("schedule %q: it begins with a number: copy the whole line that Explore has printed", text)
	}
	s := schedule{seed: seed}
	for _, p := range parts[1:] {
		at, alone := strings.CutPrefix(p, "~")
		step, rest, _ := strings.Cut(at, ":")
		step, _, _ = strings.Cut(step, "=")
		if steps[Step(step)] == "" || rest == "" {
			return schedule{}, fmt.Errorf("schedule %q: %q is no place: copy the whole line that Explore has printed", text, p)
		}
		s.failures = append(s.failures, failure{at, alone})
	}
	return s, nil
}

// compare orders places that are ready at the same time, by name and then by
// invocation: an order that does not depend on which goroutine was faster.
func (p *place) compare(q *place) int {
	return cmp.Or(
		cmp.Compare(p.step, q.step),
		cmp.Compare(p.run.Actor.Type, q.run.Actor.Type),
		cmp.Compare(p.run.Actor.ID, q.run.Actor.ID),
		cmp.Compare(p.run.Method, q.run.Method),
		p.run.ID.Compare(q.run.ID),
		cmp.Compare(p.what, q.what),
	)
}
