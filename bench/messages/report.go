package messages

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
)

// Report is a run: every job with every system.
type Report struct {
	Processors int      `json:"processors"`
	LoadBefore string   `json:"load_before,omitempty"` // of the machine, over a minute, as uptime says
	LoadAfter  string   `json:"load_after,omitempty"`
	Figures    []Figure `json:"figures"`
	Ratios     []Ratio  `json:"ratios"`
}

// Ratio holds the first system, which is measured, against another one in a job.
type Ratio struct {
	Job     string  `json:"job"`
	System  string  `json:"system"`
	Against string  `json:"against"`
	MoreOps float64 `json:"ops_ratio"` // how many times as many
	LessP50 float64 `json:"p50_ratio,omitempty"`
	LessP99 float64 `json:"p99_ratio,omitempty"`
	LessCPU float64 `json:"cpu_ratio"` // the other takes so many times as much
}

func newReport() *Report {
	return &Report{Processors: runtime.GOMAXPROCS(0), LoadBefore: machineLoad()}
}

func (r *Report) finish() {
	r.LoadAfter = machineLoad()
	if len(r.Figures) > 0 {
		r.Compare(r.Figures[0].System)
	}
}

// Compare fills in the ratios of one system to all others.
func (r *Report) Compare(system string) {
	r.Ratios = nil
	for _, job := range jobs {
		ours, ok := r.find(job.name, system)
		if !ok {
			continue
		}
		for _, f := range r.Figures {
			if f.Job != job.name || f.System == system {
				continue
			}
			r.Ratios = append(r.Ratios, Ratio{
				Job: job.name, System: system, Against: f.System,
				MoreOps: over(ours.OpsPerS, f.OpsPerS), LessP50: over(f.P50, ours.P50), LessP99: over(f.P99, ours.P99),
				LessCPU: over(f.CPUPerOp, ours.CPUPerOp),
			})
		}
	}
}

func (r *Report) find(job, system string) (Figure, bool) {
	for _, f := range r.Figures {
		if f.Job == job && f.System == system {
			return f, true
		}
	}
	return Figure{}, false
}

func over(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

// Print writes a table for people.
func (r *Report) Print(w io.Writer) {
	fmt.Fprintf(w, "messages of %d bytes, %d processors, load %s before and %s after\n\n", Size, r.Processors, r.LoadBefore, r.LoadAfter)
	fmt.Fprintf(w, "  %-14s %-16s %12s %10s %10s %12s\n", "", "", "ops/s", "p50, us", "p99, us", "CPU/op, us")
	last := ""
	for _, f := range r.Figures {
		job := f.Job
		if job == last {
			job = ""
		}
		last = f.Job
		fmt.Fprintf(w, "  %-14s %-16s %12.0f %10s %10s %12.3f\n", job, f.System, f.OpsPerS, micros(f.P50), micros(f.P99), f.CPUPerOp)
	}
	fmt.Fprintln(w)
	for _, x := range r.Ratios {
		line := fmt.Sprintf("  %-14s %s: %.2f x the operations of %s, which takes %.2f x the CPU", x.Job, x.System, x.MoreOps, x.Against, x.LessCPU)
		if x.LessP50 > 0 {
			line += fmt.Sprintf(", %.2f x the p50, %.2f x the p99", x.LessP50, x.LessP99)
		}
		fmt.Fprintln(w, line)
	}
}

func micros(v float64) string {
	if v == 0 {
		return ""
	}
	return fmt.Sprintf("%.2f", v)
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

// Add takes the figures of another run, each behind those of its job, and compares
// again.
func (r *Report) Add(other *Report) {
	system := ""
	if len(r.Figures) > 0 {
		system = r.Figures[0].System
	}
	all := append(r.Figures, other.Figures...)
	r.Figures = nil
	for _, job := range jobs {
		for _, f := range all {
			if f.Job == job.name {
				r.Figures = append(r.Figures, f)
			}
		}
	}
	r.LoadAfter = other.LoadAfter
	r.Compare(system)
}
