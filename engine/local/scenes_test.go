package local_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/pawl-go/pawl/engine/enginetest"
	"github.com/pawl-go/pawl/engine/local/localtest"
	"github.com/pawl-go/pawl/engine/trace"
	"github.com/pawl-go/pawl/internal/mutant"
	"github.com/pawl-go/pawl/internal/runtime"
	"github.com/pawl-go/pawl/spec/check"
)

// scene is a run in which a mutant shows. Run with the right program its trace
// is allowed; with the mutant active it is not. Broken says which of both it
// is, where the scene has to wait for what only one of them does.
type scene struct {
	mutant mutant.Fault
	run    func(w *enginetest.World, broken bool)
	// shows looks for the fault in the trace, as directly as it can be seen.
	shows func(events []trace.Event) bool
}

var scenes = []scene{
	{mutant.PapersCancel, halfChain, func(es []trace.Event) bool {
		return has(es, func(e *trace.Event) bool { return e.Kind == trace.Cancel && e.Step == 2 })
	}},
	{mutant.ReachableWithoutChain, siblings, func(es []trace.Event) bool {
		x := index(es, 0, func(e *trace.Event) bool { return e.Kind == trace.Begin && e.Method == "back" })
		y := index(es, x+1, func(e *trace.Event) bool { return e.Kind == trace.Begin && e.Method == "back" })
		return !has(es[x:y], func(e *trace.Event) bool { return e.Kind == trace.Outcome && e.ID == es[x].ID })
	}},
	{mutant.EndWithoutJoin, callOut, func(es []trace.Event) bool {
		main := index(es, 0, func(e *trace.Event) bool { return e.Kind == trace.Outcome && e.Method == "main" })
		task := index(es, 0, func(e *trace.Event) bool { return e.Kind == trace.Outcome && e.Method == "task" })
		return main < task
	}},
	{mutant.NoFlushAtReentry, reentry, func(es []trace.Event) bool {
		return has(es, func(e *trace.Event) bool { return e.Kind == trace.Begin && len(e.Cells) > 0 })
	}},
	{mutant.TellBeforeCommit, heldTell, func(es []trace.Event) bool {
		sent := index(es, 0, func(e *trace.Event) bool { return e.Kind == trace.Send && e.Method == "task" })
		begun := index(es, sent, func(e *trace.Event) bool { return e.Kind == trace.Begin && e.Method == "task" })
		return !has(es[sent:begun], func(e *trace.Event) bool { return e.Kind == trace.Commit && e.At >= es[sent].At })
	}},
	{mutant.FailureBeforeRecord, failover, func(es []trace.Event) bool {
		failed := index(es, 0, func(e *trace.Event) bool { return e.Kind == trace.Fail })
		begun := index(es, failed, func(e *trace.Event) bool { return e.Kind == trace.Begin && e.N == 2 })
		return !has(es[failed:begun], func(e *trace.Event) bool { return e.Kind == trace.Commit && e.At >= es[failed].At })
	}},
	{mutant.WaitForOneCallee, parallelCallees, func(es []trace.Event) bool {
		begun := index(es, 0, func(e *trace.Event) bool { return e.Kind == trace.Begin && e.Method == "main" && e.N == 2 })
		ended := 0
		for _, e := range es[:begun] {
			if e.Kind == trace.Outcome && e.Method == "task" {
				ended++
			}
		}
		return ended < 2
	}},
	{mutant.ReleaseOnTailSelf, tailSelf, func(es []trace.Event) bool {
		kept := index(es, 0, func(e *trace.Event) bool { return e.Kind == trace.Outcome && e.InPlace })
		return es[index(es, kept, func(e *trace.Event) bool { return e.Kind == trace.Begin })].ID != es[kept].ID
	}},
	{mutant.CompletionForgotten, ended, func(es []trace.Event) bool {
		return has(es, func(e *trace.Event) bool { return e.Kind == trace.Begin && e.N == 2 })
	}},
	{mutant.FencedWriteAccepted, zombie, func(es []trace.Event) bool {
		failed := index(es, 0, func(e *trace.Event) bool { return e.Kind == trace.Fail })
		return has(es[failed+1:], func(e *trace.Event) bool { return e.Kind == trace.Write && e.Session == es[failed].Session })
	}},
}

func has(es []trace.Event, f func(*trace.Event) bool) bool { return index(es, 0, f) < len(es) }

// index finds the first event from a place on; len(es) if there is none.
func index(es []trace.Event, from int, f func(*trace.Event) bool) int {
	for i := from; i < len(es); i++ {
		if f(&es[i]) {
			return i
		}
	}
	return len(es)
}

// TestScenes: the right program shows none of the faults, and its traces are
// allowed.
func TestScenes(t *testing.T) {
	var tested []mutant.Fault
	for _, s := range scenes {
		tested = append(tested, s.mutant)
		t.Run(s.mutant.String(), func(t *testing.T) {
			events := play(t, s, false)
			if t.Failed() {
				return
			}
			if s.shows(events) {
				t.Errorf("the fault shows without the mutant:\n%s", lines(events))
			}
			if _, err := check.Slice(events, check.Options{}); err != nil {
				t.Error(err)
			}
		})
	}
	if !slices.Equal(tested, mutant.All()) {
		t.Errorf("scenes of %v, mutants %v", tested, mutant.All())
	}
}

// play runs a scene and returns its trace, once all has ended.
func play(t *testing.T, s scene, broken bool) []trace.Event {
	var w *enginetest.World
	t.Run("run", func(t *testing.T) {
		w = enginetest.NewWorld(t, localtest.New("disk"))
		s.run(w, broken)
	})
	return w.Trace()
}

func lines(events []trace.Event) string {
	var b strings.Builder
	for i := range events {
		b.WriteString(events[i].String() + "\n")
	}
	return b.String()
}

// stops gives a method that says when it begins, stops at its gate in its first
// attempt, and ends with its argument.
func stops(s *enginetest.Scene) runtime.Result {
	s.Say("%s %d", s.Inv().Method(), s.Inv().Attempt())
	if s.Inv().Attempt() == 1 {
		s.Pass(s.Inv().Method() + s.Arg())
	}
	return enginetest.Value(s.Arg())
}

// calls gives a method that ends with the outcome of a call.
func calls(to, method string) enginetest.Script {
	return func(s *enginetest.Scene) runtime.Result { return enginetest.Value(s.Call(to, method, s.Arg())) }
}

// halfChain: the callee has taken a tail call, then it and its caller fail.
func halfChain(w *enginetest.World, _ bool) {
	w.On("Main.main", calls("Task/t", "task"))
	w.On("Task.task", func(*enginetest.Scene) runtime.Result { return enginetest.Tail("Task/u", "second", "") })
	w.On("Task.second", stops)
	client, n := w.Node("None"), w.Node("Main", "Task")
	p := client.Start("Main/m", "main", "")
	w.Hear("at second")
	n.Kill()
	w.Open("second")
	w.Node("Main", "Task")
	w.Wait(p)
}

// siblings: two callees of one method call back; the first one's callback waits
// for a call of its own.
func siblings(w *enginetest.World, broken bool) {
	w.On("Main.main", func(s *enginetest.Scene) runtime.Result {
		x, y := s.Fork("Task/x", "task", "x"), s.Fork("Task/y", "task", "y")
		return enginetest.Value(x() + y())
	})
	w.On("Task.task", calls("Main/m", "back"))
	w.On("Main.back", func(s *enginetest.Scene) runtime.Result {
		s.Say("back")
		return enginetest.Value(s.Call("Other/"+s.Arg(), "stop", ""))
	})
	w.On("Other.stop", stops)
	p := w.Node().Start("Main/m", "main", "")
	w.Hear("at stop")
	if broken {
		w.Hear("back", "back")
	}
	w.Open("stop")
	w.Wait(p)
}

// callOut: a method returns with a nested call out.
func callOut(w *enginetest.World, broken bool) {
	w.On("Main.main", func(s *enginetest.Scene) runtime.Result {
		s.Fork("Task/t", "task", "")
		return enginetest.Value("")
	})
	w.On("Task.task", stops)
	p := w.Node().Start("Main/m", "main", "")
	w.Hear("at task")
	if broken {
		w.Wait(p)
	}
	w.Open("task")
	w.Wait(p)
}

// reentry: a method has written when it is entered again.
func reentry(w *enginetest.World, _ bool) {
	w.On("Main.main", func(s *enginetest.Scene) runtime.Result {
		s.Set("a", "1")
		return enginetest.Value(s.Call("Task/t", "task", ""))
	})
	w.On("Task.task", calls("Main/m", "back"))
	w.On("Main.back", func(s *enginetest.Scene) runtime.Result { return enginetest.Value(s.Get("a")) })
	w.Node().Ask("Main/m", "main", "")
}

// heldTell: a method sends a tell at once, and nobody waits for a commit but
// who is to begin it.
func heldTell(w *enginetest.World, _ bool) {
	w.On("Main.main", func(s *enginetest.Scene) runtime.Result {
		s.Pass("tell")
		s.Tell("Task/t", "task", "", func(c *runtime.Call) { c.Immediately = true })
		s.Pass("main")
		return enginetest.Value("")
	})
	w.On("Task.task", stops)
	p := w.Node().Start("Main/m", "main", "")
	w.Open("tell")
	w.Hear("at task")
	w.Open("task")
	w.Open("main")
	w.Wait(p)
}

// failover: the component of a running method fails, and another hosts it.
func failover(w *enginetest.World, _ bool) {
	w.On("Main.main", stops)
	client, a := w.Node("None"), w.Node("Main")
	p := client.Start("Main/m", "main", "")
	w.Hear("at main")
	w.Node("Main")
	a.Kill()
	w.Hear("main 2")
	w.Wait(p)
}

// parallelCallees: the retry of a method whose attempt had two callees.
func parallelCallees(w *enginetest.World, broken bool) {
	w.On("Main.main", func(s *enginetest.Scene) runtime.Result {
		s.Say("main %d", s.Inv().Attempt())
		x, y := s.Fork("Task/x", "task", "x"), s.Fork("Task/y", "task", "y")
		return enginetest.Value(x() + y())
	})
	w.On("Task.task", stops)
	client, a := w.Node("None"), w.Node("Main")
	w.Node("Task")
	p := client.Start("Main/m", "main", "")
	w.Hear("at taskx", "at tasky")
	a.Kill()
	w.Node("Main")
	w.Open("tasky")
	if broken {
		w.Hear("main 2")
	}
	w.Open("taskx")
	w.Wait(p)
}

// tailSelf: another request waits for the actor of a chain on itself.
func tailSelf(w *enginetest.World, _ bool) {
	w.On("Main.main", func(s *enginetest.Scene) runtime.Result {
		s.Pass("main")
		return enginetest.Tail("Main/m", "second", "")
	})
	w.On("Main.second", stops)
	w.On("Main.other", stops)
	w.Open("second")
	w.Open("other")
	n := w.Node()
	p := n.Start("Main/m", "main", "")
	w.Hear("at main")
	q := n.Start("Main/m", "other", "")
	w.Open("main")
	w.Wait(p)
	w.Wait(q)
}

// ended: what has ended is behind a crash.
func ended(w *enginetest.World, _ bool) {
	w.On("Main.main", func(*enginetest.Scene) runtime.Result { return enginetest.Value("") })
	w.Node().Ask("Main/m", "main", "")
	w.Crash()
	w.Node().Ask("Main/m", "main", "")
}

// zombie: a component that was declared failed goes on, writes and ends.
func zombie(w *enginetest.World, broken bool) {
	w.On("Main.main", func(s *enginetest.Scene) runtime.Result {
		s.Set("a", s.Get("a")+"x")
		s.Pass([]string{"", "main", "second"}[s.Inv().Attempt()])
		return enginetest.Value("")
	})
	client, a := w.Node("None"), w.Node("Main")
	p := client.Start("Main/m", "main", "")
	w.Hear("at main")
	a.Kill() // which ends what Pass waits for
	if broken {
		w.Wait(p)
	}
	w.Open("second")
	w.Node("Main")
	w.Wait(p)
}
