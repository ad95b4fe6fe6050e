//go:build mutants

package local_test

import (
	"testing"

	"github.com/pawl-go/pawl/internal/mutant"
)

// TestMutants: each deliberate fault shows in its scene.
func TestMutants(t *testing.T) {
	for _, s := range scenes {
		t.Run(s.mutant.String(), func(t *testing.T) {
			mutant.Set(s.mutant)
			defer mutant.Set(mutant.None)
			if events := play(t, s, true); !t.Failed() && !s.shows(events) {
				t.Errorf("the fault does not show:\n%s", lines(events))
			}
		})
	}
}
