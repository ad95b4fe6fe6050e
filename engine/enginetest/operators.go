package enginetest

import (
	"errors"
	"slices"
	"time"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/internal/runtime"
)

var retries = []test{
	{"an invocation that kills its process is parked, its caller told, then resumed", func(w *World) {
		w.Type("A", runtime.Type{MaxAttempts: 2})
		w.On("A.poison", func(s *Scene) runtime.Result {
			s.Say("attempt %d", s.inv.Attempt())
			s.Pass("poison")
			return value("cured")
		})
		w.On("M.main", func(s *Scene) runtime.Result { return value(s.Call("A/a", "poison", "")) })
		client := w.Node("M")
		p := client.Start("M/m", "main", "")
		for range 2 {
			a := w.Node("A")
			w.Hear("at poison")
			w.hush()
			a.Kill()
		}
		w.Node("A")
		if got := w.Wait(p); got != "!parked" {
			w.Errorf("got %q", got)
		}
		op := client.Session().Operator()
		var id engine.ID
		for info, err := range op.Invocations(w.ctx, engine.Query{Status: engine.StatusParked}) {
			if err != nil {
				w.Fatal(err)
			}
			id = info.Request.ID
		}
		w.Open("poison")
		q := client.Attach(id)
		_ = q // a parked invocation answers with ErrParked
		if err := op.Resume(w.ctx, id); err != nil {
			w.Fatal(err)
		}
		w.Hear("at poison")
		w.Until(func() bool {
			info, err := op.Invocation(w.ctx, id)
			return err == nil && info.Status == engine.StatusDone
		})
	}},
	{"a parked step that was entered in place keeps its actor", func(w *World) {
		w.Type("A", runtime.Type{MaxAttempts: 1})
		w.On("A.first", func(*Scene) runtime.Result { return tail("A/a", "second", "") })
		w.On("A.second", func(s *Scene) runtime.Result {
			s.Pass("second")
			s.Say("second ends")
			return value("")
		})
		w.On("A.next", func(s *Scene) runtime.Result { s.Say("next"); return value("") })
		client, a := w.Node("None"), w.Node("A")
		id := client.Tell("A/a", "first", "")
		w.Hear("at second")
		next := client.Start("A/a", "next", "")
		a.Kill()
		w.Node("A")
		op := client.Session().Operator()
		w.Until(func() bool {
			info, err := op.Invocation(w.ctx, id)
			return err == nil && info.Status == engine.StatusParked
		})
		w.Open("second")
		w.hush()
		if err := op.Resume(w.ctx, id); err != nil {
			w.Fatal(err)
		}
		w.Wait(next)
		w.Expect("at second", "second ends", "next")
	}},
	{"attempts are counted over crashes", func(w *World) {
		w.On("A.go", func(s *Scene) runtime.Result {
			s.Say("attempt %d", s.inv.Attempt())
			if s.inv.Attempt() < 3 {
				s.Pass("go")
			}
			return value("")
		})
		p := w.Node().Start("A/a", "go", "")
		w.Hear("attempt 1")
		w.Crash()
		w.Node()
		w.Hear("attempt 2")
		w.Crash()
		w.Wait(w.Node().Attach(p.ID()))
		w.Hear("attempt 3")
	}},
	{"RetryAfter keeps the lock", func(w *World) {
		w.On("A.go", func(s *Scene) runtime.Result {
			s.Say("go %d", s.inv.Attempt())
			if s.inv.Attempt() == 1 {
				s.Pass("go")
				return retry(20 * time.Millisecond)
			}
			return value("")
		})
		w.On("A.next", func(s *Scene) runtime.Result { s.Say("next"); return value("") })
		n := w.Node()
		n.Tell("A/a", "go", "")
		w.Hear("at go")
		n.Tell("A/a", "next", "")
		w.Open("go")
		w.Hear("next")
		w.Expect("go 1", "at go", "go 2", "next")
	}},
	{"PassWhileRetrying, again at once", func(w *World) {
		w.Type("A", runtime.Type{PassWhileRetrying: true})
		w.On("A.m", func(s *Scene) runtime.Result {
			s.Say("attempt %d", s.inv.Attempt())
			if s.inv.Attempt() < 4 {
				return retry(0)
			}
			return value("done")
		})
		if got := w.Node().Ask("A/a", "m", ""); got != "done" {
			w.Errorf("got %q", got)
		}
		w.Expect("attempt 1", "attempt 2", "attempt 3", "attempt 4")
	}},
	{"PassWhileRetrying lets others in", func(w *World) {
		w.Type("A", runtime.Type{PassWhileRetrying: true})
		w.On("A.go", func(s *Scene) runtime.Result {
			s.Say("go %d", s.inv.Attempt())
			if s.inv.Attempt() == 1 {
				s.Pass("go")
				return retry(20 * time.Millisecond)
			}
			return value("went")
		})
		w.On("A.next", func(s *Scene) runtime.Result { s.Say("next"); return value("") })
		n := w.Node()
		p := n.Start("A/a", "go", "")
		w.Hear("at go")
		n.Tell("A/a", "next", "")
		w.Open("go")
		if got := w.Wait(p); got != "went" {
			w.Errorf("got %q", got)
		}
		w.Expect("go 1", "at go", "next", "go 2")
	}},
	{"PassWhileRetrying keeps the lock over a step entered in place", func(w *World) {
		w.Type("A", runtime.Type{PassWhileRetrying: true})
		w.On("A.first", func(*Scene) runtime.Result { return tail("A/a", "second", "") })
		w.On("A.second", func(s *Scene) runtime.Result {
			s.Say("second %d", s.inv.Attempt())
			if s.inv.Attempt() == 1 {
				s.Pass("second")
				return retry(20 * time.Millisecond)
			}
			return value("went")
		})
		w.On("A.next", func(s *Scene) runtime.Result { s.Say("next"); return value("") })
		n := w.Node()
		p := n.Start("A/a", "first", "")
		w.Hear("at second")
		next := n.Start("A/a", "next", "")
		w.Open("second")
		if got := w.Wait(p); got != "went" {
			w.Errorf("got %q", got)
		}
		w.Wait(next)
		w.Expect("second 1", "at second", "second 2", "next")
	}},
	{"PassWhileRetrying, and a failure: no attempt has the number of another", func(w *World) {
		w.Type("A", runtime.Type{PassWhileRetrying: true})
		w.On("A.go", func(s *Scene) runtime.Result {
			s.Say("go %d", s.inv.Attempt())
			if s.inv.Attempt() == 1 {
				s.Pass("go")
				return retry(0)
			}
			return value("went")
		})
		w.On("A.next", func(s *Scene) runtime.Result {
			s.Say("next %d", s.inv.Attempt())
			s.Pass("next")
			return value("")
		})
		client, n := w.Node("None"), w.Node("A")
		p := client.Start("A/a", "go", "")
		w.Hear("at go")
		client.Tell("A/a", "next", "")
		w.Open("go")
		w.Hear("at next")
		n.Kill()
		w.Open("next")
		w.Node("A")
		if got := w.Wait(p); got != "went" {
			w.Errorf("got %q", got)
		}
		w.Before("next 2", "go 2")
		w.Times("go 1", 1)
		w.Times("go 2", 1)
	}},
	{"an unknown method: an error from outside, parked for all else", func(w *World) {
		counterScripts(w)
		w.On("A.go", func(s *Scene) runtime.Result { return value(s.Call("C/c", "nope", "")) })
		n := w.Node()
		if got := n.Ask("C/c", "nope", ""); got != "!no_method" {
			w.Errorf("from outside: %q", got)
		}
		if got := n.Ask("A/a", "go", ""); got != "!parked" {
			w.Errorf("from a method: %q", got)
		}
		if got := n.Ask("C/c", "add", ""); got != "1" {
			w.Errorf("the actor is held up: %q", got)
		}
	}},
}

// hush forgets what was said.
func (w *World) hush() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.said = nil
}

// Until waits for a state of the engine that no event tells of.
func (w *World) Until(ok func() bool) {
	w.Helper()
	deadline := time.Now().Add(patience)
	for !ok() {
		if time.Now().After(deadline) {
			w.Fatalf("it never came to that; heard: %s", w.Heard())
		}
		time.Sleep(time.Millisecond)
	}
}

var operators = []test{
	{"cancel what has not begun, and its caller goes on", func(w *World) {
		w.On("A.hold", func(s *Scene) runtime.Result { s.Pass("hold"); return value("") })
		w.On("A.next", func(s *Scene) runtime.Result { s.Say("next"); return value("") })
		n := w.Node()
		n.Tell("A/a", "hold", "")
		w.Hear("at hold")
		p := n.Start("A/a", "next", "")
		if err := n.Session().Operator().Cancel(w.ctx, p.ID(), "not wanted", false); err != nil {
			w.Fatal(err)
		}
		if got := w.Wait(p); got != "!canceled" {
			w.Errorf("got %q", got)
		}
		w.Open("hold")
		w.Times("next", 0)
	}},
	{"cancel what runs: when its code has returned, its writes discarded", func(w *World) {
		counterScripts(w)
		n := w.Node()
		p := n.Start("C/c", "add", "stop")
		w.Hear("at stop")
		done := make(chan error, 1)
		go func() { done <- n.Session().Operator().Cancel(w.ctx, p.ID(), "", false) }()
		w.Until(func() bool {
			info, err := n.Session().Operator().Invocation(w.ctx, p.ID())
			return err == nil && info.Status != engine.StatusPending
		})
		if err := <-done; err != nil {
			w.Fatal(err)
		}
		w.Open("stop")
		if got := w.Wait(p); got != "!canceled" {
			w.Errorf("got %q", got)
		}
		if got := n.Ask("C/c", "get", ""); got != "" {
			w.Errorf("state is %q", got)
		}
	}},
	{"the first decision about what runs stands", func(w *World) {
		w.On("A.hold", func(s *Scene) runtime.Result { s.Pass("hold"); return value("held") })
		n := w.Node()
		p := n.Start("A/a", "hold", "")
		w.Hear("at hold")
		op := n.Session().Operator()
		if err := op.Answer(w.ctx, p.ID(), &engine.Outcome{Value: []byte("by hand")}); err != nil {
			w.Fatal(err)
		}
		if err := op.Answer(w.ctx, p.ID(), &engine.Outcome{Value: []byte("again")}); !errors.Is(err, engine.ErrNotFound) {
			w.Errorf("a second answer: %v", err)
		}
		if err := op.Cancel(w.ctx, p.ID(), "", false); err != nil {
			w.Errorf("a cancel of what ends already: %v", err)
		}
		w.Open("hold")
		if got := w.Wait(p); got != "by hand" {
			w.Errorf("got %q", got)
		}
	}},
	{"cancel goes down to what has never begun, though who called it runs", func(w *World) {
		w.On("A.hold", func(s *Scene) runtime.Result { s.Pass("hold"); return value("") })
		w.On("A.leaf", func(s *Scene) runtime.Result { s.Say("leaf"); return value("") })
		w.On("B.middle", func(s *Scene) runtime.Result { return value("got " + s.Call("A/a", "leaf", "")) })
		w.On("M.main", func(s *Scene) runtime.Result { return value(s.Call("B/b", "middle", "")) })
		n := w.Node()
		n.Tell("A/a", "hold", "")
		w.Hear("at hold")
		p := n.Start("M/m", "main", "")
		op := n.Session().Operator()
		w.Until(func() bool {
			st, err := op.Stats(w.ctx)
			return err == nil && st.Pending == 4
		})
		if err := op.Cancel(w.ctx, p.ID(), "", false); err != nil {
			w.Fatal(err)
		}
		if got := w.Wait(p); got != "!canceled" {
			w.Errorf("got %q", got)
		}
		w.Open("hold")
		w.Times("leaf", 0)
	}},
	{"cancel by force: answered at once, the lock kept until the code returns", func(w *World) {
		deaf := make(chan struct{})
		w.On("A.hold", func(s *Scene) runtime.Result { s.Say("at hold"); <-deaf; s.Say("held"); return value("") })
		w.On("A.next", func(s *Scene) runtime.Result { s.Say("next"); return value("") })
		n := w.Node()
		p := n.Start("A/a", "hold", "")
		w.Hear("at hold")
		n.Tell("A/a", "next", "")
		if err := n.Session().Operator().Cancel(w.ctx, p.ID(), "", true); err != nil {
			w.Fatal(err)
		}
		if got := w.Wait(p); got != "!canceled" {
			w.Errorf("got %q", got)
		}
		w.Times("next", 0)
		close(deaf)
		w.Hear("next")
		w.Expect("at hold", "held", "next")
	}},
	{"cancel by force ends the context, of what is nested too", func(w *World) {
		w.On("A.hold", func(s *Scene) runtime.Result {
			if s.Pass("hold") {
				s.Say("the context has not ended")
			}
			s.Set("x", "held")
			return value("")
		})
		w.On("A.get", func(s *Scene) runtime.Result { return value(s.Get("x")) })
		w.On("B.middle", func(s *Scene) runtime.Result {
			s.Say("middle got %s", s.Call("A/a", "hold", ""))
			return value("")
		})
		w.On("M.main", func(s *Scene) runtime.Result { return value("main got " + s.Call("B/b", "middle", "")) })
		n := w.Node()
		p := n.Start("M/m", "main", "")
		w.Hear("at hold")
		var middle engine.ID
		for in, err := range n.Session().Operator().Invocations(w.ctx, engine.Query{}) {
			if err != nil {
				w.Fatal(err)
			}
			if in.Request.Method == "middle" {
				middle = in.Request.ID
			}
		}
		if err := n.Session().Operator().Cancel(w.ctx, middle, "", true); err != nil {
			w.Fatal(err)
		}
		if got := w.Wait(p); got != "main got !canceled" {
			w.Errorf("got %q", got)
		}
		w.Times("the context has not ended", 0)
		if got := n.Ask("A/a", "get", ""); got != "" {
			w.Errorf("what was cancelled by force has written %q", got)
		}
	}},
	{"answer", func(w *World) {
		w.On("A.hold", func(s *Scene) runtime.Result { s.Pass("hold"); return value("") })
		w.On("M.main", func(s *Scene) runtime.Result { return value("got " + s.Call("A/a", "hold", "")) })
		n := w.Node()
		n.Tell("A/a", "hold", "")
		w.Hear("at hold")
		p := n.Start("A/a", "hold", "")
		if err := n.Session().Operator().Answer(w.ctx, p.ID(), &engine.Outcome{Value: []byte("by hand")}); err != nil {
			w.Fatal(err)
		}
		if got := w.Wait(p); got != "by hand" {
			w.Errorf("got %q", got)
		}
		w.Open("hold")
	}},
	{"pause holds begins back, over a crash", func(w *World) {
		counterScripts(w)
		a := engine.Actor{Type: "C", ID: "c"}
		n := w.Node()
		if err := n.Session().Operator().Pause(w.ctx, a); err != nil {
			w.Fatal(err)
		}
		p := n.Start("C/c", "add", "stop")
		w.Crash()
		n = w.Node()
		n.Ask("C/other", "get", "")
		w.Times("at stop", 0)
		w.Open("stop")
		if err := n.Session().Operator().Unpause(w.ctx, a); err != nil {
			w.Fatal(err)
		}
		if got := w.Wait(n.Attach(p.ID())); got != "1" {
			w.Errorf("got %q", got)
		}
	}},
	{"a tell that ends with an error is kept as failed and can be run again", func(w *World) {
		w.On("A.go", func(s *Scene) runtime.Result {
			s.mu.Lock()
			fixed := s.opened["fixed"]
			s.mu.Unlock()
			if !fixed {
				return failure("broken")
			}
			s.Say("went")
			return value("")
		})
		n := w.Node()
		id := n.Tell("A/a", "go", "")
		op := n.Session().Operator()
		w.Until(func() bool {
			info, err := op.Invocation(w.ctx, id)
			return err == nil && info.Status == engine.StatusFailed
		})
		w.Crash()
		n = w.Node()
		w.Open("fixed")
		if err := n.Session().Operator().Resume(w.ctx, id); err != nil {
			w.Fatal(err)
		}
		w.Hear("went")
	}},
	{"a failed tell is kept although somebody watches", func(w *World) {
		w.On("A.go", func(s *Scene) runtime.Result { s.Pass("go"); return failure("broken") })
		n := w.Node()
		id := n.Tell("A/a", "go", "")
		w.Hear("at go")
		watch := n.Attach(id)
		w.Open("go")
		if got := w.Wait(watch); got != "!broken" {
			w.Errorf("got %q", got)
		}
		info, err := n.Session().Operator().Invocation(w.ctx, id)
		if err != nil || info.Status != engine.StatusFailed {
			w.Errorf("it is %s, %v", info.Status, err)
		}
	}},
	{"a write drops the instance, also one of nothing", func(w *World) {
		var seen []*instance
		w.On("C.see", func(s *Scene) runtime.Result { seen = append(seen, s.inst); return value("") })
		n := w.Node()
		for range 2 {
			n.Ask("C/c", "see", "")
		}
		if err := n.Session().Operator().Write(w.ctx, engine.Actor{Type: "C", ID: "c"}, nil); err != nil {
			w.Fatal(err)
		}
		n.Ask("C/c", "see", "")
		if seen[0] != seen[1] || seen[2] == seen[0] {
			w.Errorf("%p, %p, and after the write %p", seen[0], seen[1], seen[2])
		}
	}},
	{"purge and write change state from outside", func(w *World) {
		counterScripts(w)
		a := engine.Actor{Type: "C", ID: "c"}
		n := w.Node()
		n.Ask("C/c", "add", "")
		op := n.Session().Operator()
		err := op.Write(w.ctx, a, []engine.Write{{Key: engine.Key{Cell: "n"}, Value: []byte("7")}})
		if err != nil {
			w.Fatal(err)
		}
		if got := n.Ask("C/c", "add", ""); got != "71" {
			w.Errorf("after a write: %q", got)
		}
		if err := op.Purge(w.ctx, a); err != nil {
			w.Fatal(err)
		}
		if got := n.Ask("C/c", "get", ""); got != "" {
			w.Errorf("after a purge: %q", got)
		}
	}},
	{"the maps of an actor that have entries are listed", func(w *World) {
		counterScripts(w)
		a := engine.Actor{Type: "C", ID: "c"}
		op := w.Node().Session().Operator()
		entry := func(m, e string) engine.Key { return engine.Key{Cell: m, Entry: e, InMap: true} }
		for _, step := range []struct {
			writes []engine.Write
			want   []string
		}{
			{nil, nil},
			{[]engine.Write{{Key: engine.Key{Cell: "flat"}}, {Key: entry("b\x00", "")}, {Key: entry("b", "x")}, {Key: entry("b", "y")}, {Key: entry("", "x")}}, []string{"", "b", "b\x00"}},
			{[]engine.Write{{Op: engine.Delete, Key: entry("b", "x")}, {Op: engine.Delete, Key: entry("", "x")}}, []string{"b", "b\x00"}},
			{[]engine.Write{{Op: engine.Clear, Key: entry("b", "")}}, []string{"b\x00"}},
			{[]engine.Write{{Op: engine.Delete, Key: entry("b\x00", "")}, {Key: entry("flat", "x")}}, []string{"flat"}},
		} {
			if len(step.writes) > 0 {
				if err := op.Write(w.ctx, a, step.writes); err != nil {
					w.Fatal(err)
				}
			}
			if got, err := op.Maps(w.ctx, a); err != nil || !slices.Equal(got, step.want) {
				w.Errorf("after %v: %q, %v; want %q", step.writes, got, err, step.want)
			}
		}
	}},
	{"lists and shows, pending and done, newest first", func(w *World) {
		counterScripts(w)
		n := w.Node()
		done := n.Start("C/c", "add", "")
		w.Wait(done)
		running := n.Start("C/c", "add", "stop")
		w.Hear("at stop")
		waiting := n.Start("C/c", "get", "")
		want := map[engine.ID]engine.Status{
			done.ID(): engine.StatusDone, running.ID(): engine.StatusRunning, waiting.ID(): engine.StatusPending,
		}
		op := n.Session().Operator()
		for info, err := range op.Invocations(w.ctx, engine.Query{Type: "C"}) {
			if err != nil {
				w.Fatal(err)
			}
			if want[info.Request.ID] != info.Status {
				w.Errorf("%v is %s, not %s", info.Request.ID, info.Status, want[info.Request.ID])
			}
			delete(want, info.Request.ID)
		}
		if len(want) > 0 {
			w.Errorf("not listed: %v", want)
		}
		info, err := op.Invocation(w.ctx, done.ID())
		if err != nil || info.Status != engine.StatusDone || string(info.Outcome.Value) != "1" {
			w.Errorf("show: %+v, %v", info, err)
		}
		w.Open("stop")
	}},
}

var reminders = []test{
	{"once, with a period, removed, over a crash", func(w *World) {
		w.On("A.ring", func(s *Scene) runtime.Result { s.Say("%s", s.arg); return value("") })
		w.On("A.set", func(s *Scene) runtime.Result {
			ch := engine.ReminderChange{Reminder: engine.Reminder{
				Actor: s.inv.Self(), Name: s.arg, Method: "ring", Payload: []byte(s.arg),
				Due: time.Now().Add(time.Second),
			}}
			if s.arg == "often" {
				ch.Every = 20 * time.Millisecond
			}
			if err := s.inv.Remind(ch); err != nil {
				s.Say("remind: %v", err)
			}
			return value("")
		})
		w.On("A.stop", func(s *Scene) runtime.Result {
			_ = s.inv.Remind(engine.ReminderChange{Reminder: engine.Reminder{Actor: s.inv.Self(), Name: "often"}, Remove: true})
			return value("")
		})
		n := w.Node()
		n.Ask("A/a", "set", "one")
		n.Ask("A/a", "set", "often")
		w.Crash()
		n = w.Node()
		w.Hear("one", "often", "often", "often")
		n.Ask("A/a", "stop", "")
		rs, err := n.Session().Reminders(w.ctx, engine.Actor{Type: "A", ID: "a"})
		if err != nil || len(rs) != 0 {
			w.Errorf("left: %v, %v", rs, err)
		}
		w.Times("one", 1)
	}},
	{"a reminder set by a failed attempt is not", func(w *World) {
		w.On("A.set", func(s *Scene) runtime.Result {
			_ = s.inv.Remind(engine.ReminderChange{Reminder: engine.Reminder{
				Actor: s.inv.Self(), Name: "r", Method: "set", Due: time.Now(),
			}})
			return failure("no")
		})
		n := w.Node()
		n.Ask("A/a", "set", "")
		rs, err := n.Session().Reminders(w.ctx, engine.Actor{Type: "A", ID: "a"})
		if err != nil || len(rs) != 0 {
			w.Errorf("left: %v, %v", rs, err)
		}
	}},
}
