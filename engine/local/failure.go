package local

import (
	"slices"
	"time"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/internal/mutant"
)

// losses is what the end of sessions does to the flow, as it stands in the op
// lost. The flow is decided upon before (see lose) and the op says the result,
// so that applying it needs neither placements nor rules that may change.
type losses struct {
	sessions []uint64 // those that have ended
	left     bool     // of their own will, after they were drained
	counted  []count  // what now counts as begun
	orphans  []engine.ID
	when     time.Time
}

// count is a request of which an attempt is lost or presumed lost.
type count struct {
	id             engine.ID
	attempts, lost uint32
}

// lossesPerRecord keeps a record small when much is lost at once. A crash
// between two records does no harm: what is counted is not counted again.
const lossesPerRecord = 10_000

// lose decides what becomes of the requests for which lost holds: their
// attempts, if any, are gone.
//
//   - A request that is in held(a) may have begun: it counts as begun once. The
//     attempt is a lost one if it was recorded as begun since the last time, or
//     if it is presumed. After a drain nothing was lost, but what runs next
//     must not take the number of an attempt that may have been.
//   - The rule cancel: a nested request that was not in held(a), at step 1, not
//     made once, never begun, whose sender's attempt is lost too, is removed.
func (f *flow) lose(lost func(*pending) bool, left bool) *losses {
	l := &losses{left: left}
	for a := range f.actors.All {
		for p := range a.line.Held {
			if p.status != inFlow || !lost(p) {
				continue
			}
			c := count{id: p.req.ID, attempts: max(1, p.attempts), lost: p.lost}
			if !left && (p.attempts == 0 || p.begun) {
				c.lost++
			}
			if c.attempts != p.attempts || c.lost != p.lost || p.begun {
				l.counted = append(l.counted, c)
			}
		}
		for p := range a.line.All {
			if p.orphaned(lost) && (!a.line.Holds(p) || mutant.Is(mutant.PapersCancel)) {
				l.orphans = append(l.orphans, p.req.ID)
			}
		}
	}
	// A record is the same whatever the order of a map.
	slices.SortFunc(l.counted, func(x, y count) int { return x.id.Compare(y.id) })
	slices.SortFunc(l.orphans, engine.ID.Compare)
	return l
}

// orphaned is the rule cancel, but for held(a).
func (p *pending) orphaned(lost func(*pending) bool) bool {
	return p.status == inFlow && p.nested() && p.parent != nil &&
		(p.req.Step == 1 && !p.req.Once && p.attempts == 0 || mutant.Is(mutant.PapersCancel)) &&
		lost(p.parent) && (p.host == nil || lost(p))
}

// split cuts l into parts of which each fits a record; the last one ends the
// sessions.
func (l *losses) split() []*losses {
	var parts []*losses
	for len(l.counted)+len(l.orphans) > lossesPerRecord {
		part := &losses{left: l.left, when: l.when}
		n := min(len(l.counted), lossesPerRecord)
		part.counted, l.counted = l.counted[:n], l.counted[n:]
		n = min(len(l.orphans), lossesPerRecord-n)
		part.orphans, l.orphans = l.orphans[:n], l.orphans[n:]
		parts = append(parts, part)
	}
	return append(parts, l)
}

// lost applies the op lost.
func (f *flow) lost(l *losses, at engine.Position) {
	for _, s := range l.sessions {
		delete(f.sessions, s)
	}
	for _, c := range l.counted {
		if p := f.reqs[c.id]; p != nil && p.status == inFlow {
			f.rows.touch(p)
			p.attempts, p.lost, p.begun = c.attempts, c.lost, false
			f.release(p, true)
		}
	}
	for _, id := range l.orphans {
		if p := f.reqs[id]; p != nil && p.status == inFlow {
			f.finish(p, canceled(p, "its caller has failed", l.when), at)
		}
	}
}

// canceled is the outcome ErrCanceled of p.
func canceled(p *pending, why string, when time.Time) *ending {
	fail := engine.Fail(engine.ErrCanceled, why)
	fail.Invocation, fail.Actor, fail.Method = p.req.ID.String(), p.req.Actor.String(), p.req.Method
	return &ending{id: p.req.ID, step: p.req.Step, o: &engine.Outcome{Failure: fail}, ended: when, flags: flagOperator}
}

// abandoned lists the nested requests at living components whose caller's
// attempt is lost: their handlers are told.
func (f *flow) abandoned(lost func(*pending) bool) (ps []*pending) {
	for _, p := range f.reqs {
		if p.status == inFlow && p.host != nil && !p.host.gone && !lost(p) && p.nested() && p.parent != nil && lost(p.parent) {
			ps = append(ps, p)
		}
	}
	inOrder(ps)
	return ps
}
