package queue

import (
	"errors"
	"fmt"
	"time"
)

// tendEvery is how often retention looks again without a new seal: cycles age,
// and tailers that hold back move on.
const tendEvery = 10 * time.Second

// period is the moment, in UTC, at which the period began that t lies in.
func period(t time.Time, every time.Duration) time.Time { return t.UTC().Truncate(every) }

// rollDue says whether a cycle that was begun in one period is over in another.
// A clock that goes back ends nothing.
func rollDue(begun, now time.Time, every time.Duration) bool {
	return period(now, every).After(period(begun, every))
}

// nextTend is how long to wait: to the end of the period, and no longer than
// tendEvery, since the clock may be set meanwhile.
func nextTend(now time.Time, every time.Duration) time.Duration {
	if every == 0 {
		return tendEvery
	}
	return min(period(now, every).Add(every).Sub(now), tendEvery)
}

// tend rolls by time and applies the retention.
func (q *Queue) tend() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-q.quit:
			return
		case <-timer.C:
		case <-q.tending:
		}
		now := q.cfg.Now()
		q.tendAt(now)
		timer.Reset(nextTend(q.cfg.Now(), q.cfg.RollEvery))
	}
}

func (q *Queue) tendAt(now time.Time) {
	if every := q.cfg.RollEvery; every > 0 {
		err := q.rollIf(func(w *writer) bool { return rollDue(w.begun, now, every) })
		if _, barred := errors.AsType[*BarredError](err); !barred { // a copy rolls with its source
			q.warn("roll by time", "", err)
		}
	}
	if q.cfg.Retain != (Retention{}) {
		q.warn("retain", "", q.retain(now))
	}
}

// kickTend has the retention look again.
func (q *Queue) kickTend() {
	select {
	case q.tending <- struct{}{}:
	default:
	}
}

// Roll ends the cycle that is being written and goes on in the next one; it does
// nothing while the cycle has no entry. Errors are those of Append.
func (q *Queue) Roll() error { return q.rollIf(func(*writer) bool { return true }) }

// rollIf rolls if due says so; due is asked with the writer locked.
func (q *Queue) rollIf(due func(*writer) bool) error {
	fail := func(err error) error { return fmt.Errorf("roll queue %s: %w", q.path, err) }
	if q.readOnly {
		return fail(ErrReadOnly)
	}
	w := &q.w
	for {
		w.Lock()
		if err := q.refusal(); err != nil {
			w.Unlock()
			return fail(err)
		}
		if !due(w) {
			w.Unlock()
			return nil
		}
		if w.off == w.fresh { // nothing to end; it begins when it is used
			w.begun = q.cfg.Now()
			w.Unlock()
			return nil
		}
		if w.next != nil {
			q.roll()
			w.Unlock()
			return nil
		}
		w.Unlock()
		if err := q.prep.make(q); err != nil {
			return fail(err)
		}
	}
}
