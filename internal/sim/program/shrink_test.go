package program

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pawl-go/pawl/engine"
)

// TestShrink: what is left is what the failure needs.
func TestShrink(t *testing.T) {
	has := func(p *Program) bool {
		return slices.ContainsFunc(p.reachable(), func(n int) bool {
			return slices.ContainsFunc(p.Scripts[n].Acts, func(a Act) bool { return a.Verb == Once })
		})
	}
	tried := 0
	for s := range uint64(100) {
		p := Random(s)
		if !has(p) {
			continue
		}
		tried++
		small := Shrink(p, 10_000, has)
		if !has(small) || !has(p) {
			t.Fatalf("seed %d: the failure is lost, or the program itself was changed", s)
		}
		// The calls that lead to the one act, and nothing beside them.
		for _, n := range small.reachable() {
			if sc := &small.Scripts[n]; len(sc.Acts) > 1 || sc.Again > 0 {
				t.Errorf("seed %d: this is not small:\n%v", s, small)
			}
		}
		if len(small.Clients) != 1 || len(small.Clients[0]) != 1 || len(small.Failures) > 0 || small.LastCrash {
			t.Errorf("seed %d: this is not small:\n%v", s, small)
		}
	}
	if tried < 10 {
		t.Errorf("only %d programs had what was looked for", tried)
	}
}

func endless(s Script) *Program {
	return &Program{
		Ordered: true, Types: []Type{{Name: "A"}}, Components: [][]int{{0}}, Actors: []engine.Actor{{Type: "A", ID: "1"}},
		Scripts: []Script{s}, Clients: [][]Request{{{Verb: Call}}},
	}
}

// TestNoEnd: a program that never ends is reported, with how far it got.
func TestNoEnd(t *testing.T) {
	for want, s := range map[string]Script{
		"no end after 20000 steps":                 {End: Value, Again: 1 << 30, After: time.Millisecond},
		"no end after 24h0m0s of virtual time: \n": {End: Value, Again: 1, After: 48 * time.Hour},
	} {
		r := Run(t, endless(s))
		if r.Err == nil || !strings.HasPrefix(r.Err.Error(), want) {
			t.Errorf("got %v, want %q", r.Err, want)
		}
	}
}
