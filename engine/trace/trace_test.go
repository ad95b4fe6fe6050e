package trace

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// reflected reads a line by the tags of Event.
func reflected(line []byte) (e Event, err error) {
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	return e, d.Decode(&e)
}

// TestEncoding: the hand-written encoder and decoder write and read what the
// tags of Event say, so no field is forgotten.
func TestEncoding(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := rapid.Make[Event]().Draw(t, "event")
		if rapid.Bool().Draw(t, "valid") {
			e.Kind, e.At, e.ID = Due, max(1, e.At), "1-"+e.ID
		}
		line := e.Append(nil)
		got, err := reflected(line)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if diff := cmp.Diff(e, got, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("%s\n%s", line, diff)
		}
		if e.valid() != nil {
			return
		}
		if got, err = Parse(line); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if diff := cmp.Diff(e, got, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("%s\n%s", line, diff)
		}
		if bytes.ContainsRune(line, '\n') {
			t.Fatalf("%q is not one line", line)
		}
	})
}

func TestNamesTellActorsApart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(label string) string {
			return string(rapid.SliceOfN(rapid.SampledFrom([]byte("a/%2F\xff\xc3\xa9")), 0, 4).Draw(t, label))
		}
		k1, i1, k2, i2 := draw("type 1"), draw("id 1"), draw("type 2"), draw("id 2")
		x, y := ActorName(k1, i1), ActorName(k2, i2)
		if (x == y) != (k1 == k2 && i1 == i2) {
			t.Fatalf("%q/%q is %s, %q/%q is %s", k1, i1, x, k2, i2, y)
		}
		if !utf8.ValidString(x) {
			t.Fatalf("%q is not UTF-8", x)
		}
	})
	if got := ActorName("A/b", "c/d%\xff"); got != "A%2Fb/c/d%25%FF" {
		t.Fatal(got)
	}
}

func TestHashTellsValuesApart(t *testing.T) {
	seen := map[string]bool{}
	for _, v := range [][][]byte{nil, {nil}, {{}}, {{0}}, {{1}}, {{}, {}}, {nil, {}}, {[]byte("ab"), []byte("c")}, {[]byte("a"), []byte("bc")}} {
		h := Hash(v...)
		if seen[h] {
			t.Errorf("%q has a hash of another", v)
		}
		seen[h] = true
	}
}

func send(at uint64, id string, more bool) Event {
	return Event{Kind: Send, At: at, More: more, Session: 1, Attempt: Attempt{ID: id, Step: 1}, Actor: "A/a", Method: "m", Form: FormTell}
}

// life is a small trace: a record of two events, one of one, and a begin.
var life = []Event{
	{Kind: Open, At: 0},
	send(1, "1-1", true), send(1, "1-2", false),
	{Kind: Begin, Session: 1, Attempt: Attempt{"1-1", 1, 1}, Actor: "A/a", Fresh: true},
	send(2, "1-3", false),
}

func lineOf(events ...Event) []byte {
	var b []byte
	for i := range events {
		b = append(events[i].Append(b), '\n')
	}
	return b
}

func read(t *testing.T, b []byte) (events []Event, err error) {
	t.Helper()
	for e, err := range Events(bytes.NewReader(b)) {
		if err != nil {
			return events, err
		}
		events = append(events, e)
	}
	return events, nil
}

// TestCut: a trace that is cut anywhere is read up to there, and continued
// from the last thing that had happened whole.
func TestCut(t *testing.T) {
	all := lineOf(life...)
	whole := []int{0} // offsets at which nothing is unfinished, and the events before each
	counts := map[int]int{0: 0}
	for i := range life {
		if n := len(lineOf(life[:i+1]...)); !life[i].More {
			whole = append(whole, n)
			counts[n] = i + 1
		}
	}
	path := filepath.Join(t.TempDir(), "trace")
	for n := range len(all) + 1 {
		_, err := read(t, all[:n])
		cut, isCut := errors.AsType[*CorruptError](err)
		if sound := slices.Contains(whole, n); sound != (err == nil) || !sound && (!isCut || !cut.Cut) {
			t.Fatalf("cut at %d: %v", n, err)
		}
		if err := os.WriteFile(path, all[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		w, err := Create(path)
		if err != nil {
			t.Fatalf("continue what was cut at %d: %v", n, err)
		}
		keep := whole[0]
		for _, o := range whole {
			if o <= n {
				keep = o
			}
		}
		if want := newest(life[:counts[keep]]); w.Seen() != want {
			t.Fatalf("cut at %d: seen %d, want %d", n, w.Seen(), want)
		}
		w.Record(life[4])
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		var got []Event
		for e, err := range File(path) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, e)
		}
		if diff := cmp.Diff(append(slices.Clone(life[:counts[keep]]), life[4]), got); diff != "" {
			t.Fatalf("cut at %d:\n%s", n, diff)
		}
	}
}

// TestLongFile: only the end of a file is read to continue it.
func TestLongFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trace")
	var b []byte
	for at := range uint64(5000) {
		b = append(b, lineOf(send(at+1, "1-1", true), send(at+1, "1-2", false))...)
	}
	whole := len(b)
	b = append(b, lineOf(Event{Kind: Open, At: 4711})...)
	for range 5000 {
		b = append(b, lineOf(life[3])...)
	}
	for _, c := range []struct {
		b    []byte
		seen uint64
		drop int
	}{
		{b[:whole], 5000, 0},
		{b[:whole-1], 4999, len(lineOf(send(5000, "1-1", true), send(5000, "1-2", false))) - 1},
		{b, 4711, 0}, // the newest record is far from the end
		{b[:len(b)-3], 4711, len(lineOf(life[3])) - 3},
	} {
		if err := os.WriteFile(path, c.b, 0o600); err != nil {
			t.Fatal(err)
		}
		w, err := Create(path)
		if err != nil {
			t.Fatal(err)
		}
		if w.Seen() != c.seen {
			t.Errorf("seen %d, want %d", w.Seen(), c.seen)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(path); err != nil || info.Size() != int64(len(c.b)-c.drop) {
			t.Errorf("%v, %v: of %d bytes %d are to go", info.Size(), err, len(c.b), c.drop)
		}
	}
	if err := os.WriteFile(path, append(b, "nonsense\n"...), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Create(path)
	if c, ok := errors.AsType[*CorruptError](err); !ok || c.Offset != int64(len(b)) || c.Line != 0 {
		t.Errorf("%v, want one at %d", err, len(b))
	}
}

func newest(events []Event) (at uint64) {
	for _, e := range events {
		if e.Kind.Record() {
			at = e.At
		}
	}
	return at
}

func TestCorrupt(t *testing.T) {
	good := string(lineOf(life[0]))
	for name, c := range map[string]struct{ line, want string }{
		"nothing":          {"", "middle of an event"},
		"half an event":    {`{"kind":"open"`, "middle of an event"},
		"not JSON":         {`nonsense`, "character 1 is 'n'"},
		"not a string":     {`{"kind":open}`, "character 9 is 'o'"},
		"a name escaped":   {`{"k\u0069nd":"open"}`, "in a name"},
		"a bad escape":     {`{"kind":"open","name":"\x"}`, "the string at character 23"},
		"not UTF-8":        {"{\"kind\":\"open\",\"name\":\"\xff\"}", "not UTF-8"},
		"a tab in it":      {"{\"kind\":\"open\",\"name\":\"\t\"}", "in a string"},
		"no comma":         {`{"kind":"open""at":3}`, "not ','"},
		"no number":        {`{"kind":"open","at":"3"}`, "not a number"},
		"a large number":   {`{"kind":"begin","step":4294967296}`, "above 4294967295"},
		"not true":         {`{"kind":"open","at_once":false}`, `no "true"`},
		"unknown kind":     {`{"kind":"opne"}`, `unknown kind "opne"`},
		"unknown field":    {`{"kind":"open","att":3}`, `unknown field "att"`},
		"negative":         {`{"kind":"open","at":-1}`, "not a number"},
		"two events":       {`{"kind":"open"}{"kind":"open"}`, "follows the event"},
		"no position":      {`{"kind":"due","id":"1-1"}`, `without "at"`},
		"no invocation":    {`{"kind":"due","at":1}`, `without "id"`},
		"no attempt":       {`{"kind":"begin","session":1,"id":"1-1","step":1,"actor":"A/a"}`, `without "n"`},
		"more of what":     {`{"kind":"open","more":true}`, "which is not a record"},
		"a strange end":    {`{"kind":"outcome","at":1,"id":"1-1","step":1,"end":"so"}`, `ends with "so"`},
		"a strange form":   {`{"kind":"send","at":1,"id":"1-1","step":1,"actor":"A/a"}`, "a request of form"},
		"a record divided": {`{"kind":"due","at":1,"id":"1-1","more":true}` + "\n" + good, "in the middle of record 1"},
	} {
		_, err := read(t, []byte(good+c.line+"\n"))
		corrupt, ok := errors.AsType[*CorruptError](err)
		if !ok || corrupt.Cut || corrupt.Line < 2 || corrupt.Offset < int64(len(good)) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		path := filepath.Join(t.TempDir(), "trace")
		if err := os.WriteFile(path, []byte(good+c.line+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Create(path); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: continued: %v", name, err)
		}
	}
	for _, err := range File(filepath.Join(t.TempDir(), "none")) {
		if !errors.Is(err, os.ErrNotExist) {
			t.Error(err)
		}
	}
}

func TestWriterStopsAtItsFirstError(t *testing.T) {
	w, err := Create(filepath.Join(t.TempDir(), "trace"))
	if err != nil {
		t.Fatal(err)
	}
	if err := w.f.Close(); err != nil {
		t.Fatal(err)
	}
	w.Record(life[0])
	if err := w.Err(); !errors.Is(err, os.ErrClosed) {
		t.Fatalf("%v, want the error of the write", err)
	}
}

func TestSeenFollowsACut(t *testing.T) {
	var m Memory
	m.Record(life...)
	m.Record(Event{Kind: Open, At: 1})
	if m.Seen() != 1 {
		t.Fatalf("seen %d: what an opening has cut is not there", m.Seen())
	}
	m.Record(Event{Kind: Open, At: 5})
	if m.Seen() != 1 {
		t.Fatalf("seen %d: what an opening has found was not recorded by that", m.Seen())
	}
}

func TestKilledLifeIsNotHeard(t *testing.T) {
	var m Memory
	old := m.Life()
	old.Record(life[0])
	next := old.Kill(func() {})
	old.Record(life[1], life[2])
	next.Record(life[4])
	if diff := cmp.Diff([]Event{life[0], life[4]}, m.Events()); diff != "" {
		t.Fatal(diff)
	}
}

// FuzzParse: what is read is what encoding/json reads.
func FuzzParse(f *testing.F) {
	for i := range life {
		f.Add(life[i].Append(nil))
	}
	f.Add([]byte(` {"kind" : "open", "name":"\u00e9\\\"", "types":["a", "b"] } `))
	f.Fuzz(func(t *testing.T, line []byte) {
		e, err := Parse(line)
		if err != nil {
			return
		}
		want, err := reflected(line)
		if err != nil {
			t.Fatalf("%q: read, but %v", line, err)
		}
		if diff := cmp.Diff(want, e, cmpopts.EquateEmpty()); diff != "" {
			t.Fatal(diff)
		}
	})
}

// FuzzEvents: no input makes the reader panic, loop or read an event that is
// written as another.
func FuzzEvents(f *testing.F) {
	f.Add(lineOf(life...))
	f.Add([]byte(`{"kind":"load","session":1,"id":"1-1","step":1,"n":1,"actor":"A/a","cells":[{"cell":"c","map":true}]}` + "\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		events, err := read(t, b)
		if corrupt, ok := errors.AsType[*CorruptError](err); err != nil && (!ok || corrupt.Offset > int64(len(b))) {
			t.Fatalf("%v", err)
		}
		if len(events) > 0 && events[len(events)-1].More {
			events = events[:len(events)-1]
		}
		again, _ := read(t, lineOf(events...))
		if diff := cmp.Diff(events, again[:len(events)], cmpopts.EquateEmpty()); diff != "" {
			t.Fatal(diff)
		}
	})
}
