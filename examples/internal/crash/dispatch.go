package crash

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Dispatch submits the units of the job from the first on, paced by its rate
// and at most a window of them at a time, and reports each. Submit returns when
// the unit's outcome has come. Dispatch returns when all have, or with the
// first error.
func (j Job) Dispatch(ctx context.Context, report *Reporter, submit func(ctx context.Context, unit int) error) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	if j.Standby {
		select {
		case j.From = <-report.from:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	size := j.Window
	if size <= 0 {
		size = 64
	}
	window := make(chan struct{}, size) // one slot for each unit in flight
	pace := newPace(j.Rate)
	var wg sync.WaitGroup
	for unit := j.From; unit < j.Units && pace.wait(ctx) && acquire(ctx, window); unit++ {
		wg.Go(func() {
			defer func() { <-window }()
			report.Sent(unit)
			if err := submit(ctx, unit); err != nil {
				fail(fmt.Errorf("submit unit %d: %w", unit, err))
				return
			}
			report.Answered(unit)
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}

func acquire(ctx context.Context, window chan struct{}) bool {
	select {
	case window <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

// pace spreads events evenly over time. One that comes late does not delay
// those after it.
type pace struct {
	every time.Duration
	next  time.Time
}

func newPace(rate int) *pace {
	p := &pace{next: time.Now()}
	if rate > 0 {
		p.every = time.Second / time.Duration(rate)
	}
	return p
}

// wait returns when it is time for the next event; false if ctx ended first.
func (p *pace) wait(ctx context.Context) bool {
	if p.every == 0 {
		return ctx.Err() == nil
	}
	left := time.Until(p.next)
	p.next = p.next.Add(p.every)
	if left <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(left)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
