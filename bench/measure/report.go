package measure

import (
	"fmt"
	"io"
	"math"
	"runtime"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Report is what a job of calls prints. Times are in microseconds.
type Report struct {
	System     string  `json:"system"`
	Durability string  `json:"durability"`
	Clients    int     `json:"clients"`
	Keys       int     `json:"keys"`
	Depth      int     `json:"depth"` // calls in one operation, each nested in the one before
	Processors int     `json:"processors"`
	Ops        int64   `json:"ops"`
	Seconds    float64 `json:"seconds"`

	OpsPerS     float64 `json:"ops_per_s"`
	P50         float64 `json:"p50_us"`
	P99         float64 `json:"p99_us"`
	P999        float64 `json:"p999_us"`
	Max         float64 `json:"max_us"`
	CPUPerOp    float64 `json:"cpu_us_per_op"`
	AllocsPerOp float64 `json:"allocs_per_op"`

	FlushP50 float64 `json:"fdatasync_p50_us"` // a bare mapped append and flush
	FlushP99 float64 `json:"fdatasync_p99_us"`

	ProbeOpsPerS  float64 `json:"probe_ops_per_s,omitempty"` // the same job, bare
	ProbeP50      float64 `json:"probe_p50_us,omitempty"`
	ProbeP99      float64 `json:"probe_p99_us,omitempty"`
	ProbeCPUPerOp float64 `json:"probe_cpu_us_per_op,omitempty"`
	ProbeBytes    int     `json:"probe_bytes_per_op,omitempty"`

	ToProbe    float64 `json:"ops_to_probe,omitempty"`     // ops_per_s to the probe's
	P50ToProbe float64 `json:"p50_to_probe,omitempty"`     // p50 to the probe's
	P50ToFlush float64 `json:"p50_to_fdatasync,omitempty"` // disk only
	P99ToFlush float64 `json:"p99_to_fdatasync,omitempty"`
}

// Take fills in what a load took.
func (r *Report) Take(res *Result) {
	r.Processors = runtime.GOMAXPROCS(0)
	r.Ops, r.Seconds = res.Ops, round(res.Took.Seconds())
	r.OpsPerS = round(float64(res.Ops) / res.Took.Seconds())
	r.P50, r.P99 = Micros(res.Latencies, 50), Micros(res.Latencies, 99)
	r.P999, r.Max = Micros(res.Latencies, 99.9), Micros(res.Latencies, 100)
	if res.Ops > 0 {
		r.CPUPerOp = round(res.CPU.Seconds() * 1e6 / float64(res.Ops))
		r.AllocsPerOp = round(float64(res.Mallocs) / float64(res.Ops))
	}
}

// TakeFlushes fills in the bare flushes of the run.
func (r *Report) TakeFlushes(h *hdrhistogram.Histogram) {
	r.FlushP50, r.FlushP99 = Micros(h, 50), Micros(h, 99)
	if r.Durability == Disk && r.FlushP50 > 0 && r.FlushP99 > 0 {
		r.P50ToFlush, r.P99ToFlush = round(r.P50/r.FlushP50), round(r.P99/r.FlushP99)
	}
}

// TakeProbe fills in what the probe of the same job took.
func (r *Report) TakeProbe(res *Result, bytes int) {
	r.ProbeOpsPerS = round(float64(res.Ops) / res.Took.Seconds())
	r.ProbeP50, r.ProbeP99 = Micros(res.Latencies, 50), Micros(res.Latencies, 99)
	r.ProbeCPUPerOp = round(res.CPU.Seconds() * 1e6 / float64(max(res.Ops, 1)))
	r.ProbeBytes = bytes
	if r.ProbeOpsPerS > 0 && r.ProbeP50 > 0 {
		r.ToProbe, r.P50ToProbe = round(r.OpsPerS/r.ProbeOpsPerS), round(r.P50/r.ProbeP50)
	}
}

// Micros is a percentile in microseconds.
func Micros(h *hdrhistogram.Histogram, percentile float64) float64 {
	return round(float64(h.ValueAtPercentile(percentile)) / 1e3)
}

// round keeps four digits, which is more than such figures mean.
func round(x float64) float64 {
	if x == 0 || math.IsNaN(x) || math.IsInf(x, 0) {
		return 0
	}
	scale := math.Pow(10, 3-math.Floor(math.Log10(math.Abs(x))))
	return math.Round(x*scale) / scale
}

// Print writes the report for people.
func (r *Report) Print(w io.Writer) {
	fmt.Fprintf(w, "%s: add to a durable counter and return the new value; %s durability, %d client(s), %d key(s), %d deep\n\n",
		r.System, r.Durability, r.Clients, r.Keys, r.Depth)
	row := func(name, ours, probe, ratio string) {
		fmt.Fprintf(w, "  %-22s %12s %12s %8s\n", name, ours, probe, ratio)
	}
	row("", r.System, probeHead(r), "ratio")
	row("operations/s", number(r.OpsPerS), number(r.ProbeOpsPerS), number(r.ToProbe))
	row("p50", micros(r.P50), micros(r.ProbeP50), number(r.P50ToProbe))
	row("p99", micros(r.P99), micros(r.ProbeP99), "")
	row("p99.9", micros(r.P999), "", "")
	row("longest", micros(r.Max), "", "")
	row("processor/operation", micros(r.CPUPerOp), micros(r.ProbeCPUPerOp), "")
	row("allocations/operation", number(r.AllocsPerOp), "", "")
	if r.FlushP50 > 0 {
		fmt.Fprintf(w, "\n  a bare mapped append and flush here: p50 %s, p99 %s", micros(r.FlushP50), micros(r.FlushP99))
		if r.P50ToFlush > 0 {
			fmt.Fprintf(w, "; the call is %s x its p50, %s x its p99", number(r.P50ToFlush), number(r.P99ToFlush))
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintf(w, "  %d operations in %.1f s on %d processor(s)\n", r.Ops, r.Seconds, r.Processors)
}

func probeHead(r *Report) string {
	if r.ProbeOpsPerS == 0 {
		return ""
	}
	return "bare probe"
}

// number shows four digits, with thousands set apart.
func number(x float64) string {
	switch {
	case x == 0:
		return ""
	case math.Abs(x) < 100:
		return fmt.Sprintf("%.3g", x)
	}
	s := fmt.Sprintf("%.0f", x)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func micros(us float64) string {
	switch {
	case us == 0:
		return ""
	case us >= 10_000:
		return fmt.Sprintf("%.1f ms", us/1000)
	case us >= 1000:
		return fmt.Sprintf("%.2f ms", us/1000)
	}
	return fmt.Sprintf("%.3g us", us)
}
