package enginetest

import (
	"time"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/internal/runtime"
)

var locks = []test{
	{"a re-entered method that asks for another attempt keeps the turn from the outer one", func(w *World) {
		w.On("M.main", func(s *Scene) runtime.Result {
			back := s.Fork("M/m", "back", "")
			s.Call("T/t", "task", "")
			s.Say("main goes on")
			return value(back())
		})
		w.On("M.back", func(s *Scene) runtime.Result {
			s.Say("back %d", s.inv.Attempt())
			if s.inv.Attempt() == 1 {
				return retry(20 * time.Millisecond)
			}
			return value("done")
		})
		w.On("T.task", func(s *Scene) runtime.Result { s.Pass("task"); return value("") })
		n := w.Node()
		p := n.Start("M/m", "main", "")
		w.Hear("at task", "back 1")
		w.Open("task")
		if got := w.Wait(p); got != "done" {
			w.Errorf("got %q", got)
		}
		w.Before("back 2", "main goes on")
	}},
	{"a re-entered chain that keeps its lock keeps the turn from the outer method", func(w *World) {
		w.On("M.main", func(s *Scene) runtime.Result {
			back := s.Fork("M/m", "back", "")
			s.Call("T/t", "task", "")
			s.Say("main goes on")
			return value(back())
		})
		w.On("M.back", func(s *Scene) runtime.Result {
			s.Pass("back")
			return tail("M/m", "second", "")
		})
		w.On("M.second", func(s *Scene) runtime.Result { s.Say("second"); return value("done") })
		w.On("T.task", func(s *Scene) runtime.Result { s.Say("task"); return value("") })
		n := w.Node()
		p := n.Start("M/m", "main", "")
		w.Hear("at back", "task")
		w.Open("back")
		if got := w.Wait(p); got != "done" {
			w.Errorf("got %q", got)
		}
		w.Before("second", "main goes on")
	}},
	{"one at a time, in the order sent", func(w *World) {
		w.On("A.add", func(s *Scene) runtime.Result {
			s.Say("%s begins", s.arg)
			if s.arg == "1" {
				s.Pass("one")
			}
			s.Say("%s ends", s.arg)
			return value("")
		})
		n := w.Node()
		n.Tell("A/a", "add", "1")
		w.Hear("at one")
		n.Tell("A/a", "add", "2")
		n.Tell("A/a", "add", "3")
		w.Open("one")
		w.Hear("3 ends")
		w.Expect("1 begins", "at one", "1 ends", "2 begins", "2 ends", "3 begins", "3 ends")
	}},
	{"reentrancy: a callback runs while the outer method waits", func(w *World) {
		callback(w)
		w.Open("callback")
		n := w.Node()
		if got := n.Ask("Main/m", "main", ""); got != "called back" {
			w.Errorf("got %q", got)
		}
	}},
	{"reentrancy: a competitor waits, the callback does not", func(w *World) {
		callback(w)
		n := w.Node()
		p := n.Start("Main/m", "main", "")
		w.Hear("at callback")
		n.Tell("Main/m", "competitor", "")
		w.pending(n, 4)
		w.Open("callback")
		if got := w.Wait(p); got != "called back" {
			w.Errorf("got %q", got)
		}
		w.Hear("competitor")
		w.Before("main 1 ends", "competitor")
	}},
	{"reentrancy over a failure: callback runs before the retry of main", func(w *World) {
		callback(w)
		n := w.Node()
		p := n.Start("Main/m", "main", "")
		w.Hear("at callback")
		n.Tell("Main/m", "competitor", "")
		w.Crash()
		n = w.Node()
		w.Open("callback")
		if got := w.Wait(n.Attach(p.ID())); got != "called back" {
			w.Errorf("got %q", got)
		}
		w.Hear("competitor")
		w.Before("callback ends", "main 2 begins")
		w.Before("main 2 ends", "competitor")
	}},
	{"reentrancy over a failure of main's component only", func(w *World) {
		callback(w)
		client, a := w.Node("None"), w.Node("Main")
		w.Node("Task")
		p := client.Start("Main/m", "main", "")
		w.Hear("at callback")
		a.Kill() // main and its callback die, the task lives on and waits
		w.Node("Main")
		w.Open("callback")
		if got := w.Wait(p); got != "called back" {
			w.Errorf("got %q", got)
		}
		w.Before("callback ends", "task ends")
		w.Before("task ends", "main 2 begins")
	}},
	{"siblings that call back do not overlap", func(w *World) {
		w.On("Main.main", func(s *Scene) runtime.Result {
			x, y := s.Fork("Task/x", "task", "x"), s.Fork("Task/y", "task", "y")
			return value(x() + y())
		})
		w.On("Task.task", func(s *Scene) runtime.Result { return value(s.Call("Main/m", "back", s.arg)) })
		w.On("Main.back", func(s *Scene) runtime.Result {
			s.Say("in")
			s.Say("out")
			return value(s.arg)
		})
		n := w.Node()
		if got := n.Ask("Main/m", "main", ""); got != "xy" {
			w.Errorf("got %q", got)
		}
		w.Expect("in", "out", "in", "out")
	}},
	{"tail-self keeps the lock, through a crash", func(w *World) {
		tailSelf(w, false)
		n := w.Node()
		p := n.Start("A/a", "first", "")
		w.Hear("at second")
		n.Tell("A/a", "competitor", "")
		w.Crash()
		n = w.Node()
		w.Open("second")
		if got := w.Wait(n.Attach(p.ID())); got != "second" {
			w.Errorf("got %q", got)
		}
		w.Hear("competitor")
		w.Times("first", 1)
		w.Before("second ends", "competitor")
	}},
	{"tail-self that releases the lock lets others in", func(w *World) {
		tailSelf(w, true)
		n := w.Node()
		p := n.Start("A/a", "first", "")
		w.Hear("at first")
		n.Tell("A/a", "competitor", "")
		w.Open("first")
		w.Hear("competitor")
		w.Open("second")
		w.Wait(p)
		w.Before("competitor", "second ends")
	}},
	{"tail-other releases the lock and moves on, each step once", func(w *World) {
		w.On("A.go", func(s *Scene) runtime.Result {
			s.Say("a")
			return tail("B/b", "go", s.arg)
		})
		w.On("B.go", func(s *Scene) runtime.Result {
			s.Say("b %d", s.inv.Attempt())
			if s.inv.Attempt() == 1 {
				s.Pass("b")
			}
			return tail("A/a", "back", s.arg)
		})
		w.On("A.back", func(s *Scene) runtime.Result {
			s.Say("back step %d", s.inv.Step())
			return value("end of " + s.arg)
		})
		n := w.Node()
		p := n.Start("A/a", "go", "chain")
		w.Hear("at b")
		w.Crash()
		n = w.Node()
		if got := w.Wait(n.Attach(p.ID())); got != "end of chain" {
			w.Errorf("got %q", got)
		}
		w.Times("a", 1)
		w.Times("back step 3", 1)
	}},
	{"a chain of tail calls returns to the caller of the first", func(w *World) {
		w.On("Main.main", func(s *Scene) runtime.Result { return value("got " + s.Call("A/a", "go", "")) })
		w.On("A.go", func(*Scene) runtime.Result { return tail("B/b", "go", "") })
		w.On("B.go", func(*Scene) runtime.Result { return tail("Main/m", "back", "") }) // an ancestor's actor
		w.On("Main.back", func(*Scene) runtime.Result { return value("end") })
		n := w.Node()
		if got := n.Ask("Main/m", "main", ""); got != "got end" {
			w.Errorf("got %q", got)
		}
	}},
	{"a method with a call out is held at its end", func(w *World) {
		w.On("A.go", func(s *Scene) runtime.Result {
			s.Fork("B/b", "slow", "")
			s.Say("a returns")
			return value("a")
		})
		w.On("B.slow", func(s *Scene) runtime.Result {
			s.Pass("slow")
			s.Say("b ends")
			return value("")
		})
		w.On("A.next", func(s *Scene) runtime.Result { s.Say("next"); return value("") })
		n := w.Node()
		p := n.Start("A/a", "go", "")
		w.Hear("a returns", "at slow")
		n.Tell("A/a", "next", "")
		w.Open("slow")
		w.Wait(p)
		w.Hear("next")
		w.Before("b ends", "next")
	}},
	{"deadlock of two is answered", func(w *World) {
		w.On("A.go", func(s *Scene) runtime.Result {
			s.Pass("both")
			return value("a:" + s.Call("B/b", "peek", ""))
		})
		w.On("B.go", func(s *Scene) runtime.Result {
			s.Pass("both")
			return value("b:" + s.Call("A/a", "peek", ""))
		})
		peek := func(*Scene) runtime.Result { return value("peeked") }
		w.On("A.peek", peek)
		w.On("B.peek", peek)
		n := w.Node()
		p, q := n.Start("A/a", "go", ""), n.Start("B/b", "go", "")
		w.Hear("at both", "at both")
		w.Open("both")
		got := w.Wait(p) + " " + w.Wait(q)
		if got != "a:!deadlock b:peeked" && got != "a:peeked b:!deadlock" {
			w.Errorf("got %q", got)
		}
	}},
	{"deadlock of three is answered", func(w *World) {
		next := map[string]string{"A": "B/x", "B": "C/x", "C": "A/x"}
		for kind := range next {
			w.On(kind+".go", func(s *Scene) runtime.Result {
				s.Pass("all")
				return value(s.Call(next[kind], "peek", ""))
			})
			w.On(kind+".peek", func(*Scene) runtime.Result { return value("ok") })
		}
		n := w.Node()
		var ps []*runtime.Pending
		for kind := range next {
			ps = append(ps, n.Start(kind+"/x", "go", ""))
		}
		w.Hear("at all", "at all", "at all")
		w.Open("all")
		dead := 0
		for _, p := range ps {
			if w.Wait(p) == "!deadlock" {
				dead++
			}
		}
		if dead != 1 {
			w.Errorf("%d of the three were answered deadlock, not 1", dead)
		}
	}},
	{"a detached call to a locked ancestor is a deadlock", func(w *World) {
		w.On("A.go", func(s *Scene) runtime.Result {
			c := parse("A/a", "peek", "")
			c.Detached = true
			return value(s.call(c))
		})
		w.On("A.peek", func(*Scene) runtime.Result { return value("ok") })
		n := w.Node()
		if got := n.Ask("A/a", "go", ""); got != "!deadlock" {
			w.Errorf("got %q", got)
		}
	}},
	{"nobody hosts the type", func(w *World) {
		w.options.MissingTimeout = 30 * time.Millisecond
		w.On("A.go", func(s *Scene) runtime.Result { return value(s.Call("Ghost/g", "go", "")) })
		n := w.Node()
		if got := n.Ask("A/a", "go", ""); got != "!"+string(engine.ErrNoHost) {
			w.Errorf("got %q", got)
		}
	}},
	{"nobody hosts the type any more: what never began ends, all else waits", func(w *World) {
		w.options.MissingTimeout = 30 * time.Millisecond
		w.On("A.go", func(s *Scene) runtime.Result {
			if s.inv.Attempt() == 1 && !s.Pass(s.arg) {
				return value("zombie")
			}
			s.Say("%s ends", s.arg)
			return value(s.arg)
		})
		w.On("B.tail", func(s *Scene) runtime.Result {
			s.Pass("tail")
			return tail("A/tailed", "go", "tailed")
		})
		w.On("B.nest", func(s *Scene) runtime.Result { return value(s.Call("A/nested", "go", "nested")) })
		client, a := w.Node("B"), w.Node("A")
		called, nesting := client.Start("A/called", "go", "called"), client.Start("B/n", "nest", "")
		client.Tell("A/told", "go", "told")
		tailing := client.Start("B/t", "tail", "")
		w.Hear("at called", "at nested", "at told", "at tail")
		if err := client.Remind(w.ctx, engine.ReminderChange{Reminder: engine.Reminder{
			Actor: engine.Actor{Type: "A", ID: "called"}, Name: "r", Method: "go", Payload: []byte("reminded"), Due: time.Now(),
		}}); err != nil {
			w.Fatal(err)
		}
		behind := client.Start("A/called", "go", "behind")
		a.Kill()
		if got := w.Wait(behind); got != "!"+string(engine.ErrNoHost) {
			w.Errorf("behind what began: %q", got)
		}
		w.Open("tail")
		w.Open("tailed")
		w.Open("reminded")
		if got := client.Ask("A/new", "go", ""); got != "!"+string(engine.ErrNoHost) {
			w.Errorf("asked for when nobody hosts it: %q", got)
		}
		w.Node("A")
		for p, want := range map[*runtime.Pending]string{called: "called", nesting: "nested", tailing: "tailed"} {
			if got := w.Wait(p); got != want {
				w.Errorf("what began: %q, not %q", got, want)
			}
		}
		w.Hear("told ends", "reminded ends")
	}},
}

// callback is the paper's main, task and callback, with a competitor.
func callback(w *World) {
	w.On("Main.main", func(s *Scene) runtime.Result {
		s.Say("main %d begins", s.inv.Attempt())
		got := s.Call("Task/t", "task", "")
		s.Say("main %d ends", s.inv.Attempt())
		return value(got)
	})
	w.On("Task.task", func(s *Scene) runtime.Result {
		got := s.Call("Main/m", "callback", "")
		s.Say("task ends")
		return value(got)
	})
	w.On("Main.callback", func(s *Scene) runtime.Result {
		s.Pass("callback")
		s.Say("callback ends")
		return value("called back")
	})
	w.On("Main.competitor", func(s *Scene) runtime.Result {
		s.Say("competitor")
		return value("")
	})
}

func tailSelf(w *World, releases bool) {
	w.On("A.first", func(s *Scene) runtime.Result {
		s.Say("first")
		if releases {
			s.Pass("first")
			return release(tail("A/a", "second", ""))
		}
		return tail("A/a", "second", "")
	})
	w.On("A.second", func(s *Scene) runtime.Result {
		s.Pass("second")
		s.Say("second ends")
		return value("second")
	})
	w.On("A.competitor", func(s *Scene) runtime.Result {
		s.Say("competitor")
		return value("")
	})
}
