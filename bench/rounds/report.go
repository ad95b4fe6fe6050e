package rounds

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
)

// Report is a run: every job with every side.
type Report struct {
	Title      string   `json:"title"`
	Processors int      `json:"processors"`
	Rounds     int      `json:"rounds"`                // of which each figure is the median
	LoadBefore string   `json:"load_before,omitempty"` // of the machine, over a minute, as uptime says
	LoadAfter  string   `json:"load_after,omitempty"`
	Figures    []Figure `json:"figures"`
	Ratios     []Ratio  `json:"ratios"`
}

// Ratio is what the first side of a job has divided by what another one has. A
// measure that one of them lacks is zero.
type Ratio struct {
	Job     string  `json:"job"`
	System  string  `json:"system"`
	Against string  `json:"against"`
	Ops     float64 `json:"ops_ratio,omitempty"` // more is better
	P50     float64 `json:"p50_ratio,omitempty"` // less is better, and so below
	P99     float64 `json:"p99_ratio,omitempty"`
	P999    float64 `json:"p999_ratio,omitempty"`
	CPU     float64 `json:"cpu_ratio,omitempty"`
}

func newReport(title string, rounds int) *Report {
	return &Report{Title: title, Rounds: rounds, Processors: runtime.GOMAXPROCS(0), LoadBefore: machineLoad()}
}

// Print writes a table for people. A ratio stands in the row of the side that the
// first one is held against: first divided by this one.
func (r *Report) Print(w io.Writer) {
	fmt.Fprintf(w, "%s: medians of %d round(s), %d processors, load %s before and %s after\n\n",
		r.Title, r.Rounds, r.Processors, r.LoadBefore, r.LoadAfter)
	width := 0
	for _, f := range r.Figures {
		width = max(width, len(f.Job))
	}
	fmt.Fprintf(w, "  %-*s %-20s %12s %10s %10s %10s %12s %12s   %s\n", width, "", "",
		"ops/s", "p50, us", "p99, us", "p99.9, us", "longest, us", "CPU/op, us", "first/this: ops, p50, p99, CPU")
	last := ""
	for _, f := range r.Figures {
		job := f.Job
		if job == last {
			job = ""
		}
		last = f.Job
		fmt.Fprintf(w, "  %-*s %-20s %12s %10s %10s %10s %12s %12s%s\n", width, job, f.System,
			number(f.OpsPerS, 0), number(f.P50, 2), number(f.P99, 2), number(f.P999, 0), number(f.Max, 0), number(f.CPUPerOp, 3), r.against(f))
	}
}

// against is the ratio to a figure, for its row.
func (r *Report) against(f Figure) string {
	for _, x := range r.Ratios {
		if x.Job == f.Job && x.Against == f.System {
			return fmt.Sprintf("   %6s %6s %6s %6s", number(x.Ops, 2), number(x.P50, 2), number(x.P99, 2), number(x.CPU, 2))
		}
	}
	return ""
}

func number(v float64, digits int) string {
	if v == 0 {
		return ""
	}
	return fmt.Sprintf("%.*f", digits, v)
}

// machineLoad is how many processes ran or waited in the last minute, or nothing
// where the system does not say.
func machineLoad() string {
	b, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return ""
	}
	first, _, _ := strings.Cut(string(b), " ")
	return first
}
