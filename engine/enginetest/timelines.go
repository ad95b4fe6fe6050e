package enginetest

import (
	"strings"

	"github.com/pawl-go/pawl/internal/runtime"
)

// In these worlds Main/m calls Task/t; both say what they do. A node that is
// killed leaves its scripts behind as zombies, stopped at a gate or refused at
// their next act.
func mainAndTask(w *World) {
	w.On("Main.main", func(s *Scene) runtime.Result {
		s.Say("main %d begins", s.inv.Attempt())
		if s.inv.Attempt() == 1 && !s.Pass("main") {
			return value("zombie")
		}
		got := s.Call("Task/t", "task", s.arg)
		s.Say("main %d has %s", s.inv.Attempt(), got)
		return value(got)
	})
	w.On("Task.task", func(s *Scene) runtime.Result {
		s.Say("task %d begins", s.inv.Attempt())
		if s.inv.Attempt() == 1 && !s.Pass("task") {
			return value("zombie")
		}
		s.Say("task ends")
		return value("done " + s.arg)
	})
}

var timelines = []test{
	{"1 no failure", func(w *World) {
		mainAndTask(w)
		w.Open("main")
		w.Open("task")
		n := w.Node()
		if got := n.Ask("Main/m", "main", "x"); got != "done x" {
			w.Errorf("got %q", got)
		}
		w.Expect("main 1 begins", "at main", "task 1 begins", "at task", "task ends", "main 1 has done x")
	}},
	{"2 caller fails before the call", func(w *World) {
		mainAndTask(w)
		w.Open("task")
		client, a := w.Node("None"), w.Node("Main")
		w.Node("Task")
		p := client.Start("Main/m", "main", "x")
		w.Hear("at main")
		a.Kill()
		w.Node("Main")
		if got := w.Wait(p); got != "done x" {
			w.Errorf("got %q", got)
		}
		w.Expect("main 1 begins", "at main", "main 2 begins", "task 1 begins", "at task", "task ends", "main 2 has done x")
	}},
	{"3 callee fails", func(w *World) {
		mainAndTask(w)
		w.Open("main")
		client := w.Node("Main")
		b := w.Node("Task")
		p := client.Start("Main/m", "main", "x")
		w.Hear("at task")
		b.Kill()
		w.Node("Task")
		if got := w.Wait(p); got != "done x" {
			w.Errorf("got %q", got)
		}
		w.Expect("main 1 begins", "at main", "task 1 begins", "at task", "task 2 begins", "task ends", "main 1 has done x")
	}},
	{"4 caller fails, callee runs on", func(w *World) {
		mainAndTask(w)
		w.Open("main")
		client, a := w.Node("None"), w.Node("Main")
		w.Node("Task")
		p := client.Start("Main/m", "main", "x")
		w.Hear("at task")
		a.Kill()
		w.Node("Main")
		w.Open("task")
		if got := w.Wait(p); got != "done x" {
			w.Errorf("got %q", got)
		}
		w.Before("task ends", "main 2 begins") // happen-before
		w.Times("main 2 begins", 1)
	}},
	{"4 the callee is told that its caller has failed, and ends undisturbed", func(w *World) {
		w.On("Main.main", func(s *Scene) runtime.Result {
			s.Say("main %d begins", s.inv.Attempt())
			return value(s.CallOnce("task", "Task/t", "task", ""))
		})
		w.On("Task.task", func(s *Scene) runtime.Result {
			s.Say("task %d begins", s.inv.Attempt())
			select {
			case <-s.inv.CallerGone():
				s.Say("task is told")
			case <-s.inv.Done():
				s.Say("task is ended")
			}
			if !s.Pass("task") {
				return value("disturbed")
			}
			return value("done")
		})
		client, a := w.Node("None"), w.Node("Main")
		w.Node("Task")
		p := client.Start("Main/m", "main", "")
		w.Hear("task 1 begins")
		a.Kill()
		w.Node("Main")
		w.Hear("at task")
		w.Open("task")
		if got := w.Wait(p); got != "done" {
			w.Errorf("got %q", got)
		}
		w.Expect("main 1 begins", "task 1 begins", "task is told", "at task", "main 2 begins")
	}},
	{"6 and 7 both fail by a crash, callee is retried first", func(w *World) {
		mainAndTask(w)
		w.Open("main")
		n := w.Node()
		p := n.Start("Main/m", "main", "x")
		w.Hear("at task")
		w.Crash()
		n = w.Node()
		w.Hear("task ends")
		w.Open("task") // for the call of main's second attempt
		if got := w.Wait(n.Attach(p.ID())); got != "done x" {
			w.Errorf("got %q", got)
		}
		w.Before("task ends", "main 2 begins")
		w.Before("task 2 begins", "main 2 begins")
	}},
	{"6 and 7 both fail, components only", func(w *World) {
		mainAndTask(w)
		w.Open("main")
		client, ab := w.Node("None"), w.Node("Main", "Task")
		p := client.Start("Main/m", "main", "x")
		w.Hear("at task")
		ab.Kill()
		w.Node("Main", "Task")
		w.Hear("task ends")
		w.Open("task")
		if got := w.Wait(p); got != "done x" {
			w.Errorf("got %q", got)
		}
		w.Before("task 2 begins", "main 2 begins")
		w.Before("task ends", "main 2 begins")
	}},
	{"8 caller fails after placing the call, before it begins", func(w *World) {
		mainAndTask(w)
		w.On("Task.busy", func(s *Scene) runtime.Result {
			s.Pass("busy")
			return value("")
		})
		w.Open("main")
		w.Open("task")
		client, a, b := w.Node("None"), w.Node("Main"), w.Node("Task")
		client.Tell("Task/t", "busy", "")
		w.Hear("at busy")
		p := client.Start("Main/m", "main", "x")
		w.Hear("at main")
		w.pending(client, 3) // the call to task waits behind busy
		a.Kill()
		w.Node("Main")
		w.Open("busy")
		if got := w.Wait(p); got != "done x" {
			w.Errorf("got %q", got)
		}
		w.Times("task ends", 1) // the orphan was cancelled
		_ = b
	}},
	{"8 the same by a crash", func(w *World) {
		mainAndTask(w)
		w.On("Task.busy", func(s *Scene) runtime.Result {
			if s.inv.Attempt() == 1 {
				s.Pass("busy")
			}
			return value("")
		})
		w.Open("main")
		w.Open("task")
		n := w.Node()
		n.Tell("Task/t", "busy", "")
		w.Hear("at busy")
		p := n.Start("Main/m", "main", "x")
		w.Hear("at main")
		w.pending(n, 3)
		w.Crash()
		n = w.Node()
		if got := w.Wait(n.Attach(p.ID())); got != "done x" {
			w.Errorf("got %q", got)
		}
		w.Times("task ends", 1)
	}},
	{"parallel callees: the retry waits for every one", func(w *World) {
		w.On("Main.main", func(s *Scene) runtime.Result {
			s.Say("main %d begins", s.inv.Attempt())
			x, y := s.Fork("Task/x", "task", "x"), s.Fork("Task/y", "task", "y")
			return value(x() + y())
		})
		w.On("Task.task", func(s *Scene) runtime.Result {
			if s.inv.Attempt() == 1 {
				s.Pass(s.arg)
			}
			s.Say("task %s ends", s.arg)
			return value(s.arg)
		})
		client, a := w.Node("None"), w.Node("Main")
		w.Node("Task")
		p := client.Start("Main/m", "main", "")
		w.Hear("at x", "at y")
		a.Kill()
		w.Node("Main")
		w.Open("x")
		w.Hear("task x ends")
		w.Times("main 2 begins", 0)
		w.Open("y")
		if got := w.Wait(p); got != "xy" {
			w.Errorf("got %q", got)
		}
		w.Before("task x ends", "main 2 begins")
		w.Before("task y ends", "main 2 begins")
	}},
	{"a chain of three: a waits for b, b waits for c", func(w *World) {
		w.On("A.run", func(s *Scene) runtime.Result {
			s.Say("a %d", s.inv.Attempt())
			return value(s.Call("B/b", "run", ""))
		})
		w.On("B.run", func(s *Scene) runtime.Result {
			s.Say("b %d", s.inv.Attempt())
			return value(s.Call("C/c", "run", ""))
		})
		w.On("C.run", func(s *Scene) runtime.Result {
			s.Say("c %d", s.inv.Attempt())
			if s.inv.Attempt() == 1 {
				s.Pass("c")
			}
			s.Say("c ends")
			return value("c")
		})
		n := w.Node()
		p := n.Start("A/a", "run", "")
		w.Hear("at c")
		w.Crash()
		n = w.Node()
		w.Hear("c ends")
		w.Open("c")
		if got := w.Wait(n.Attach(p.ID())); got != "c" {
			w.Errorf("got %q", got)
		}
		w.Before("c ends", "b 2")
		w.Before("b 2", "a 2")
	}},
	{"the caller's host hangs: a zombie can do nothing", func(w *World) {
		w.On("Main.main", func(s *Scene) runtime.Result {
			s.Say("main %d begins", s.inv.Attempt())
			s.Set("n", s.Get("n")+"x")
			if s.inv.Attempt() == 1 {
				s.mu.Lock()
				gate := s.gate("zombie")
				s.mu.Unlock()
				s.Say("at zombie")
				<-gate // does not notice that it was fenced
				s.Say("zombie is refused: %v", strings.HasPrefix(s.Call("Main/other", "peek", ""), "?"))
			}
			return value(s.Get("n"))
		})
		w.On("Main.peek", func(s *Scene) runtime.Result { s.Say("peeked"); return value(s.Get("n")) })
		client, a := w.Node("None"), w.Node("Main")
		p := client.Start("Main/m", "main", "")
		w.Hear("at zombie")
		a.Kill()
		w.Node("Main")
		if got := w.Wait(p); got != "x" {
			w.Errorf("got %q", got)
		}
		w.Open("zombie")
		w.Hear("zombie is refused: true")
		if got := client.Ask("Main/m", "peek", ""); got != "x" {
			w.Errorf("state %q: the zombie's writes or retry were counted", got)
		}
		w.Times("peeked", 1)
	}},
}

// pending waits until n invocations are in the flow.
func (w *World) pending(n *Node, want int) {
	w.Helper()
	for {
		st, err := n.Session().Operator().Stats(w.ctx)
		if err != nil {
			w.Fatal(err)
		}
		if st.Pending >= want {
			return
		}
		if w.ctx.Err() != nil {
			w.Fatal("the flow never held that many")
		}
	}
}
