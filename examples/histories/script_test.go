package main

import (
	"context"
	"encoding/json"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/pawl-go/pawl/examples/histories/history"
	"github.com/pawl-go/pawl/examples/internal/crash"
)

// A script is a few operations in a fixed order, against a real process: the same
// for an actor that is right and for one that is not.
type script struct {
	t        *testing.T
	job      crash.Job
	process  *crash.Life
	door     *door
	recorder *history.Recorder
	kind     string
}

func newScript(t *testing.T, kind string) *script {
	s := &script{
		t: t, kind: kind, recorder: history.NewRecorder(),
		job: crash.Job{App: "histories", Dir: filepath.Join(t.TempDir(), "d"), Durability: "process"},
	}
	s.start()
	t.Cleanup(s.kill)
	return s
}

func (s *script) start() {
	s.t.Helper()
	var err error
	if s.process, err = crash.Start(context.WithoutCancel(s.t.Context()), s.job); err != nil {
		s.t.Fatal(err)
	}
	if e, ok := <-s.process.Events; !ok || e.Kind != "ready" {
		s.t.Fatalf("event %+v; want ready: %v", e, s.process.Wait())
	}
	s.door = newDoor(filepath.Join(s.job.Dir, "pawl.sock"))
}

func (s *script) kill() {
	s.door.close()
	if err := s.process.Kill(); err != nil {
		s.t.Error(err)
	}
	for range s.process.Events {
	}
	_ = s.process.Wait() // killed
}

// begin sends an operation and returns what waits for its answer.
func (s *script) begin(kind history.Kind, method string, input any) (end func()) {
	s.t.Helper()
	o := history.Operation{Key: s.kind, Kind: kind, Call: s.recorder.Now()}
	if n, ok := input.(int64); ok {
		o.Arg = n
	}
	a, err := s.door.call(s.t.Context(), s.kind, "x", method, "", input, true)
	if err != nil {
		s.t.Fatal(err)
	}
	return func() {
		s.t.Helper()
		for a.pending {
			if a, err = s.door.outcome(s.t.Context(), a.id); err != nil {
				s.t.Fatal(err)
			}
		}
		o.Return = s.recorder.Now()
		if err := tell(&o, a.value); err != nil {
			s.t.Fatal(err)
		}
		s.recorder.Operation(o)
	}
}

func (s *script) do(kind history.Kind, method string, input any) {
	s.t.Helper()
	s.begin(kind, method, input)()
}

// pause holds the actor's turn back, so that what is sent then waits in line.
func (s *script) pause(verb string) {
	s.t.Helper()
	if _, err := s.door.do(s.t.Context(), http.MethodPost, actorPath(s.kind, "x")+"/"+verb, nil, nil); err != nil {
		s.t.Fatal(err)
	}
}

func TestScripts(t *testing.T) {
	writeKillRead := func(s *script) {
		s.do(history.Write, "Write", int64(7))
		s.kill()
		s.start()
		s.do(history.Read, "Read", nil)
	}
	writeWriteRead := func(s *script) {
		s.do(history.Write, "Write", int64(7))
		s.do(history.Write, "Write", int64(8))
		s.do(history.Read, "Read", nil)
	}
	addBesideAdd := func(method string) func(*script) {
		return func(s *script) {
			s.pause("pause")
			one := s.begin(history.Add, method, int64(1))
			two := s.begin(history.Add, method, int64(1))
			s.pause("unpause")
			one()
			two()
		}
	}
	for _, c := range []struct {
		name, kind string
		play       func(*script)
		want       history.Result
	}{
		{"killed", "Register", writeKillRead, history.Linearizable},
		{"killed", "Forgetful", writeKillRead, history.Refuted},
		{"written twice", "Register", writeWriteRead, history.Linearizable},
		{"written twice", "Lagging", writeWriteRead, history.Refuted},
		{"two additions", "Counter", addBesideAdd("AddByTail"), history.Linearizable},
		{"two additions", "Losing", addBesideAdd("Add"), history.Refuted},
	} {
		t.Run(c.name+" "+c.kind, func(t *testing.T) {
			s := newScript(t, c.kind)
			c.play(s)
			h := s.recorder.History()
			v := history.Check(t.Context(), h, time.Minute)
			if len(v) == 1 && v[0].Result == c.want {
				return
			}
			text, err := json.Marshal(h.Operations)
			t.Errorf("%+v, want %s: %s %v", v, c.want, text, err)
		})
	}
}
