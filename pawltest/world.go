package pawltest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pawl-go/pawl"
	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/engine/local/memdisk"
	"github.com/pawl-go/pawl/engine/trace"
	"github.com/pawl-go/pawl/internal/runtime"
	"github.com/pawl-go/pawl/queue"
	"github.com/pawl-go/pawl/spec/check"
)

// World is one run of a scenario: Pawl's own runtime and engine on virtual time
// and a disk in memory, with components that fail and a client that does not.
//
// It is a testing.TB: what the scenario says and checks with it is kept with its
// run. Its methods are for the scenario's goroutine, and for those that it starts
// and waits for; not for methods of actors.
type World struct {
	testing.TB
	said capture

	cfg    config
	plan   schedule
	id     string // in the URLs of its engines
	start  time.Time
	rng    *rand.Rand
	client *client

	news chan struct{} // of one slot: something has become ready
	done chan struct{} // closed when the scenario has ended
	over chan struct{} // closed when the world ends: nobody is held any more

	// disk and eng are those of the present life. They change while nothing runs.
	disk *memdisk.Disk
	eng  engine.Engine
	up   chan struct{} // closed when every component of this life has started
	days int           // times maxIdle in a row

	trace trace.Memory // of all lives
	first *trace.Life  // those that follow come from its disk

	mu struct {
		sync.Mutex
		ready      []*ready
		asks       []*ask
		answers    []*answer
		ordinals   map[string]int
		visited    []visit // what could have failed
		behind     int     // in visited: what came after the last failure of the plan
		next       int     // in plan.failures
		once       []nextFailure
		choice     bool // there ever was one between ready ones
		moves      int  // since the scenario last went on
		components []*Component
		runs       map[engine.ID]*engine.Request // the present step of each
		events     []event
		seen       map[*runtime.Invocation]fields // of methods that run, as they began
		memory     memory
		ending     bool
	}
}

// play runs a scenario in a world of its own, in a bubble of virtual time.
func play(t *testing.T, cfg config, s schedule, scenario func(*World)) (w *World) {
	defer func() {
		if v := recover(); v != nil { // of synctest: who is left blocks for ever
			if w == nil {
				panic(v)
			}
			w.said.keep(fmt.Sprintf("the run did not end: %v", v), true)
		}
	}()
	synctest.Test(t, func(*testing.T) {
		w = newWorld(t, cfg, s)
		if err := w.open(); err != nil {
			w.Errorf("open the world: %v", err)
			return
		}
		go w.run(scenario)
		w.schedule()
		w.close()
	})
	w.checkTrace()
	return w
}

// checkTrace holds what Pawl itself did in the run to its semantics, so that a
// fault of Pawl is told from one of the scenario.
func (w *World) checkTrace() {
	if _, err := check.Slice(w.trace.Events(), check.Options{}); err != nil {
		w.said.keep(fmt.Sprintf("Pawl itself has done what its semantics do not allow, "+
			"which is a bug of Pawl and not of this program; please report it with all that stands here:\n%v", err), true)
	}
}

func newWorld(t testing.TB, cfg config, s schedule) *World {
	w := &World{
		TB: t, cfg: cfg, plan: s, start: time.Now(),
		rng:  rand.New(rand.NewPCG(s.seed, 0)),
		news: make(chan struct{}, 1), done: make(chan struct{}), over: make(chan struct{}),
		up:   make(chan struct{}),
		disk: memdisk.New(s.seed),
	}
	if w.cfg.app.Logger == nil {
		w.cfg.app.Logger = w.logger()
	}
	w.first = w.trace.Life()
	close(w.up)
	w.mu.ordinals = map[string]int{}
	w.mu.runs = map[engine.ID]*engine.Request{}
	w.mu.seen = map[*runtime.Invocation]fields{}
	w.mu.memory = newMemory()
	w.client = &client{w: w}
	return w
}

// open opens the engine and the client.
func (w *World) open() (err error) {
	if w.eng, err = w.openEngine(); err != nil {
		return err
	}
	w.id = worlds.add(w.door)
	if err = w.client.open(); err != nil {
		worlds.remove(w.id)
		err = errors.Join(err, w.eng.Close())
	}
	return err
}

// logger keeps warnings with the run, such as of a method that has panicked.
func (w *World) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(w.Output(), &slog.HandlerOptions{
		Level: slog.LevelWarn,
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		},
	}))
}

func (w *World) openEngine() (engine.Engine, error) {
	return w.disk.Open(queue.Process, engine.Options{
		App: "pawltest", Logger: slog.New(slog.DiscardHandler),
		MissingTimeout: w.cfg.app.MissingTimeout,
		Mailbox:        w.cfg.app.Limits.Mailbox, Pending: w.cfg.app.Limits.Pending,
		Trace: w.first,
	})
}

// run is the goroutine of the scenario.
func (w *World) run(scenario func(*World)) {
	defer close(w.done)
	defer w.cleanup()
	defer func() {
		if v := recover(); v != nil {
			w.said.keep(fmt.Sprintf("the scenario panicked: %v\n%s", v, debug.Stack()), true)
		}
	}()
	scenario(w)
	w.missed()
}

// close ends what is left of every life. Nobody is told before their component
// has ended: so nobody goes on.
func (w *World) close() {
	w.mu.Lock()
	w.mu.ending = true
	components := slices.Clone(w.mu.components)
	w.mu.Unlock()
	w.disk = w.disk.Kill() // what comes from here on is no part of the run
	var closers sync.WaitGroup
	for _, c := range components {
		for _, l := range c.lives {
			closers.Go(func() { l.close() })
		}
	}
	synctest.Wait()
	close(w.over)
	closers.Wait()
	w.client.close()
	_ = w.eng.Close()
	worlds.remove(w.id)
}

// now is the virtual time since the run began.
func (w *World) now() time.Duration { return time.Since(w.start) }

// Advance lets virtual time pass, and with it everything that is due by then
// begin and go on until it waits for something. Without it time passes by itself
// whenever all wait.
func (w *World) Advance(d time.Duration) {
	time.Sleep(d)
	w.ask(true, func() {})
}

// settleLimit is the virtual time in which a world should settle.
const settleLimit = time.Hour

// Settle waits until no invocation is pending, but for those parked, failed or
// delayed: until all tells have been told. It fails the scenario if that takes
// more than an hour of virtual time.
func (w *World) Settle() {
	w.Helper()
	begun, wait := w.now(), time.Millisecond
	for {
		w.ask(true, func() {})
		stats, err := w.client.operator().Stats(w.client.ctx)
		if err == nil && stats.Pending == 0 {
			return
		}
		if w.now()-begun > settleLimit {
			w.Fatalf("Settle: after %v these are still pending: %s", settleLimit, w.pendingNames())
		}
		time.Sleep(wait)
		wait = min(2*wait, time.Second)
	}
}

// Pending lists the invocations that have not ended, newest first: parked, failed
// and delayed ones too.
func (w *World) Pending() []pawl.Invocation {
	w.Helper()
	var list []pawl.Invocation
	for inv, err := range w.client.app.Admin().Invocations(w.client.ctx, pawl.Query{}) {
		if err != nil {
			w.Fatalf("Pending: %v", err)
		}
		switch inv.Status {
		case "done", "error", "canceled":
		default:
			list = append(list, inv)
		}
	}
	return list
}

// pendingNames names what is pending, for a message.
func (w *World) pendingNames() string {
	var names []string
	for _, inv := range w.Pending() {
		names = append(names, fmt.Sprintf("%s.%s (%s)", inv.Actor, inv.Method, inv.Status))
	}
	return strings.Join(names, ", ")
}

// State gives what is recorded of an actor, by the keys of its cells, encoded.
// Entries of maps are not among it.
func State[A any](w *World, of pawl.Ref[A]) map[string]json.RawMessage {
	w.Helper()
	cells, err := w.client.now().Load(w.client.ctx, engine.Actor{Type: of.Type, ID: of.ID})
	if err != nil {
		w.Fatalf("State of %v: %v", of, err)
	}
	state := map[string]json.RawMessage{}
	for _, c := range cells {
		state[c.Cell] = slices.Clone(c.Value)
	}
	return state
}

// background is for what ends with the world, not with a context.
var background = context.Background()
