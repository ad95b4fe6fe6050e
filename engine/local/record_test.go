package local

import (
	"bytes"
	"encoding/hex"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"pgregory.net/rapid"

	"github.com/pawl-go/pawl/engine"
)

var rewrite = flag.Bool("rewrite", false, "write the golden records anew")

// goldenRecords has a record of every kind of op. What is on disks must be
// read for ever: a difference here needs a new op or field, not a new file.
func goldenRecords() map[string][]byte {
	when := time.Unix(1_700_000_000, 5)
	caller := &engine.Request{Frame: engine.Frame{ID: engine.ID{Hi: 1, Lo: 2}, Actor: engine.Actor{Type: "A", ID: "1"}}, Step: 1}
	full := &engine.Request{
		Frame: engine.Frame{ID: engine.ID{Hi: 3, Lo: 300}, Actor: engine.Actor{Type: "Account", ID: "a\x00b"}, Caller: &caller.Frame, Depth: 1},
		Step:  2, Kind: engine.KindNested, Method: "Deposit", Payload: []byte(`{"amount":5}`), Once: true, Created: when,
	}
	fail := &engine.Failure{Kind: engine.FailurePanic, Code: "c", Message: "m", Detail: []byte("d"), Invocation: "1-1", Actor: "A/1", Method: "M", Causes: []*engine.Failure{{Message: "cause"}}}
	records := map[string][]byte{}
	add := func(name string, f func(w *encoder)) {
		w := &encoder{}
		f(w)
		records[name] = w.b
	}
	add("opened", func(w *encoder) { w.opened(7, "bank") })
	add("joined", func(w *encoder) {
		w.joined(9, &engine.Component{Name: "c", Types: []engine.Type{{Name: "A"}, {Name: "B"}}})
	})
	add("lost", func(w *encoder) {
		w.lost(&losses{sessions: []uint64{9}, left: true, counted: []count{{engine.ID{Hi: 1, Lo: 2}, 3, 1}}, orphans: []engine.ID{{Hi: 3, Lo: 4}}, when: when})
	})
	add("request", func(w *encoder) { w.request(full, engine.ID{}, false) })
	add("request scheduled", func(w *encoder) {
		r := *caller
		r.NotBefore, r.Method, r.Once = when, "M", true
		w.request(&r, engine.ID{Hi: 5, Lo: 6}, true)
	})
	add("writes", func(w *encoder) {
		w.writes(engine.ID{Hi: 1, Lo: 2}, engine.Actor{}, []engine.Write{put("n", "1"), entry("m", "e", ""), {Op: engine.Delete, Key: engine.Key{Cell: "x"}}, {Op: engine.Clear, Key: engine.Key{Cell: "m", InMap: true}}})
	})
	add("writes from outside", func(w *encoder) {
		w.writes(engine.ID{}, engine.Actor{Type: "A", ID: "1"}, []engine.Write{put("n", "1")})
	})
	add("reminder", func(w *encoder) {
		w.reminder(&engine.ReminderChange{Reminder: engine.Reminder{Actor: caller.Actor, Name: "r", Method: "M", Payload: []byte("p"), Due: when, Every: time.Minute, Misfire: engine.FireNone}})
	})
	add("reminder removed", func(w *encoder) {
		w.reminder(&engine.ReminderChange{Reminder: engine.Reminder{Actor: caller.Actor, Name: "r"}, Remove: true})
	})
	for name, o := range map[string]*engine.Outcome{"value": value("v"), "none": {}, "failure": {Failure: fail}, "tail": {Tail: full.Tail(full.Actor, "Next", nil, true)}} {
		add("outcome "+name, func(w *encoder) {
			w.outcome(opOutcome, &ending{id: full.ID, step: 2, o: o, ended: when, finger: 8})
			w.patch(1<<32+5, flagKept)
		})
	}
	add("ending", func(w *encoder) { w.outcome(opEnding, &ending{id: full.ID, o: value("v"), flags: flagOperator}) })
	add("begin", func(w *encoder) { w.begin(engine.Attempt{ID: full.ID, Step: 2, N: 3}) })
	add("parked", func(w *encoder) { w.parked(full.ID, fail, when) })
	add("resumed", func(w *encoder) { w.idOp(opResumed, full.ID) })
	add("settled", func(w *encoder) { w.idOp(opSettled, full.ID) })
	add("due", func(w *encoder) { w.idOp(opDue, full.ID) })
	add("postponed", func(w *encoder) { w.idOp(opPostponed, full.ID) }) // without the attempt, as it was written once
	add("postponed attempt", func(w *encoder) { w.postponed(engine.Attempt{ID: full.ID, N: 3}) })
	add("advanced", func(w *encoder) { w.advanced(caller.Actor, "r", when) })
	add("paused", func(w *encoder) { w.paused(caller.Actor, true) })
	add("purged", func(w *encoder) { w.purged(caller.Actor) })
	return records
}

func TestRecordsStayReadable(t *testing.T) {
	records := goldenRecords()
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(records)) {
		fmt.Fprintf(&b, "%s: %s\n", name, hex.EncodeToString(records[name]))
	}
	path := filepath.Join("testdata", "records.golden")
	if *rewrite {
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if b.String() != string(want) {
		t.Errorf("records are encoded otherwise:\n%s\nwant\n%s", b.String(), want)
	}
}

func genID(t *rapid.T) engine.ID {
	return engine.ID{Hi: rapid.Uint64().Draw(t, "hi"), Lo: rapid.Uint64().Draw(t, "lo")}
}

func genFailure(depth int) *rapid.Generator[*engine.Failure] {
	return rapid.Custom(func(t *rapid.T) *engine.Failure {
		f := &engine.Failure{
			Kind: engine.FailureKind(rapid.IntRange(0, 2).Draw(t, "kind")), Code: rapid.String().Draw(t, "code"), Message: rapid.String().Draw(t, "message"),
			Detail: genBytes(t), Invocation: rapid.String().Draw(t, "invocation"), Actor: rapid.String().Draw(t, "actor"), Method: rapid.String().Draw(t, "method"),
		}
		if depth > 0 {
			f.Causes = rapid.SliceOfN(genFailure(depth-1), 0, 2).Draw(t, "causes")
			if len(f.Causes) == 0 {
				f.Causes = nil
			}
		}
		return f
	})
}

func genBytes(t *rapid.T) []byte {
	if rapid.Bool().Draw(t, "nil") {
		return nil
	}
	return rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "bytes")
}

func TestRequestsAreReadAsTheyWereWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := engine.Request{
			Frame: engine.Frame{ID: genID(t), Actor: engine.Actor{Type: rapid.String().Draw(t, "type"), ID: rapid.String().Draw(t, "id")}, Depth: rapid.Int32Range(0, 1000).Draw(t, "depth")},
			Step:  rapid.Uint32Range(1, 1<<31).Draw(t, "step"), Kind: engine.Kind(rapid.IntRange(0, 2).Draw(t, "kind")), Method: rapid.String().Draw(t, "method"), Payload: genBytes(t),
			Once: rapid.Bool().Draw(t, "once"), Keyed: rapid.Bool().Draw(t, "keyed"), InPlace: rapid.Bool().Draw(t, "in place"), Waiter: genID(t),
			NotBefore: time.Unix(0, rapid.Int64Range(-1<<62, 1<<62).Draw(t, "not before")), Created: time.Unix(0, rapid.Int64Range(-1<<62, 1<<62).Draw(t, "created")),
		}
		later := rapid.Bool().Draw(t, "scheduled")
		w := &encoder{}
		w.request(&r, engine.ID{}, later)
		d := decoder{b: w.b}
		if !d.next() || d.n != opRequest || len(d.b) != 0 {
			t.Fatalf("field %d, left %d", d.n, len(d.b))
		}
		var x requestOp
		if err := x.decode(d.p, &names{}); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(*x.r, r) || x.scheduled != later {
			t.Fatalf("read %+v, written %+v", x.r, r)
		}
	})
}

func TestOutcomesAreReadAsTheyWereWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := &ending{id: genID(t), step: rapid.Uint32().Draw(t, "step"), o: &engine.Outcome{}, ended: time.Unix(0, rapid.Int64Range(-1<<62, 1<<62).Draw(t, "ended")), finger: rapid.Uint64().Draw(t, "print")}
		if rapid.Bool().Draw(t, "fails") {
			in.o.Failure = genFailure(3).Draw(t, "failure")
		} else {
			in.o.Value = genBytes(t)
		}
		w := &encoder{}
		w.idOp(opDue, in.id) // something before it
		w.outcome(opOutcome, in)
		in.flags = flagOperator | flagKept
		asked := engine.Position(rapid.Uint64().Draw(t, "asked"))
		w.patch(asked, in.flags)
		d := decoder{b: w.b}
		d.next()
		d.next()
		var x outcomeOp
		if err := x.decode(d.p); err != nil || d.n != opOutcome {
			t.Fatal(err, d.n)
		}
		if x.asked != asked || !reflect.DeepEqual(x.ending, *in) {
			t.Fatalf("read %+v, written %+v", x.ending, *in)
		}
	})
}

// FuzzReplay: whatever a record holds, reading it ends in an error or in a flow.
func FuzzReplay(f *testing.F) {
	for _, b := range goldenRecords() {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		fl := newFlow(newCompletions(vfs.Default, t.TempDir(), func() {}))
		for i, r := range [][]byte{b, b} {
			if err := fl.replayRecord(r, engine.Position(1<<32+i)); err != nil {
				return
			}
		}
	})
}

func FuzzRows(f *testing.F) {
	p := &pending{req: call0("A", "1"), keeps: []kept{{id: engine.ID{Hi: 1, Lo: 2}, o: value("x")}}, ending: value("e")}
	f.Add(p.encodeRow(), newFlow(nil).encodeMarker())
	f.Fuzz(func(t *testing.T, row, marker []byte) {
		fl := newFlow(newCompletions(vfs.Default, t.TempDir(), func() {}))
		_ = fl.decodeMarker(marker)
		s := &savedRequest{}
		if s.decode(row, &fl.names) != nil {
			return
		}
		_ = fl.adoptRows([]*savedRequest{s})
	})
}

func FuzzIndex(f *testing.F) {
	dir := f.TempDir()
	x, err := writeIndex(vfs.Default, filepath.Join(dir, "x"), 1, []completed{{engine.ID{Hi: 1, Lo: 2}, 1 << 32}, {engine.Derive("k"), 1<<32 + 1}}, 7)
	if err != nil {
		f.Fatal(err)
	}
	x.close()
	b, err := os.ReadFile(filepath.Join(dir, "x"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		path := filepath.Join(t.TempDir(), "x")
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		x, err := openIndex(vfs.Default, path, 1)
		if err != nil {
			return
		}
		defer x.close()
		_, _ = x.find(engine.ID{Hi: 1, Lo: 2})
		_, _ = x.find(engine.Derive("k"))
	})
}

func TestKeysKeepTheOrder(t *testing.T) {
	part := rapid.StringOf(rapid.RuneFrom([]rune{0, 1, 'a', 'b', 0xff}))
	rapid.Check(t, func(t *rapid.T) {
		x, y := part.Draw(t, "x"), part.Draw(t, "y")
		xk, yk := appendPart(nil, x), appendPart(nil, y)
		if strings.Compare(x, y) != bytes.Compare(xk, yk) {
			t.Fatalf("%q and %q are in another order as keys", x, y)
		}
		if s, rest, ok := cutPart(append(xk, yk...)); !ok || s != x || !bytes.Equal(rest, yk) {
			t.Fatalf("cut %q %q %v", s, rest, ok)
		}
		k := engine.Key{Cell: x, Entry: y, InMap: true}
		if got, ok := cutCellKey(appendCellKey(nil, &k)); !ok || got != k {
			t.Fatalf("%+v became %+v", k, got)
		}
		k = engine.Key{Cell: x}
		if got, ok := cutCellKey(appendCellKey(nil, &k)); !ok || got != k {
			t.Fatalf("%+v became %+v", k, got)
		}
	})
}
