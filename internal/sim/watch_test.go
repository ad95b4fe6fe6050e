package sim_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/engine/enginetest"
	"github.com/pawl-go/pawl/internal/runtime"
	"github.com/pawl-go/pawl/internal/sim"
	"github.com/pawl-go/pawl/queue"
)

// harness opens watched engines on simulated disks.
type harness struct {
	durability queue.Durability
	at         func(sim.Point) error

	options engine.Options
	disk    *sim.Disk
	eng     engine.Engine
}

func (h *harness) Open(t *testing.T, o engine.Options) engine.Engine {
	h.options, h.disk = o, sim.NewDisk(1)
	return h.open(t)
}

func (h *harness) open(t *testing.T) engine.Engine {
	t.Helper()
	eng, err := sim.Open(h.disk, sim.Options{Options: h.options, Durability: h.durability})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { eng.Close() })
	h.eng = sim.Watch(eng, h.at)
	return h.eng
}

func (h *harness) Fail(t *testing.T, s engine.Session) {
	t.Helper()
	if err := sim.Fail(h.eng, s); err != nil {
		t.Fatal(err)
	}
}

func (h *harness) Crash(t *testing.T) engine.Engine {
	h.disk = h.disk.Kill() // what the suite expects
	return h.open(t)
}

// TestConformance: a watched engine is an engine.
func TestConformance(t *testing.T) {
	for _, d := range []queue.Durability{queue.Process, queue.Disk} {
		t.Run(d.String(), func(t *testing.T) {
			enginetest.Run(t, func(*testing.T) enginetest.Harness {
				return &harness{durability: d, at: func(sim.Point) error { return nil }}
			})
		})
	}
}

// doomed is a watcher that lets a component die at the n-th of its points.
type doomed struct {
	component string
	die       int
	died      chan struct{}

	mu     sync.Mutex
	points []string
}

var errKilled = errors.New("killed")

func (d *doomed) at(p sim.Point) error {
	if p.Component != d.component || p.Kind == sim.Fenced {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.points = append(d.points, p.String())
	if len(d.points) == d.die {
		close(d.died)
		return errKilled
	}
	return nil
}

// run has Main/m call Task/t, which tells Log/l, on component node2; it dies
// at its die-th point and comes back as node3.
func (d *doomed) run(t *testing.T, durability queue.Durability) {
	d.component, d.died = "node2", make(chan struct{})
	w := enginetest.NewWorld(t, &harness{durability: durability, at: d.at})
	w.On("Main.main", func(s *enginetest.Scene) runtime.Result {
		s.Set("n", s.Get("n")+"1")
		return enginetest.Value(s.Call("Task/t", "task", "x") + " " + s.Get("n"))
	})
	w.On("Task.task", func(s *enginetest.Scene) runtime.Result {
		s.Tell("Log/l", "log", "y")
		s.Sync()
		return enginetest.Value("done")
	})
	w.On("Log.log", func(s *enginetest.Scene) runtime.Result { s.Say("logged"); return enginetest.Value("") })
	client, app := w.Node("None"), w.Node("Main", "Task")
	w.Node("Log")
	p := client.Start("Main/m", "main", "")
	answer := make(chan string, 1)
	go func() { answer <- w.Wait(p) }()
	select {
	case <-d.died:
		app.Kill()
		w.Node("Main", "Task")
	case got := <-answer:
		answer <- got
	}
	if got := <-answer; got != "done 1" {
		t.Errorf("died at %d (%s): got %q", d.die, d.points[max(d.die, 1)-1], got)
	}
	w.Hear("logged")
}

// TestDeathAtEveryPoint: whatever the point at which a component dies, its work
// is done by another, and what it wrote counts once.
func TestDeathAtEveryPoint(t *testing.T) {
	for _, durability := range []queue.Durability{queue.Process, queue.Disk} {
		t.Run(durability.String(), func(t *testing.T) {
			var free doomed
			synctest.Test(t, func(t *testing.T) { free.run(t, durability) })
			for _, k := range []sim.Kind{sim.Start, sim.Send, sim.Finish} {
				if !slices.ContainsFunc(free.points, func(p string) bool { return len(p) > 7 && p[7:7+len(k)] == string(k) }) {
					t.Errorf("no point of kind %q: %q", k, free.points)
				}
			}
			for die := range free.points {
				t.Run(fmt.Sprint(die+1), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) { (&doomed{die: die + 1}).run(t, durability) })
				})
			}
		})
	}
}

// TestPoints: the text of the points of a run is the same every time.
func TestPoints(t *testing.T) {
	var runs [2]doomed
	for i := range runs {
		synctest.Test(t, func(t *testing.T) { runs[i].run(t, queue.Process) })
	}
	if !slices.Equal(runs[0].points, runs[1].points) {
		t.Errorf("first  %q\nsecond %q", runs[0].points, runs[1].points)
	}
	const first = "before start Main/m.main (1-1 step 1 attempt 1) at node2"
	if runs[0].points[0] != first {
		t.Errorf("first is %q, want %q", runs[0].points[0], first)
	}
}
