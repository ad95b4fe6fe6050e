//go:build mutants

package local_test

import (
	"errors"
	"testing"

	"github.com/pawl-go/pawl/internal/mutant"
	"github.com/pawl-go/pawl/spec/check"
)

// TestMutants: each deliberate fault shows in its scene, and is caught by the
// checker.
func TestMutants(t *testing.T) {
	for _, s := range scenes {
		t.Run(s.mutant.String(), func(t *testing.T) {
			mutant.Set(s.mutant)
			defer mutant.Set(mutant.None)
			events := play(t, s, true)
			if t.Failed() {
				return
			}
			if !s.shows(events) {
				t.Errorf("the fault does not show:\n%s", lines(events))
			}
			_, err := check.Slice(events, check.Options{})
			if _, ok := errors.AsType[*check.Violation](err); !ok {
				t.Fatalf("the trace is allowed, or not read (%v):\n%s", err, lines(events))
			}
			t.Log(err)
		})
	}
}
