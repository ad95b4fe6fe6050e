package program

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/engine/trace"
	"github.com/pawl-go/pawl/internal/sim"
	"github.com/pawl-go/pawl/spec/check"
)

// Bounds of a run: a program that needs more does not end.
const (
	mostSteps = 20_000
	mostTime  = 24 * time.Hour // virtual
)

// Result is what a run came to.
type Result struct {
	Err      error // what went wrong; nil if nothing did
	Steps    int   // of the schedule
	Failures int   // that happened
	Lives    int   // of the process
	// Points are the points in the order in which they were passed, with their
	// steps, and the failures between them, if they were asked for (Record).
	Points []string
	Trace  []trace.Event // of all lives
}

// world is a program being run.
type world struct {
	p      *Program
	disk   *sim.Disk
	life   *life
	pick   *rand.Rand
	record bool
	trace  *trace.Memory
	traced *trace.Life
	res    *Result

	failures []Failure // still to come
	due      []due     // what follows from failures
	names    int

	mu      sync.Mutex
	wrong   error
	busy    map[engine.Actor]*run // whose code runs there
	running map[*run]struct{}     // attempts that have begun, and not ended
	clients int                   // still at it
	changed chan struct{}         // closed when a component has joined, or a life has ended
	answers map[string]answer     // by client and number of its request
	told    []told                // by clients, acknowledged
}

// answer is how a request of a client ended.
type answer struct {
	script int
	value  string // the key of the step that answered
	failed string
}

// due is something to do at a step.
type due struct {
	step int
	what string // for people
	do   func() error
}

// Run runs a program in a bubble of its own. t only fails if the bubble does
// not end, which no program makes it do.
func Run(t *testing.T, p *Program) *Result { return runProgram(t, p, false) }

// Record is Run, with the points in the result.
func Record(t *testing.T, p *Program) *Result { return runProgram(t, p, true) }

func runProgram(t *testing.T, p *Program, record bool) *Result {
	res := &Result{}
	inBubble(t, p, record, res)
	if _, err := check.Slice(res.Trace, check.Options{Settled: res.Err == nil}); err != nil {
		res.Err = errors.Join(res.Err, err)
	}
	return res
}

func inBubble(t *testing.T, p *Program, record bool, res *Result) {
	defer func() {
		if v := recover(); v != nil {
			res.Err = errors.Join(res.Err, fmt.Errorf("the bubble does not end: %v", v))
		}
	}()
	synctest.Test(t, func(*testing.T) {
		w := &world{
			p: p, disk: sim.NewDisk(p.Seed), pick: rand.New(rand.NewPCG(p.Seed, 1)), record: record, res: res,
			failures: p.Failures, changed: make(chan struct{}),
			answers: map[string]answer{}, trace: &trace.Memory{},
		}
		w.traced = w.trace.Life()
		res.Err = w.run()
		if w.life != nil {
			res.Err = errors.Join(res.Err, w.life.end())
		}
		res.Trace = w.trace.Events()
	})
}

var quiet = slog.New(slog.DiscardHandler)

// run is the life of the world, on the goroutine that schedules.
func (w *world) run() error {
	if err := w.begin(); err != nil {
		return err
	}
	w.clients = len(w.p.Clients)
	for i := range w.p.Clients {
		go w.client(i)
	}
	err := w.schedule()
	if err == nil && w.p.LastCrash {
		if err = w.crash("all has drained"); err == nil {
			err = w.schedule()
		}
	}
	if err == nil {
		err = w.check()
	}
	if err != nil {
		w.giveUp(err)
	}
	return err
}

// fail notes what is wrong; the first counts.
func (w *world) fail(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.failLocked(format, args...)
}

func (w *world) failLocked(format string, args ...any) {
	if w.wrong == nil {
		w.wrong = fmt.Errorf(format, args...)
		w.change()
	}
}

func (w *world) giveUp(err error) { w.fail("given up: %w", err) }

// change wakes who waits for a component. mu is held.
func (w *world) change() {
	close(w.changed)
	w.changed = make(chan struct{})
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
		late := len(held) == 0
		did, err := w.settle(late)
		switch {
		case err != nil:
			return err
		case did:
			continue
		case late:
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

func (w *world) state() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.wrong
}

// step opens one gate, or lets the failure happen that is due there.
func (w *world) step(h *sim.Held) error {
	if w.record {
		w.res.Points = append(w.res.Points, fmt.Sprintf("%7d  %v", w.res.Steps, h.Point))
	}
	if len(w.failures) > 0 && w.failures[0].Step <= w.res.Steps {
		c := w.life.find(h.Session)
		f := w.failures[0]
		if f.Trouble == Crash || c != nil && !c.gone.Load() {
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
func (w *world) settle(late bool) (did bool, err error) {
	for i, d := range w.due {
		if late || d.step <= w.res.Steps {
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
	}
	return nil
}

var errDied = errors.New("the component has died")

// later has something done when so many more steps were made, in this life.
func (w *world) later(steps int, what string, do func() error) {
	w.due = append(w.due, due{step: w.res.Steps + steps, what: what, do: do})
}

// crash lets the process die and begins the next life.
func (w *world) crash(where string) error {
	w.note("the process dies: %s", where)
	w.due = nil
	old := w.life
	w.disk = w.disk.Crash()
	for _, c := range old.comps {
		w.isGone(c)
	}
	if err := old.end(); err != nil {
		return err
	}
	return w.begin()
}

// begin begins a life: it opens the engine, and every component joins.
func (w *world) begin() error {
	w.mu.Lock()
	w.busy, w.running = map[engine.Actor]*run{}, map[*run]struct{}{}
	w.mu.Unlock()
	l := &life{w: w, gates: &sim.Gates{}}
	w.res.Lives++
	eng, err := sim.Open(w.disk, sim.Options{
		Options:    engine.Options{App: "program", Logger: quiet, MissingTimeout: mostTime, Trace: w.traced},
		Durability: w.p.Durability,
	})
	if err != nil {
		return fmt.Errorf("open in life %d: %w", w.res.Lives, err)
	}
	l.inner, l.eng = eng, sim.Watch(eng, l.gates.At)
	w.mu.Lock()
	w.life = l
	w.mu.Unlock()
	if l.checker, err = eng.Join(context.Background(), engine.Component{Name: "checker"}, nil); err != nil {
		return fmt.Errorf("join in life %d: %w", w.res.Lives, err)
	}
	for slot := range len(w.p.Components) + len(w.p.Clients) {
		if err := l.join(slot); err != nil {
			return err
		}
	}
	return nil
}

func (w *world) actorOf(script int) engine.Actor { return w.p.Actors[w.p.Scripts[script].Actor] }
