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

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/engine/trace"
	"github.com/pawl-go/pawl/internal/sim"
	"github.com/pawl-go/pawl/spec/check"
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
	paused   []engine.Actor // by an operator

	mu       sync.Mutex
	wrong    error
	busy     map[engine.Actor]*run // whose code runs there
	running  map[*run]struct{}     // attempts that have begun, and not ended
	clients  int                   // still at it
	changed  chan struct{}         // closed when a component has joined, or a life has ended
	answers  map[string]answer     // by client and number of its request
	told     []told                // by clients, acknowledged
	full     bool                  // the disk
	filled   bool                  // it was, at any time
	canceled bool                  // an operator has cancelled something
}

// answer is how a request of a client ended.
type answer struct {
	script int
	value  string // the key of the step that answered
	failed string
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

// state is what is wrong so far.
func (w *world) state() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.wrong
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
	for _, a := range w.paused {
		w.later(0, fmt.Sprintf("%v goes on", a), w.unpause)
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
