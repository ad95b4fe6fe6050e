package history

import (
	"context"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// at makes an operation of client c that is called and returns at some units of
// time.
func at(c int, call, back time.Duration, kind Kind, arg, told int64) Operation {
	o := Operation{Key: "k", Client: c, Kind: kind, Call: call, Return: back}
	switch kind {
	case Read:
		o.Value = told
	case Add:
		o.Arg, o.Value = arg, told
	default:
		o.Arg = arg
	}
	return o
}

func cas(c int, call, back time.Duration, old, v int64, set bool) Operation {
	return Operation{Key: "k", Client: c, Kind: CompareAndSet, Call: call, Return: back, Old: old, Arg: v, Set: set}
}

// open takes the answer from an operation.
func open(o Operation) Operation {
	o.Open, o.Return, o.Value, o.Set = true, 0, 0, false
	return o
}

var fixed = []struct {
	name string
	want Result
	ops  []Operation
}{
	{"nothing", Linearizable, nil},
	{"one after the other", Linearizable, []Operation{
		at(1, 1, 2, Write, 5, 0), at(1, 3, 4, Read, 0, 5), cas(1, 5, 6, 5, 7, true), at(2, 7, 8, Read, 0, 7), at(2, 9, 10, Add, 2, 9),
	}},
	{"a read beside a write tells either", Linearizable, []Operation{
		at(1, 1, 9, Write, 5, 0), at(2, 2, 3, Read, 0, 0), at(2, 4, 5, Read, 0, 5),
	}},
	{"a read goes back behind a read", Refuted, []Operation{
		at(1, 1, 9, Write, 5, 0), at(2, 2, 3, Read, 0, 5), at(3, 4, 5, Read, 0, 0),
	}},
	{"a stale read", Refuted, []Operation{
		at(1, 1, 2, Write, 5, 0), at(1, 3, 4, Write, 6, 0), at(2, 5, 6, Read, 0, 5),
	}},
	{"a forgotten write", Refuted, []Operation{
		at(1, 1, 2, Write, 5, 0), at(2, 3, 4, Read, 0, 0),
	}},
	{"a number from nowhere", Refuted, []Operation{at(1, 1, 2, Read, 0, 3)}},
	{"a lost update", Refuted, []Operation{
		at(1, 1, 4, Add, 1, 1), at(2, 2, 3, Add, 1, 1),
	}},
	{"an update done twice", Refuted, []Operation{
		at(1, 1, 2, Add, 1, 1), at(2, 3, 4, Read, 0, 2),
	}},
	{"two additions in either order", Linearizable, []Operation{
		at(1, 1, 4, Add, 1, 3), at(2, 2, 3, Add, 2, 2),
	}},
	{"two that set from the same", Refuted, []Operation{
		cas(1, 1, 4, 0, 5, true), cas(2, 2, 3, 0, 6, true),
	}},
	{"one of two that set from the same", Linearizable, []Operation{
		cas(1, 1, 4, 0, 5, true), cas(2, 2, 3, 0, 6, false),
	}},
	{"a set refused for no reason", Refuted, []Operation{cas(1, 1, 2, 0, 5, false)}},
	{"an open write is seen later", Linearizable, []Operation{
		open(at(1, 1, 0, Write, 5, 0)), at(2, 2, 3, Read, 0, 0), at(2, 4, 5, Read, 0, 5),
	}},
	{"an open write is never seen", Linearizable, []Operation{
		open(at(1, 1, 0, Write, 5, 0)), at(2, 2, 3, Read, 0, 0), at(2, 4, 5, Read, 0, 0),
	}},
	{"an open write is seen, and not any more", Refuted, []Operation{
		open(at(1, 1, 0, Write, 5, 0)), at(2, 2, 3, Read, 0, 5), at(2, 4, 5, Read, 0, 0),
	}},
	{"an open write is seen before its call", Refuted, []Operation{
		at(2, 1, 2, Read, 0, 5), open(at(1, 3, 0, Write, 5, 0)),
	}},
	{"an open addition happens twice", Refuted, []Operation{
		open(at(1, 1, 0, Add, 1, 0)), at(2, 2, 3, Read, 0, 1), at(2, 4, 5, Read, 0, 2),
	}},
	{"an open set happens, or not", Linearizable, []Operation{
		open(cas(1, 1, 0, 0, 5, false)), open(cas(2, 1, 0, 0, 6, false)), at(3, 2, 3, Read, 0, 6), at(3, 4, 5, Read, 0, 6),
	}},
	{"an open read says nothing", Linearizable, []Operation{
		open(at(1, 1, 0, Read, 0, 0)), at(2, 2, 3, Write, 5, 0),
	}},
}

func TestCheck(t *testing.T) {
	for _, f := range fixed {
		t.Run(f.name, func(t *testing.T) {
			for _, v := range Check(t.Context(), &History{Operations: f.ops}, time.Minute) {
				if v.Result != f.want {
					t.Errorf("%s: %s, want %s (ordered %d of %d)", v.Key, v.Result, f.want, v.Ordered, v.Operations)
				}
			}
		})
	}
}

func TestEachKeyIsCheckedByItself(t *testing.T) {
	h := &History{}
	for _, key := range []string{"k/10", "k/9"} {
		o := at(1, 1, 2, Read, 0, 0)
		o.Key = key
		h.Operations = append(h.Operations, o)
	}
	h.Operations[0].Value = 3
	got := Check(t.Context(), h, time.Minute)
	if len(got) != 2 || got[0].Key != "k/9" || got[0].Result != Linearizable || got[1].Result != Refuted {
		t.Errorf("verdicts %+v; want k/9 linearizable, and k/10 refuted", got)
	}
}

// The search is compared with one that tries every order.
func TestCheckAgainstEveryOrder(t *testing.T) {
	counts := map[Result]int{}
	rapid.Check(t, func(t *rapid.T) {
		ops := rapid.SliceOfN(rapid.Custom(drawOperation), 1, 6).Draw(t, "operations")
		want := Refuted
		if anyOrder(ops, 0) {
			want = Linearizable
		}
		counts[want]++
		got := Check(context.Background(), &History{Operations: ops}, time.Minute)
		if len(got) == 1 && got[0].Result != want || len(got) == 0 && want != Linearizable {
			t.Errorf("%+v; trying every order says %s", got, want)
		}
	})
	if counts[Linearizable] == 0 || counts[Refuted] == 0 {
		t.Errorf("only one kind of history was tried: %v", counts)
	}
}

func drawOperation(t *rapid.T) Operation {
	call := rapid.IntRange(0, 12).Draw(t, "call")
	o := Operation{
		Key: "k", Kind: rapid.SampledFrom([]Kind{Read, Write, CompareAndSet, Add}).Draw(t, "kind"),
		Call: time.Duration(call), Return: time.Duration(call + rapid.IntRange(0, 6).Draw(t, "took")),
	}
	small := rapid.Int64Range(0, 2)
	switch o.Kind {
	case Read:
		o.Value = small.Draw(t, "value")
	case Write:
		o.Arg = small.Draw(t, "arg")
	case CompareAndSet:
		o.Old, o.Arg, o.Set = small.Draw(t, "old"), small.Draw(t, "arg"), rapid.Bool().Draw(t, "set")
	case Add:
		o.Arg, o.Value = 1, small.Draw(t, "value")
	}
	if rapid.IntRange(0, 4).Draw(t, "open") == 0 {
		return open(o)
	}
	return o
}

// anyOrder reports whether some order explains what is left of the operations,
// by the definition: an open one may be left out, and none is put behind one that
// was called after its return.
func anyOrder(left []Operation, number int64) bool {
	answered := false
	for i := range left {
		answered = answered || !left[i].Open
	}
	if !answered {
		return true
	}
	for i := range left {
		o := &left[i]
		after, ok := o.Apply(number)
		if !ok || !mayBeNext(o, left) {
			continue
		}
		rest := append(append([]Operation{}, left[:i]...), left[i+1:]...)
		if anyOrder(rest, after) {
			return true
		}
	}
	return false
}

func mayBeNext(o *Operation, left []Operation) bool {
	for i := range left {
		if !left[i].Open && left[i].Return < o.Call {
			return false
		}
	}
	return true
}

// hard is a history without an order, of which there are too many to try: writes
// side by side, and then a number that nobody wrote.
func hard() *History {
	h := &History{}
	for n := range 40 {
		h.Operations = append(h.Operations, at(n, time.Duration(n), 100, Write, int64(n)+1, 0))
	}
	h.Operations = append(h.Operations, at(40, 101, 102, Read, 0, 999))
	return h
}

func TestCheckGivesUp(t *testing.T) {
	got := Check(t.Context(), hard(), 500*time.Millisecond) // in which it gets somewhere
	if len(got) != 1 || got[0].Result != Unknown {
		t.Fatalf("verdicts %+v; want one unknown", got)
	}
	if got[0].Ordered == 0 || got[0].Ordered >= got[0].Operations {
		t.Errorf("ordered %d of %d; want how far it came", got[0].Ordered, got[0].Operations)
	}
	if _, err := Explain(hard(), "k", 5*time.Millisecond); err == nil {
		t.Error("what was not refuted was explained")
	}
}

func TestCheckStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	got := Check(ctx, hard(), time.Hour)
	if len(got) != 1 || got[0].Result != Unknown || got[0].Ordered != 0 {
		t.Errorf("verdicts %+v; want one unknown, not begun", got)
	}
}
