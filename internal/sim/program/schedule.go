package program

import (
	"context"
	"errors"
	"fmt"
	"testing/synctest"
	"time"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/internal/sim"
)

// Bounds of a run: a program that needs more does not end.
const (
	mostSteps = 20_000
	mostTime  = 24 * time.Hour // virtual
)

// due is something to do at a step.
type due struct {
	step int
	what string // for people
	do   func() error
}

// note says what has happened.
func (w *world) note(format string, args ...any) {
	if w.record {
		w.res.Points = append(w.res.Points, "         "+fmt.Sprintf(format, args...))
	}
}

// schedule lets one goroutine after the other go on, until all has drained.
func (w *world) schedule() error {
	began := time.Now()
	for {
		synctest.Wait()
		if err := w.state(); err != nil {
			return err
		}
		held := w.life.gates.Held()
		idle := len(held) == 0
		did, err := w.settle(idle)
		switch {
		case err != nil:
			return err
		case did:
			continue
		case idle:
			if done, err := w.drained(); done || err != nil {
				return err
			}
			if err := w.sleep(began); err != nil {
				return err
			}
			continue
		}
		if w.res.Steps++; w.res.Steps > mostSteps {
			return fmt.Errorf("no end after %d steps; next %v", mostSteps, held[0].Point)
		}
		if w.pick.IntN(50) == 0 {
			time.Sleep(time.Duration(w.pick.Int64N(int64(2 * time.Second)))) // those that are held take long
			continue
		}
		if err := w.step(held[w.pick.IntN(len(held))]); err != nil {
			return err
		}
	}
}

// step opens one gate, or lets the failure happen that is due there.
func (w *world) step(h *sim.Held) error {
	if w.record {
		w.res.Points = append(w.res.Points, fmt.Sprintf("%7d  %v", w.res.Steps, h.Point))
	}
	if len(w.failures) > 0 && w.failures[0].Step <= w.res.Steps {
		c := w.life.find(h.Session)
		f := w.failures[0]
		if !f.ofComponent() || c != nil && !c.gone.Load() {
			w.failures = w.failures[1:]
			return w.trouble(f, c, h)
		}
	}
	w.life.gates.Open(h, nil)
	return nil
}

// sleep lets time pass until somebody comes to a gate.
func (w *world) sleep(began time.Time) error {
	limit := time.NewTimer(mostTime - time.Since(began))
	defer limit.Stop()
	select {
	case <-w.life.gates.Arrived():
		return nil
	case <-limit.C:
		return fmt.Errorf("no end after %v of virtual time: %s", mostTime, w.life.pending())
	}
}

// settle does what is due: all of it if nobody can go on without.
func (w *world) settle(idle bool) (did bool, err error) {
	for i, d := range w.due {
		if idle || d.step <= w.res.Steps {
			w.due = append(w.due[:i:i], w.due[i+1:]...)
			w.note("%s", d.what)
			return true, d.do()
		}
	}
	return false, nil
}

// drained reports whether there is nothing left to do.
func (w *world) drained() (bool, error) {
	w.mu.Lock()
	clients := w.clients
	w.mu.Unlock()
	if clients > 0 {
		return false, nil
	}
	st, err := w.life.checker.Operator().Stats(context.Background())
	return st.Pending+st.Scheduled+st.Reminders == 0, err
}

// trouble lets a failure happen where a goroutine is held.
func (w *world) trouble(f Failure, c *component, h *sim.Held) error {
	w.res.Failures++
	switch f.Trouble {
	case Crash:
		return w.crash(h.Point.String())
	case Death:
		w.note("%s dies %v", c.name, h.Point)
		w.isGone(c)
		w.life.gates.Open(h, errDied)
		w.later(f.Notice, c.name+" is declared failed", func() error {
			w.later(f.Back, "a component takes the place of "+c.name, func() error { return w.life.join(c.slot) })
			return w.life.fail(c)
		})
	case Suspicion:
		w.note("%s is declared failed, %v", c.name, h.Point)
		w.isGone(c)
		w.later(f.Back, "a component takes the place of "+c.name, func() error { return w.life.join(c.slot) })
		return w.life.fail(c)
	case Full:
		w.fill(f.Back)
		w.life.gates.Open(h, nil)
	case Cancel, Force, Pause:
		return w.operate(f)
	}
	return nil
}

// operate has an operator act on the life, and others go on meanwhile.
func (w *world) operate(f Failure) error {
	ctx, op := context.Background(), w.life.checker.Operator()
	if f.Trouble == Pause {
		a := w.p.Actors[w.pick.IntN(len(w.p.Actors))]
		w.note("an operator pauses %v", a)
		w.setFull(false) // it is a record too
		w.paused = append(w.paused, a)
		w.later(f.Back, fmt.Sprintf("%v goes on", a), w.unpause)
		return op.Pause(ctx, a)
	}
	var ids []engine.ID
	for i, err := range op.Invocations(ctx, engine.Query{}) {
		if err != nil {
			return err
		}
		if i.Ended.IsZero() {
			ids = append(ids, i.Request.ID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	id, force := ids[w.pick.IntN(len(ids))], f.Trouble == Force
	w.note("an operator cancels %v, by force: %v", id, force)
	w.mu.Lock()
	w.canceled = true
	w.mu.Unlock()
	go func() {
		switch err := op.Cancel(ctx, id, "", force); { // it waits for the code of the invocation
		case err == nil, errors.Is(err, engine.ErrNotFound), errors.Is(err, engine.ErrUnavailable):
		default:
			w.fail("cancel %v: %w", id, err)
		}
	}()
	return nil
}

// unpause lets the actor that was paused first go on. A pause outlives the process.
func (w *world) unpause() error {
	w.setFull(false)
	a := w.paused[0]
	w.paused = w.paused[1:]
	return w.life.checker.Operator().Unpause(context.Background(), a)
}

// fill has the disk take nothing more for some steps.
func (w *world) fill(steps int) {
	w.note("the disk is full")
	w.setFull(true)
	w.later(steps, "the disk has room", func() error { w.setFull(false); return nil })
}

// setFull lets clients that were refused ask again when there is room.
func (w *world) setFull(full bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.disk.SetFull(full)
	w.full, w.filled = full, w.filled || full
	w.change()
}

var errDied = errors.New("the component has died")

// later has something done when so many more steps were made, in this life.
func (w *world) later(steps int, what string, do func() error) {
	w.due = append(w.due, due{step: w.res.Steps + steps, what: what, do: do})
}
