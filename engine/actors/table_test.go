package actors_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/engine/actors"
)

type entry struct {
	id   engine.Actor
	next *entry
}

func (e *entry) Actor() engine.Actor { return e.id }
func (e *entry) Behind() **entry     { return &e.next }

// TestTable holds a table to a map, through growing and shrinking.
func TestTable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table, want := actors.NewTable[*entry](), map[engine.Actor]*entry{}
		for range rapid.IntRange(1, 6).Draw(t, "phases") {
			kind := rapid.SampledFrom([]string{"", "Order", "Cart"}).Draw(t, "kind")
			n := rapid.IntRange(1, 1500).Draw(t, "n")
			from := rapid.IntRange(0, 1500).Draw(t, "from")
			put := rapid.Bool().Draw(t, "put")
			for i := from; i < from+n; i++ {
				id := engine.Actor{Type: kind, ID: fmt.Sprint(i)}
				e := table.Get(id)
				if e != want[id] {
					t.Fatalf("Get(%v) = %p, want %p", id, e, want[id])
				}
				switch {
				case put && e == nil:
					e = &entry{id: id}
					table.Put(e)
					want[id] = e
				case !put && e != nil:
					if !table.Remove(e) || table.Remove(e) {
						t.Fatalf("Remove(%v) is wrong", id)
					}
					delete(want, id)
				}
			}
			same(t, table, want)
		}
	})
}

func same(t *rapid.T, table *actors.Table[*entry], want map[engine.Actor]*entry) {
	seen := map[*entry]bool{}
	for e := range table.All {
		if want[e.id] != e || seen[e] {
			t.Fatalf("All yields %v wrongly", e.id)
		}
		seen[e] = true
	}
	if len(seen) != len(want) || table.Len() != len(want) {
		t.Fatalf("All yields %d, Len is %d, want %d", len(seen), table.Len(), len(want))
	}
}

// TestRemoveWhileListing empties a table from within All.
func TestRemoveWhileListing(t *testing.T) {
	table := actors.NewTable[*entry]()
	for i := range 5000 {
		table.Put(&entry{id: engine.Actor{Type: "T", ID: fmt.Sprint(i)}})
	}
	n := 0
	for e := range table.All {
		n++
		table.Remove(e)
	}
	if n != 5000 || table.Len() != 0 {
		t.Errorf("All yielded %d of 5000, %d are left", n, table.Len())
	}
}

var sink engine.Actor

func BenchmarkGet(b *testing.B) {
	const n = 1 << 20
	table, gomap := actors.NewTable[*entry](), map[engine.Actor]*entry{}
	ids := make([]engine.Actor, n)
	for i := range ids {
		ids[i] = engine.Actor{Type: "Counter", ID: fmt.Sprint(i)}
		e := &entry{id: ids[i]}
		table.Put(e)
		gomap[ids[i]] = e
	}
	for _, size := range []int{1 << 10, n} {
		b.Run(fmt.Sprintf("table/%d", size), func(b *testing.B) {
			for i := range b.N {
				sink = table.Get(ids[i*7919%size]).id
			}
		})
		b.Run(fmt.Sprintf("map/%d", size), func(b *testing.B) {
			for i := range b.N {
				sink = gomap[ids[i*7919%size]].id
			}
		})
	}
}
