package chain

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/pawl-go/pawl/engine"
)

type item struct{ frame engine.Frame }

func (i *item) Link() *engine.Frame { return &i.frame }

// naive is held(a) as the semantics define it, over a plain list.
func naive(line []*item) []*item {
	if len(line) == 0 {
		return nil
	}
	held := []*item{line[0]}
	for {
		top := held[len(held)-1]
		i := slices.IndexFunc(line, func(x *item) bool { return x.frame.NestedIn(top.frame.ID) })
		if i < 0 {
			return held
		}
		held = append(held, line[i])
	}
}

// TestHeld holds Line to the definition of held(a): random requests come from
// outside or from within what holds the actor, end, and are replaced.
func TestHeld(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var l Line[*item]
		var line []*item
		next := uint64(0)
		draw := func(caller *engine.Frame) *item {
			next++
			return &item{engine.Frame{ID: engine.ID{Hi: 1, Lo: next}, Caller: caller}}
		}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			held := naive(line)
			switch rapid.IntRange(0, 4).Draw(t, "what") {
			case 0: // from outside
				x := draw(nil)
				l.Add(x)
				line = append(line, x)
			case 1, 2: // a callback, by way of one or two other actors
				if len(held) == 0 {
					continue
				}
				from := rapid.SampledFrom(held).Draw(t, "from")
				x := draw(&draw(&from.frame).frame)
				l.Add(x)
				line = append(line, x)
			case 3: // one without descendants ends
				free := slices.DeleteFunc(slices.Clone(line), func(x *item) bool {
					return slices.ContainsFunc(line, func(y *item) bool { return y.frame.NestedIn(x.frame.ID) })
				})
				if len(free) == 0 {
					continue
				}
				x := rapid.SampledFrom(free).Draw(t, "ends")
				if !l.Remove(x) {
					t.Fatal("Remove did not find it")
				}
				line = slices.DeleteFunc(line, func(y *item) bool { return y == x })
			case 4: // tail-self
				if len(held) == 0 {
					continue
				}
				x := held[len(held)-1]
				y := &item{x.frame}
				if !l.Replace(x, y) {
					t.Fatal("Replace did not find it")
				}
				line[slices.Index(line, x)] = y
			}
			check(t, &l, line)
		}
	})
}

func check(t *rapid.T, l *Line[*item], line []*item) {
	t.Helper()
	want := naive(line)
	if got := slices.Collect(l.Held); !slices.Equal(got, want) {
		t.Fatalf("held %v, want %v", got, want)
	}
	if l.Len() != len(line) {
		t.Fatalf("Len is %d, want %d", l.Len(), len(line))
	}
	all := slices.Collect(l.All)
	for _, x := range line {
		if !slices.Contains(all, x) {
			t.Fatalf("All does not give %v", x.frame.ID)
		}
		if l.Holds(x) != slices.Contains(want, x) {
			t.Fatalf("Holds(%v) is wrong", x.frame.ID)
		}
	}
	if top, ok := l.Top(); ok != (len(want) > 0) || ok && top != want[len(want)-1] {
		t.Fatalf("Top is wrong")
	}
}

func TestAddFirst(t *testing.T) {
	var l Line[*item]
	var want []*item
	for n := range uint64(4) {
		x := &item{engine.Frame{ID: engine.ID{Lo: n + 1}}}
		if n == 2 {
			l.Remove(want[0]) // leaves room in front
			want = want[1:]
		}
		l.AddFirst(x)
		want = append([]*item{x}, want...)
		if got := slices.Collect(l.All); !slices.Equal(got, want) {
			t.Fatalf("the line is %v", got)
		}
	}
}

// TestRemoveRootByForce: an operator may take the root out while callbacks
// nested in it are still in the line; they go on in their order.
func TestRemoveRootByForce(t *testing.T) {
	var l Line[*item]
	root := &item{engine.Frame{ID: engine.ID{Lo: 1}}}
	back := &item{engine.Frame{ID: engine.ID{Lo: 2}, Caller: &root.frame}}
	rest := &item{engine.Frame{ID: engine.ID{Lo: 3}}}
	for _, x := range []*item{root, rest, back} {
		l.Add(x)
	}
	l.Remove(root)
	if got := slices.Collect(l.All); !slices.Equal(got, []*item{back, rest}) {
		t.Fatalf("the line is %v", got)
	}
}

// TestTailCallHoldsNoMore: an invocation that has gone on to another actor may
// still stand in the line of its former one, until its runtime takes it out.
// What it calls there by its next step has no privilege.
func TestTailCallHoldsNoMore(t *testing.T) {
	a, b := engine.Actor{Type: "A", ID: "a"}, engine.Actor{Type: "B", ID: "b"}
	id := func(n uint64) engine.ID { return engine.ID{Hi: 1, Lo: n} }
	var l Line[*item]
	gone := &item{engine.Frame{ID: id(1), Actor: a}}
	next := &engine.Frame{ID: id(1), Actor: b}
	other, back := &item{engine.Frame{ID: id(2), Actor: a}}, &item{engine.Frame{ID: id(3), Actor: a, Caller: next}}
	for _, x := range []*item{gone, other, back} {
		l.Add(x)
	}
	if l.Holds(back) {
		t.Error("what the next step calls is in the chain of the last one")
	}
	l.Remove(gone)
	if root, _ := l.Root(); root != other {
		t.Error("what the next step calls goes ahead of what was there before")
	}
}
