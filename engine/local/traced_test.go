package local_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/engine/enginetest"
	"github.com/pawl-go/pawl/engine/local/localtest"
	"github.com/pawl-go/pawl/engine/trace"
	"github.com/pawl-go/pawl/internal/runtime"
)

// everything lets a runtime do all that has an event of its own.
func everything(w *enginetest.World) {
	w.On("Main.main", func(s *enginetest.Scene) runtime.Result {
		inv := s.Inv()
		if inv.Attempt() == 1 {
			return enginetest.Retry(0)
		}
		s.Set("a", "1")
		s.Sync()
		if _, _, err := inv.Lookup(inv, engine.Key{Cell: "a"}); err != nil {
			s.Say("lookup: %v", err)
		}
		if _, err := inv.Scan(inv, "m", "", 10); err != nil {
			s.Say("scan: %v", err)
		}
		p, err := inv.Go(inv, enginetest.Call("Task/t", "task", ""))
		if err != nil {
			s.Say("go: %v", err)
			return enginetest.Value("")
		}
		ctx, cancel := context.WithCancel(inv)
		cancel()
		_, err = p.Wait(ctx)
		s.Say("left %s", engine.CodeOf(err))
		got := s.Call("Task/u", "quick", "")
		return enginetest.Value(got) // and joins task
	})
	w.On("Task.task", stops)
	w.On("Task.quick", func(*enginetest.Scene) runtime.Result { return enginetest.Value("q") })
	w.On("Zombie.run", stops)
	n, z := w.Node("Main", "Task"), w.Node("Zombie")
	p := n.Start("Main/m", "main", "")
	w.Hear("left pawl: outcome_unknown", "at task")
	n.Tell("Zombie/z", "run", "")
	w.Hear("at run")
	z.Kill() // the gate gives way, and what it returns is refused
	if err := n.Session().Operator().Pause(w.Context(), engine.Actor{Type: "Zombie", ID: "z"}); err != nil {
		w.Error(err)
	}
	w.Open("task")
	w.Wait(p)
}

// TestTracedByTheRuntime: all that the runtime does is in the trace.
func TestTracedByTheRuntime(t *testing.T) {
	var w *enginetest.World
	t.Run("run", func(t *testing.T) {
		w = enginetest.NewWorld(t, localtest.New("disk"))
		everything(w)
	})
	w.Allowed()
	seen := map[string]bool{}
	for _, e := range w.Trace() {
		name := string(e.Kind)
		switch {
		case e.Kind.Record():
			continue
		case e.Kind == trace.Refuse || e.Kind == trace.Release:
			name += " " + e.Op
		case e.Kind == trace.Wait && e.Callee == "":
			name = "join"
		case e.Kind == trace.Read:
			name += " " + strings.Join(slices.Collect(func(yield func(string) bool) {
				for _, c := range e.Cells {
					if !yield(c.Cell) {
						return
					}
				}
			}), ",")
		case e.Kind == trace.Begin && e.Fresh:
			name = "begin fresh"
		}
		seen[name] = true
	}
	for _, name := range []string{
		"open", "commit", "begin fresh", "load", "read a", "read ", "wait", "join", "return", "goon", "retry", "gone",
		"refuse finish", "release ack", "release answer", "release sync", "release operator",
	} {
		if !seen[name] {
			t.Errorf("nothing says %q:\n%s", name, lines(w.Trace()))
		}
	}
}

// TestTraceIsAskedForOnce: an engine has one trace; who opens it again without
// asking for one joins it.
func TestTraceIsAskedForOnce(t *testing.T) {
	url := "local:" + t.TempDir() + "/data?durability=process"
	open := func(parameters string, r trace.Recorder) (engine.Engine, error) {
		return engine.Open(t.Context(), url+parameters, engine.Options{App: "a", Trace: r})
	}
	m := &trace.Memory{}
	e, err := open("", m)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if trace.Of(e) != trace.Recorder(m) {
		t.Errorf("the engine records into %v", trace.Of(e))
	}
	for want, ask := range map[string]func() (engine.Engine, error){
		"another trace":    func() (engine.Engine, error) { return open("", &trace.Memory{}) },
		"or none":          func() (engine.Engine, error) { return open("&trace="+t.TempDir()+"/t", nil) },
		"asked for twice":  func() (engine.Engine, error) { return open("&trace=t", m) },
		"no file is named": func() (engine.Engine, error) { return open("&trace=", nil) },
	} {
		if _, err := ask(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want an error that says %q", err, want)
		}
	}
	again, err := open("", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
}
