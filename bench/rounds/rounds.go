// Package rounds holds one way of doing a job against others: each [Job] has sides,
// which take turns, one round after the other, so that all share the good and the bad
// minutes of a machine. What is reported of a side is the median of its rounds; what
// is compared is the median of the ratios within a round.
package rounds

import (
	"context"
	"fmt"
	"slices"

	"github.com/pawl-go/pawl/bench/measure"
)

// Job is done by all its sides. The first is the one that the others are held against.
type Job struct {
	Name  string
	Sides []Side
}

// Side does a job its way, once in each round.
type Side struct {
	Name string
	Do   func(ctx context.Context) (Figure, error)
}

// Figure is what one side took for a job. What it does not measure is zero.
type Figure struct {
	Job      string  `json:"job"`
	System   string  `json:"system"`
	Ops      int64   `json:"ops"` // of all rounds
	OpsPerS  float64 `json:"ops_per_s,omitempty"`
	P50      float64 `json:"p50_us,omitempty"`
	P99      float64 `json:"p99_us,omitempty"`
	P999     float64 `json:"p999_us,omitempty"`
	Max      float64 `json:"max_us,omitempty"`        // the longest of all rounds
	CPUPerOp float64 `json:"cpu_us_per_op,omitempty"` // of this process and others that serve it, the kernel's part included
}

// Of takes the figures of a load. A percentile that less than one operation would be
// beyond is left out.
func Of(r *measure.Result) Figure {
	f := Figure{Ops: r.Ops, P50: measure.Micros(r.Latencies, 50), Max: measure.Micros(r.Latencies, 100)}
	if r.Ops >= 100 {
		f.P99 = measure.Micros(r.Latencies, 99)
	}
	if r.Ops >= 1000 {
		f.P999 = measure.Micros(r.Latencies, 99.9)
	}
	if r.Ops > 0 && r.Took > 0 {
		f.OpsPerS = float64(r.Ops) / r.Took.Seconds()
		f.CPUPerOp = r.CPU.Seconds() * 1e6 / float64(r.Ops)
	}
	return f
}

// Run does all jobs, each so many rounds. progress is told what is measured now and
// how far it is, from 0 to 1; it may be nil.
func Run(ctx context.Context, title string, jobs []Job, rounds int, progress func(what string, done float64, ops int64)) (*Report, error) {
	if rounds < 1 {
		return nil, fmt.Errorf("run %s: %d rounds, want at least 1", title, rounds)
	}
	r := newReport(title, rounds)
	for i, job := range jobs {
		taken := make([][]Figure, len(job.Sides)) // by side, then by round
		for round := range rounds {
			for k, side := range job.Sides {
				if progress != nil {
					part := float64(round*len(job.Sides)+k) / float64(rounds*len(job.Sides))
					progress(job.Name+", "+side.Name, (float64(i)+part)/float64(len(jobs)), 0)
				}
				if ctx.Err() != nil {
					return nil, context.Cause(ctx)
				}
				f, err := side.Do(ctx)
				if err != nil {
					return nil, fmt.Errorf("%s with %s: %w", job.Name, side.Name, err)
				}
				f.Job, f.System = job.Name, side.Name
				taken[k] = append(taken[k], f)
			}
		}
		for k := range taken {
			r.Figures = append(r.Figures, middle(taken[k]))
			if k > 0 {
				r.Ratios = append(r.Ratios, ratio(taken[0], taken[k]))
			}
		}
	}
	r.LoadAfter = machineLoad()
	return r, nil
}

// middle is the median of rounds, of each measure by itself.
func middle(rounds []Figure) Figure {
	f := rounds[0]
	f.Ops = 0
	for _, x := range rounds {
		f.Ops += x.Ops
		f.Max = max(f.Max, x.Max)
	}
	for _, m := range measures {
		all := make([]float64, len(rounds))
		for i := range rounds {
			all[i] = *m(&rounds[i])
		}
		*m(&f) = median(all)
	}
	return f
}

// measures are those of a figure that have medians and ratios.
var measures = []func(*Figure) *float64{
	func(f *Figure) *float64 { return &f.OpsPerS },
	func(f *Figure) *float64 { return &f.P50 },
	func(f *Figure) *float64 { return &f.P99 },
	func(f *Figure) *float64 { return &f.P999 },
	func(f *Figure) *float64 { return &f.CPUPerOp },
}

// median is that of the rounds that have the measure; what is missing is zero.
func median(all []float64) float64 {
	all = slices.DeleteFunc(all, func(v float64) bool { return v == 0 })
	n := len(all)
	if n == 0 {
		return 0
	}
	slices.Sort(all)
	return (all[(n-1)/2] + all[n/2]) / 2
}

// ratio is the median of the ratios of two sides within a round, of each measure by
// itself.
func ratio(ours, theirs []Figure) Ratio {
	quotients := make([]Figure, len(ours))
	for i := range ours {
		for _, m := range measures {
			if by := *m(&theirs[i]); by > 0 {
				*m(&quotients[i]) = *m(&ours[i]) / by
			}
		}
	}
	q := middle(quotients)
	return Ratio{
		Job: ours[0].Job, System: ours[0].System, Against: theirs[0].System,
		Ops: q.OpsPerS, P50: q.P50, P99: q.P99, P999: q.P999, CPU: q.CPUPerOp,
	}
}
