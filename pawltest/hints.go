package pawltest

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/pawl-go/pawl/engine"
)

// hints says what the events of a failed run tell for certain, and what would
// mend it: which call was made twice, which plain field was taken for state, or
// at least which method ran again.
func (w *World) hints() []string {
	w.mu.Lock()
	events, lost := w.mu.events, w.mu.memory.lost()
	w.mu.Unlock()
	list := append(callsMadeTwice(events), plainFields(lost)...)
	if len(list) > 0 {
		return list
	}
	return runAgain(events)
}

// step names a step of an invocation.
type stepOf struct {
	id   engine.ID
	step uint32
}

// made is a request that an attempt made, with what became of it.
type made struct {
	by     *attempt
	req    *engine.Request
	begun  bool
	writes bool // it, or a step that it led to, recorded something
}

// callsMadeTwice finds the nested calls, and the tells, that two attempts of one
// step made, and of which both were run.
func callsMadeTwice(events []event) []string {
	var hints []string
	for _, pair := range repeated(requests(events)) {
		hints = append(hints, pair.hint())
	}
	return hints
}

// requests collects what methods sent before their outcome.
func requests(events []event) []*made {
	var list []*made
	byID := map[engine.ID]*made{}
	for _, e := range events {
		switch e.kind {
		case sent:
			for _, r := range e.effects.Requests {
				if e.by != nil && !r.Once && !r.Keyed {
					m := &made{by: e.by, req: r}
					list, byID[r.ID] = append(list, m), m
				}
			}
		case begins:
			if m := byID[e.by.ID]; m != nil {
				m.begun = true
			}
		case ended:
			if m := byID[e.by.ID]; m != nil && (len(e.effects.Writes) > 0 || len(e.effects.Requests) > 0) {
				m.writes = true
			}
		default:
		}
	}
	return list
}

// twice is a request that was made by two attempts of a step.
type twice struct{ first, second *made }

// repeated pairs what two attempts of a step made alike: those that changed
// something, if any did.
func repeated(list []*made) []twice {
	type key struct {
		stepOf
		actor  engine.Actor
		method string
		nth    int
	}
	first, count := map[key]*made{}, map[string]int{}
	var all, changing []twice
	for _, m := range list {
		if !m.begun {
			continue
		}
		k := key{stepOf{m.by.ID, m.by.Step}, m.req.Actor, m.req.Method, 0}
		of := fmt.Sprint(k, m.by.n)
		k.nth = count[of]
		count[of]++
		before := first[k]
		switch {
		case before == nil:
			first[k] = m
		case before.by.n != m.by.n:
			pair := twice{before, m}
			all = append(all, pair)
			if before.writes {
				changing = append(changing, pair)
			}
			first[k] = m
		}
	}
	if len(changing) > 0 {
		return changing
	}
	return all
}

func (t twice) hint() string {
	verb, mend := "called", "or, if it is the last that the step does, end the step with it: pawl.TailCall"
	if t.first.req.Kind == engine.KindTell {
		verb, mend = "told", "or hold it until the outcome: pawl.WithOutcome()"
	}
	args := ""
	if !bytes.Equal(t.first.req.Payload, t.second.req.Payload) {
		args = fmt.Sprintf(", first with %s and then with %s", value(t.first.req.Payload), value(t.second.req.Payload))
	}
	r := t.first.req
	return fmt.Sprintf("%s.%s %s %s.%s twice%s: in attempt %d and, after that had died, in attempt %d. "+
		"With pawl.Once(%q) the retry joins the call of the earlier attempt; %s.",
		t.first.by.Actor, t.first.by.Method, verb, r.Actor, r.Method, args, t.first.by.n, t.second.by.n,
		strings.ToLower(r.Method), mend)
}

// plainFields tells of the fields that methods changed and that are no cells.
func plainFields(lost []changedField) []string {
	slices.SortFunc(lost, func(a, b changedField) int {
		return cmp.Or(cmp.Compare(a.field, b.field), cmp.Compare(a.method, b.method))
	})
	var hints []string
	for _, c := range lost {
		hints = append(hints, fmt.Sprintf("%s is a plain field: what %s wrote into it is gone when the actor leaves memory, "+
			"which here it does after each outcome. If it is state, make it a pawl.Value.", c.field, c.method))
	}
	return hints
}

// runAgain tells which methods ran more than once.
func runAgain(events []event) []string {
	var hints []string
	for i, e := range events {
		if e.kind != died || e.at == nil {
			continue
		}
		for _, later := range events[i:] {
			if later.kind == begins && later.by.n > 1 && later.by.ID == e.at.run.ID && later.by.Step == e.at.run.Step {
				hints = append(hints, fmt.Sprintf("%s.%s ran again from its beginning. Its first attempt has recorded nothing, "+
					"but what it did outside (to memory that is shared, a file, a service) stays done. "+
					"Read in one step and write in the next, entered by pawl.TailSelf with the value; or give the service "+
					"pawl.StepID(ctx) as its idempotency key.", later.by.Actor, later.by.Method))
				break
			}
		}
	}
	return hints
}
