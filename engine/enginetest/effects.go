package enginetest

import (
	"time"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/internal/runtime"
)

// counterScripts: add is the durable counter; each way of ending is an argument.
func counterScripts(w *World) {
	w.On("C.add", func(s *Scene) runtime.Result {
		s.Set("n", s.Get("n")+"1")
		switch s.arg {
		case "fail":
			return failure("no")
		case "panic":
			panic("no")
		case "retry":
			if s.inv.Attempt() == 1 {
				return retry(0)
			}
		case "stop":
			if s.inv.Attempt() == 1 {
				s.Pass("stop")
			}
		}
		return value(s.Get("n"))
	})
	w.On("C.get", func(s *Scene) runtime.Result { return value(s.Get("n")) })
}

var effects = []test{
	{"state commits with the outcome, over a crash", func(w *World) {
		counterScripts(w)
		n := w.Node()
		n.Ask("C/c", "add", "")
		p := n.Start("C/c", "add", "stop")
		w.Hear("at stop")
		w.Crash()
		n = w.Node()
		if got := w.Wait(n.Attach(p.ID())); got != "11" {
			w.Errorf("got %q", got)
		}
		if got := n.Ask("C/c", "get", ""); got != "11" {
			w.Errorf("state is %q", got)
		}
	}},
	{"an error, a panic and a retry discard the writes", func(w *World) {
		counterScripts(w)
		n := w.Node()
		for arg, want := range map[string]string{"fail": "!no", "panic": "!no"} {
			if got := n.Ask("C/"+arg, "add", arg); got != want {
				w.Errorf("%s: got %q", arg, got)
			}
			if got := n.Ask("C/"+arg, "get", ""); got != "" {
				w.Errorf("%s: state is %q", arg, got)
			}
		}
		if got := n.Ask("C/r", "add", "retry"); got != "1" {
			w.Errorf("retry: got %q", got)
		}
	}},
	{"state and control move together in a tail call", func(w *World) {
		w.On("A.take", func(s *Scene) runtime.Result {
			s.Set("n", s.Get("n")+"-")
			return tail("B/b", "give", "")
		})
		w.On("B.give", func(s *Scene) runtime.Result {
			if s.inv.Attempt() == 1 {
				s.Pass("give")
			}
			s.Set("n", s.Get("n")+"+")
			return value(s.Get("n"))
		})
		w.On("A.get", func(s *Scene) runtime.Result { return value(s.Get("n")) })
		n := w.Node()
		p := n.Start("A/a", "take", "")
		w.Hear("at give")
		w.Crash()
		n = w.Node()
		if got := w.Wait(n.Attach(p.ID())) + n.Ask("A/a", "get", ""); got != "+-" {
			w.Errorf("got %q", got)
		}
	}},
	{"flush at re-entry: the callback sees what was written before, and it stays", func(w *World) {
		w.On("M.main", func(s *Scene) runtime.Result {
			if s.inv.Attempt() == 1 {
				s.Set("n", "outer")
			}
			return value(s.Call("T/t", "task", ""))
		})
		w.On("T.task", func(s *Scene) runtime.Result { return value(s.Call("M/m", "back", "")) })
		w.On("M.back", func(s *Scene) runtime.Result {
			if s.inv.Attempt() == 1 {
				s.Pass("back")
			}
			return value(s.Get("n"))
		})
		n := w.Node()
		p := n.Start("M/m", "main", "")
		w.Hear("at back")
		w.Crash()
		w.Open("back")
		n = w.Node()
		if got := w.Wait(n.Attach(p.ID())); got != "outer" {
			w.Errorf("got %q", got)
		}
	}},
	{"Sync records the writes so far", func(w *World) {
		w.On("C.go", func(s *Scene) runtime.Result {
			if s.inv.Attempt() == 1 {
				s.Set("n", "synced")
				s.Sync()
				s.Set("n", "lost")
				s.Pass("go")
			}
			return value(s.Get("n"))
		})
		n := w.Node()
		p := n.Start("C/c", "go", "")
		w.Hear("at go")
		w.Crash()
		n = w.Node()
		if got := w.Wait(n.Attach(p.ID())); got != "synced" {
			w.Errorf("got %q", got)
		}
	}},
	{"tells at the end of a method: none doubled by a retry, none of a failed attempt", func(w *World) {
		w.On("A.go", func(s *Scene) runtime.Result {
			s.Tell("B/b", "note", "x")
			if s.inv.Attempt() == 1 {
				s.Pass("go")
			}
			if s.arg == "fail" {
				return failure("no")
			}
			return value("")
		})
		w.On("B.note", func(s *Scene) runtime.Result {
			s.Say("note %s", s.arg)
			return value("")
		})
		n := w.Node()
		p := n.Start("A/a", "go", "")
		w.Hear("at go")
		w.Crash()
		n = w.Node()
		w.Wait(n.Attach(p.ID()))
		w.Open("go")
		if got := n.Ask("A/f", "go", "fail"); got != "!no" {
			w.Errorf("got %q", got)
		}
		n.Ask("B/b", "note", "last")
		w.Times("note x", 1)
	}},
	{"tells leave in program order ahead of the next call; WithOutcome waits", func(w *World) {
		w.On("A.go", func(s *Scene) runtime.Result {
			s.Tell("B/b", "note", "last", func(c *runtime.Call) { c.WithOutcome = true })
			s.Tell("B/b", "note", "1")
			s.Tell("B/b", "note", "2")
			s.Call("B/b", "note", "3")
			s.Tell("B/b", "note", "4", func(c *runtime.Call) { c.Immediately = true })
			s.Tell("B/b", "note", "5")
			return value("")
		})
		w.On("B.note", func(s *Scene) runtime.Result {
			s.Say("%s", s.arg)
			return value("")
		})
		n := w.Node()
		n.Ask("A/a", "go", "")
		w.Hear("last")
		w.Expect("1", "2", "3", "4", "5", "last")
	}},
	{"a tell sent immediately, and what was held before it, does not wait for the outcome, and is sent again by a retry", func(w *World) {
		w.On("A.go", func(s *Scene) runtime.Result {
			s.Tell("B/b", "note", "with the outcome", func(c *runtime.Call) { c.WithOutcome = true })
			s.Tell("B/b", "note", "held")
			s.Tell("B/b", "note", "now", func(c *runtime.Call) { c.Immediately = true })
			s.Tell("B/b", "note", "at the end")
			if s.inv.Attempt() == 1 {
				s.Pass("gate")
				return retry(0)
			}
			return value("")
		})
		w.On("B.note", func(s *Scene) runtime.Result {
			s.Say("%s", s.arg)
			return value("")
		})
		n := w.Node()
		p := n.Start("A/a", "go", "")
		w.Hear("now") // while A.go runs
		w.Open("gate")
		w.Wait(p)
		w.Hear("with the outcome")
		w.Times("held", 2)
		w.Times("now", 2)
		w.Before("held", "now")
		w.Times("at the end", 1)
		w.Times("with the outcome", 1)
		w.Before("at the end", "with the outcome")
	}},
	{"a delayed tell comes in its time, over a crash", func(w *World) {
		w.On("B.note", func(s *Scene) runtime.Result {
			s.Say("%s", s.arg)
			return value("")
		})
		n := w.Node()
		c := parse("B/b", "note", "late")
		c.NotBefore = time.Now().Add(time.Second)
		if _, err := n.Component.Tell(w.ctx, c); err != nil {
			w.Fatal(err)
		}
		n.Ask("B/b", "note", "early")
		w.Crash()
		w.Node()
		w.Hear("late")
		w.Expect("early", "late")
		if time.Now().Before(c.NotBefore) {
			w.Errorf("it came early")
		}
	}},
	{"fence tokens rise with every placement and epoch", func(w *World) {
		tokens := make(chan uint64, 3)
		w.On("A.go", func(s *Scene) runtime.Result {
			tokens <- s.inv.Token()
			return value("")
		})
		client, a := w.Node("None"), w.Node("A")
		client.Ask("A/a", "go", "")
		a.Kill()
		w.Node("A")
		client.Ask("A/a", "go", "")
		w.Crash()
		w.Node().Ask("A/a", "go", "")
		one, two, three := <-tokens, <-tokens, <-tokens
		if one >= two || two >= three {
			w.Errorf("tokens %d, %d, %d do not rise", one, two, three)
		}
	}},
	{"an instance that was moved is not used again", func(w *World) {
		counterScripts(w)
		client, a := w.Node("None"), w.Node("C")
		client.Ask("C/c", "add", "")
		a.Kill()
		b := w.Node("C")
		client.Ask("C/c", "add", "")
		b.Kill()
		w.Node("C")
		if got := client.Ask("C/c", "add", ""); got != "111" {
			w.Errorf("got %q", got)
		}
	}},
	{"members come and go", func(w *World) {
		counterScripts(w)
		a := w.Node("C")
		b := w.Node("None")
		if got := len(b.Session().Members()); got != 2 {
			w.Errorf("%d members, not 2", got)
		}
		if err := a.Close(w.ctx); err != nil {
			w.Error(err)
		}
		if got := len(b.Session().Members()); got != 1 {
			w.Errorf("%d members, not 1", got)
		}
		if _, err := a.Call(w.ctx, parse("C/c", "get", "")); engine.CodeOf(err) != engine.ErrFenced {
			w.Errorf("a call by who has left: %v", err)
		}
	}},
}
