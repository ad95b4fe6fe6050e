package program

import (
	"fmt"
	"testing"

	"github.com/pawl-go/pawl/spec"
)

// TestCatalogue: programs have different names, stand failures, and what their
// clients call is there.
func TestCatalogue(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range All() {
		if seen[p.Name] || p.Name == "" || p.About == "" {
			t.Errorf("program %q is named twice, or says nothing of itself", p.Name)
		}
		seen[p.Name] = true
		if found, ok := Find(p.Name); !ok || found.Name != p.Name {
			t.Errorf("program %q is not found", p.Name)
		}
		if p.Check == nil && p.Refuted == "" {
			t.Errorf("program %q checks nothing at its end", p.Name)
		}
		if p.Failures < 2 && p.Refuted == "" {
			t.Errorf("program %q stands %d failures only", p.Name, p.Failures)
		}
		for _, c := range p.Clients {
			for _, r := range c.Calls {
				if len(p.Methods[r.Method]) == 0 {
					t.Errorf("program %q: client %s calls %s, which is not there", p.Name, c.Name, r.Method)
				}
			}
		}
	}
	if _, ok := Find("no-such"); ok {
		t.Error("a program is found that is not there")
	}
}

// TestMethodsAreThere: each message that a method sends is for a method that
// is there; a name with a slip would be a method that returns at once.
func TestMethodsAreThere(t *testing.T) {
	for _, p := range All() {
		for name, m := range p.Methods {
			for pc := range m {
				for _, e := range m[pc].Next(View{Point: spec.Point{PC: pc}, N: 1}) {
					if to := e.Msg.Method; to != "" && len(p.Methods[to]) == 0 {
						t.Errorf("program %q: %s calls %s, which is not there", p.Name, name, to)
					}
				}
			}
		}
	}
}

func TestRandomIsOfItsSeed(t *testing.T) {
	shape := func(p *Program) string {
		text := fmt.Sprint(p.Name, p.Cancels, p.Clients)
		for at := range len(p.Methods) {
			m := p.Methods[methodName(at)]
			for pc := range m {
				text += fmt.Sprintf("%+v", m[pc].Next(View{Point: spec.Point{PC: pc}, N: 1}))
			}
		}
		return text
	}
	found, ok := Find("random-7")
	if !ok || shape(found) != shape(Random(7)) {
		t.Error("the program of seed 7 is not the same twice")
	}
	if shape(Random(7)) == shape(Random(8)) {
		t.Error("the programs of seeds 7 and 8 are the same")
	}
	if _, ok := Find("random-x"); ok {
		t.Error("random-x is found")
	}
}

func TestExpressions(t *testing.T) {
	at := spec.Point{V: "v", X: "41", Y: "y"}
	for _, c := range []struct{ got, want spec.Value }{
		{plus(X, 1)(at), "42"},
		{plus(none, 1)(at), "1"},
		{join(V, X, Y)(at), "v41y"},
		{val("k")(at), "k"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}
