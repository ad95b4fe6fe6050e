//go:build mutants

package program_test

import (
	"strings"
	"testing"

	"github.com/pawl-go/pawl/internal/mutant"
	"github.com/pawl-go/pawl/internal/sim/program"
)

// TestMutants: each deliberate fault is caught within 1,000 random programs. It
// wants the build tag:
//
//	go test -tags mutants ./internal/sim/program -run TestMutants
func TestMutants(t *testing.T) {
	const most = 1000
	for _, f := range mutant.All() {
		t.Run(f.String(), func(t *testing.T) {
			mutant.Set(f)
			defer mutant.Set(mutant.None)
			for s := range uint64(most) {
				if r := program.Run(t, program.Random(s+1)); r.Err != nil {
					first, _, _ := strings.Cut(r.Err.Error(), "\n")
					t.Logf("caught by program %d: %s", s+1, first)
					return
				}
			}
			t.Errorf("not caught by %d programs", most)
		})
	}
}
