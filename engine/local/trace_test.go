package local

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/engine/trace"
)

// tee records into both.
type tee struct{ all, some trace.Recorder }

func (t tee) Record(events ...trace.Event) {
	t.all.Record(slices.Clone(events)...)
	t.some.Record(events...)
}

func (t tee) Seen() uint64 { return t.some.Seen() }

// everyOp makes a record of every kind, with the tracer of one life.
func everyOp(w *world) {
	t := w.t
	a, pa := w.join("a", "A", "B")
	client, _ := w.join("client")
	first := call(client, "A", "1")
	w.send(client, engine.Attempt{}, first)
	pa.delivery(t, first.ID, 1)
	inner := nested(a, first, "A", "1")
	w.send(a, attempt(first, 1), inner, nested(a, first, "B", "1"))
	if _, err := a.Begin(attempt(inner, 1), attempt(first, 1), []engine.Write{put("n", "1"), {Op: engine.Delete, Key: engine.Key{Cell: "o"}}, {Op: engine.Clear, Key: engine.Key{Cell: "m", InMap: true}}}); err != nil {
		t.Fatal(err)
	}
	late := tell(a, "B", "2")
	late.NotBefore = w.e.opened.AddDate(1, 0, 0)
	remind := engine.Reminder{Actor: first.Actor, Name: "r", Method: "M", Due: late.NotBefore}
	w.finish(a, attempt(inner, 1), &engine.Effects{Requests: []*engine.Request{late}, Reminders: []engine.ReminderChange{{Reminder: remind}}}, value("in"))
	w.finish(a, attempt(first, 1), nil, &engine.Outcome{Tail: first.Tail(first.Actor, "N", nil, true)})
	w.finish(a, engine.Attempt{ID: first.ID, Step: 2, N: 1}, nil, &engine.Outcome{Failure: &engine.Failure{Message: "no"}})
	sick, again := tell(client, "B", "3"), tell(client, "B", "3")
	w.send(client, engine.Attempt{}, sick)
	w.send(client, engine.Attempt{}, again)
	if _, err := a.Park(attempt(sick, 0), engine.Fail(engine.ErrBadState, "sick")); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Postpone(attempt(again, 1)); err != nil {
		t.Fatal(err)
	}
	outer := call(client, "A", "9")
	w.send(client, engine.Attempt{}, tell(client, "B", "9"), outer)
	w.send(a, attempt(outer, 1), nested(a, outer, "B", "9")) // will be an orphan
	pa.note(func() { pa.begun[again.ID] = true })
	op, ctx := client.Operator(), t.Context()
	for _, err := range []error{
		op.Resume(ctx, sick.ID), op.Pause(ctx, sick.Actor), op.Unpause(ctx, sick.Actor), op.Purge(ctx, engine.Actor{Type: "C"}),
		op.Write(ctx, engine.Actor{Type: "C"}, []engine.Write{put("x", "y")}), op.Cancel(ctx, late.ID, "", false),
		op.Answer(ctx, again.ID, value("so")), w.e.Fail(a),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := client.Leave(ctx); err != nil {
		t.Fatal(err)
	}
}

// TestNoRecordEscapesTheTrace: what a process did not trace before it died is
// traced by the opening that replays it, but for what the journal does not say.
func TestNoRecordEscapesTheTrace(t *testing.T) {
	for _, heard := range []bool{true, false} {
		w := prepareWorld(t, "durability=process&cycle=64KiB")
		all, some := &trace.Memory{}, &trace.Memory{}
		life := some.Life()
		w.opts.Trace = tee{all, life}
		w.open()
		t.Cleanup(func() { w.h.Close() })
		if !heard {
			life.Kill(func() {})
		}
		everyOp(w)
		w.opts.Trace = some
		w.crash()
		want := records(all.Events())
		got := records(some.Events())[:len(want)]
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("heard %v: (-made +traced)\n%s", heard, diff)
		}
		var kinds []string
		for _, e := range want {
			kinds = append(kinds, string(e.Kind))
		}
		slices.Sort(kinds)
		const made = "begun cancel counted epoch fail join leave outcome overrule park pause postpone purge remind resume send unpause write"
		if got := strings.Join(slices.Compact(kinds), " "); got != made {
			t.Errorf("kinds %s, want %s", got, made)
		}
	}
}

// records gives what a replay can know of the records among events.
func records(events []trace.Event) (list []trace.Event) {
	for _, e := range events {
		if !e.Kind.Record() {
			continue
		}
		e.Replayed, e.By.N, e.By.Step = false, 0, 0
		switch e.Kind {
		case trace.Join, trace.Fail, trace.Leave:
		default:
			e.Session = 0
		}
		if e.Kind != trace.Begun {
			e.N = 0
		}
		if e.Kind != trace.Write {
			e.By = trace.Attempt{}
		}
		list = append(list, e)
	}
	return list
}

// TestTraceOfAnOpening: the opening says what it has found, and what is older
// than the trace is refused.
func TestTraceOfAnOpening(t *testing.T) {
	w := prepareWorld(t, "durability=disk&cycle=1MiB")
	m := &trace.Memory{}
	w.opts.Trace = m
	w.open()
	s, _ := w.join("c", "A")
	at := w.send(s, engine.Attempt{}, call(s, "A", "1"))
	if err := s.Wait(t.Context(), at); err != nil {
		t.Fatal(err)
	}
	w.crash()
	events := m.Events()
	last := slices.IndexFunc(events[1:], func(e trace.Event) bool { return e.Kind == trace.Open }) + 1
	if got := events[last].At; got != uint64(at) || events[last].AtOnce {
		t.Errorf("the opening has found %d, want %d: %v", got, at, &events[last])
	}
	if before := events[last-1]; before.Kind != trace.Commit || before.At != uint64(at) {
		t.Errorf("before the opening: %v, want the commit of %d", &before, at)
	}
	w.reopen() // with a checkpoint
	if err := w.h.Close(); err != nil {
		t.Fatal(err)
	}
	w.opts.Trace = &trace.Memory{}
	if _, err := engine.Open(t.Context(), w.url, w.opts); err == nil || !strings.Contains(err.Error(), "begin a trace with fresh data") {
		t.Errorf("a trace that begins in the middle: %v", err)
	}
}

// TestTraceFile: the file of a killed process holds all that it acknowledged.
func TestTraceFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "trace")
	parameters := "durability=process&cycle=64KiB&checkpoint=64KiB&retain=0s&trace=" + path
	seen := 0
	for range 2 {
		seen = killAfter(t, filepath.Join(dir, "data"), parameters, seen, 500)
	}
	w := prepareWorld(t, parameters)
	w.url = "local:" + filepath.Join(dir, "data") + "?" + parameters
	w.open()
	if err := w.h.Close(); err != nil {
		t.Fatal(err)
	}
	kinds := map[trace.Kind]int{}
	values := map[string]bool{}
	var at uint64
	for e, err := range trace.File(path) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind.Record() && e.At < at {
			t.Fatalf("record %d stands behind %d", e.At, at)
		}
		if e.Kind.Record() {
			at = e.At
		}
		kinds[e.Kind]++
		if e.Kind == trace.Outcome {
			values[e.Hash] = true
		}
	}
	if kinds[trace.Open] != 3 || kinds[trace.Epoch] != 3 || len(values) < seen {
		t.Errorf("of %d acknowledged: %d values, kinds %v", seen, len(values), maps.Collect(maps.All(kinds)))
	}
	if err := os.WriteFile(path, []byte("nonsense\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := engine.Open(t.Context(), w.url, w.opts); err == nil || !strings.Contains(err.Error(), "line 1") {
		t.Errorf("a file that is no trace: %v", err)
	}
}
