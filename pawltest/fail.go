package pawltest

import (
	"slices"

	"github.com/pawl-go/pawl/internal/probe"
)

// nextFailure is one asked for by FailNext.
type nextFailure struct {
	step   Step
	kind   string // of the actor; "" for any
	method string // "" for any
}

func (f nextFailure) named() string {
	if f.method == "" {
		return "any method"
	}
	return f.kind + "." + f.method
}

func (f nextFailure) fits(p *place) bool {
	return f.step == p.step && (f.method == "" || f.method == p.run.Method) && (f.kind == "" || f.kind == p.run.Actor.Type)
}

// FailNext lets the process die, and start again, the next time that a method
// comes to a step. The method is named by its method expression; nil stands for
// any:
//
//	w.FailNext(pawltest.BeforeOutcome, (*Account).Withdraw)
func (w *World) FailNext(s Step, method any) {
	w.Helper()
	f := nextFailure{step: s}
	if steps[s] == "" {
		w.Fatalf("FailNext: %q is no step", s)
	}
	if method != nil {
		var err error
		if f.method, err = probe.MethodName(method); err != nil {
			w.Fatalf("FailNext: %v", err)
		}
		f.kind = probe.TypeName(method)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mu.once = append(w.mu.once, f)
}

// missed says which failure of FailNext has not come about.
func (w *World) missed() {
	w.mu.Lock()
	once := slices.Clone(w.mu.once)
	w.mu.Unlock()
	for _, f := range once {
		w.Errorf("FailNext(%q, %s): the scenario has ended, and no method came there", f.step, f.named())
	}
}
