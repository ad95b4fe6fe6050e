//go:build mutants

package pawltest_test

import (
	"strings"
	"testing"

	"github.com/pawl-go/pawl/internal/mutant"
	"github.com/pawl-go/pawl/pawltest"
)

// A fault of Pawl's own is told from one of the scenario: the runs are held to
// the semantics.
func TestFaultsOfPawlAreToldApart(t *testing.T) {
	for _, f := range []mutant.Fault{mutant.CompletionForgotten, mutant.WaitForOneCallee} {
		t.Run(f.String(), func(t *testing.T) {
			mutant.Set(f)
			defer mutant.Set(mutant.None)
			report, schedule, tried := pawltest.Find(t, crowd, pawltest.Schedules(300))
			if !strings.Contains(report, "a bug of Pawl") {
				t.Errorf("%d schedules, %s:\n%s", tried, schedule, report)
			}
		})
	}
}
