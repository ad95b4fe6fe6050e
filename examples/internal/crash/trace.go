package crash

import (
	"fmt"

	"github.com/pawl-go/pawl/spec/check"
)

// CheckTrace holds what every life of the job, and whoever audited it, has
// recorded into Job.Trace to the semantics. Call it when all of them have ended.
func (j Job) CheckTrace() (*check.Report, error) {
	r, err := check.File(j.Trace, check.Options{Settled: true})
	if err != nil {
		return &r, fmt.Errorf("%s: %w", j.Trace, err)
	}
	return &r, nil
}
