package local

import (
	"fmt"
	"time"

	"github.com/pawl-go/pawl/engine"
)

const (
	// lookEvery bounds how late a jump of the wall clock is noticed.
	lookEvery = time.Second
	// firesPerTick and firePause spread what is due at once, above all what was
	// missed while nothing ran.
	firesPerTick = 200
	firePause    = 5 * time.Millisecond
	// keepFailedFor is how long a failed tell is kept for an operator.
	keepFailedFor = 7 * 24 * time.Hour
)

// wakeClock makes the clock look at what is due.
func (e *Engine) wakeClock() {
	select {
	case e.alarm <- struct{}{}:
	default:
	}
}

// keepTime does what is due until the engine is closed. It sleeps until the
// next thing is due, but no longer than lookEvery if there is any: the wall
// clock may be set.
func (e *Engine) keepTime() {
	t := time.NewTimer(0)
	defer t.Stop()
	for {
		select {
		case <-e.quit:
			return
		case <-e.alarm:
		case <-t.C:
		}
		t.Reset(e.tick())
	}
}

// tick does what is due, and returns after what time to look again.
func (e *Engine) tick() time.Duration {
	now := e.set.Now()
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.usable() != nil {
		return time.Minute
	}
	next, err := e.fireDue(now)
	if err == nil {
		next, err = min(next, e.expireLone(now)), e.dropFailed(now)
	}
	if err != nil {
		e.set.Logger.Warn("local engine: what is due is put off", "dir", e.set.dir, "error", err)
		return lookEvery
	}
	return next
}

// fireDue records what is due: delayed tells and reminders. mu is held.
func (e *Engine) fireDue(now time.Time) (time.Duration, error) {
	w := newEncoder()
	defer w.free()
	for range firesPerTick {
		it, ok := e.mu.f.due.first()
		if !ok {
			return time.Minute, nil
		}
		if wait := it.when.Sub(now); wait > 0 {
			return min(wait, lookEvery), nil
		}
		w.reset()
		var err error
		if it.tell != nil {
			err = e.arrive(w, it.tell)
		} else {
			err = e.fire(w, it.r, now)
		}
		if err != nil {
			return lookEvery, err
		}
	}
	return firePause, nil
}

// arrive records that a delayed tell enters the flow.
func (e *Engine) arrive(w *encoder, p *pending) error {
	w.idOp(opDue, p.req.ID)
	at, err := e.append(w)
	if err == nil {
		e.mu.f.arrive(p, at)
		e.applied(at)
	}
	return err
}

// fire records the firing of a reminder and when it is due again, at once.
func (e *Engine) fire(w *encoder, r *reminder, now time.Time) error {
	fires, due := r.next(now, r.Due.Before(e.opened))
	if r.Misfire != engine.FireAll && e.waitsForHost(r.fired) {
		fires = false // nothing runs: the one that waits stands for all that were missed
	}
	var req *engine.Request
	if fires {
		req = r.firing(now)
		w.request(req, engine.ID{}, false)
	}
	w.advanced(r.Actor, r.Name, due)
	at, err := e.append(w)
	if err != nil {
		return err
	}
	if fires {
		e.mu.f.request(req, engine.ID{}, false, at)
		r.fired = req.ID
	}
	e.mu.f.advance(r.Actor, r.Name, due)
	e.applied(at)
	return nil
}

// waitsForHost reports whether an invocation is in the flow and delivered
// nowhere. mu is held.
func (e *Engine) waitsForHost(id engine.ID) bool {
	p := e.mu.f.reqs[id]
	return p != nil && p.status == inFlow && p.isLone()
}

// expireLone answers ErrNoHost to those whose type nobody has hosted for too
// long. mu is held.
func (e *Engine) expireLone(now time.Time) time.Duration {
	f := e.mu.f
	for i := len(f.expiring) - 1; i >= 0 && f.expiring[i].since.IsZero(); i-- {
		f.expiring[i].since = now
	}
	for len(f.expiring) > 0 {
		v := f.expiring[0]
		if p := v.p; p.vigil == v && p.mayExpire() {
			if wait := v.since.Add(e.set.MissingTimeout).Sub(now); wait > 0 {
				return min(wait, lookEvery)
			}
			fail := failureOf(p, engine.ErrNoHost, fmt.Sprintf("no component has hosted %q for %v", p.req.Actor.Type, e.set.MissingTimeout))
			if _, err := e.conclude(p, &engine.Outcome{Failure: fail}, 0); err != nil {
				return lookEvery
			}
		}
		f.expiring[0] = nil
		f.expiring = f.expiring[1:]
	}
	return time.Minute
}

// dropFailed forgets the failed tells that nobody has looked after. mu is held.
func (e *Engine) dropFailed(now time.Time) error {
	f := e.mu.f
	for len(f.failed) > 0 {
		p := f.failed[0]
		if p.status == failed && f.reqs[p.req.ID] == p {
			if now.Sub(p.end.ended) < keepFailedFor {
				return nil
			}
			if err := e.settle(p); err != nil {
				return err
			}
		}
		f.failed = f.failed[1:]
	}
	return nil
}

func (e *Engine) settle(p *pending) error {
	w := newEncoder()
	defer w.free()
	w.idOp(opSettled, p.req.ID)
	at, err := e.append(w)
	if err == nil {
		e.mu.f.settle(p)
		e.applied(at)
	}
	return err
}

// conclude records an outcome that the engine, or an operator, gives to an
// invocation of which no code runs. mu is held.
func (e *Engine) conclude(p *pending, o *engine.Outcome, flags uint64) (engine.Position, error) {
	w := newEncoder()
	defer w.free()
	x := &ending{id: p.req.ID, step: p.req.Step, o: o, ended: e.set.Now(), flags: flags, finger: p.finger}
	w.outcome(opOutcome, x)
	w.patch(p.asked, flags)
	at, err := e.append(w)
	if err != nil {
		return 0, err
	}
	e.mu.f.conclude(p, x, at)
	e.applied(at)
	return at, nil
}

// conclude applies an outcome to p, wherever it stands.
func (f *flow) conclude(p *pending, x *ending, at engine.Position) {
	if p.status == inFlow {
		f.outcome(p, x, at)
		return
	}
	f.answer(p, nil, engine.Response{ID: x.id, Outcome: x.o, At: at})
	f.settle(p)
	f.done.add(x.id, at)
}

// failureOf is one of our failures, about p.
func failureOf(p *pending, code engine.Code, why string) *engine.Failure {
	fail := engine.Fail(code, why)
	fail.Invocation, fail.Actor, fail.Method = p.req.ID.String(), p.req.Actor.String(), p.req.Method
	return fail
}
