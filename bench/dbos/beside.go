package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"

	"github.com/pawl-go/pawl/bench/measure"
)

// pawl does the same job with the command at path, in the same directory, with
// disk durability.
func pawl(ctx context.Context, path string, o *options) (*measure.Report, error) {
	cmd := exec.CommandContext(ctx, path, "bench", "call", "--json", "--durability", measure.Disk,
		"--clients", strconv.Itoa(o.clients), "--keys", strconv.Itoa(o.keys), "--depth", strconv.Itoa(o.depth),
		"--duration", o.duration.String(), "--ops", strconv.Itoa(o.ops), "--dir", o.dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("run %s bench call: %w", path, err)
	}
	r := &measure.Report{}
	if err := json.Unmarshal(out, r); err != nil {
		return nil, fmt.Errorf("read %s bench call: %w", path, err)
	}
	return r, nil
}

// pair is both of them.
type pair struct {
	Pawl *measure.Report `json:"pawl"`
	DBOS *measure.Report `json:"dbos"`
	// How many times more, or less, Pawl has or takes.
	MoreOps float64 `json:"ops_ratio"`
	LessP50 float64 `json:"p50_ratio"`
	LessP99 float64 `json:"p99_ratio"`
	LessCPU float64 `json:"cpu_ratio"`
}

func compare(ours, theirs *measure.Report) *pair {
	return &pair{
		Pawl: ours, DBOS: theirs,
		MoreOps: ours.OpsPerS / theirs.OpsPerS,
		LessP50: theirs.P50 / ours.P50,
		LessP99: theirs.P99 / ours.P99,
		LessCPU: theirs.CPUPerOp / ours.CPUPerOp,
	}
}

// print writes a table for people.
func (p *pair) print(w io.Writer) {
	fmt.Fprintf(w, "add to a durable counter and return the new value; disk durability, %d client(s), %d key(s), %d deep\n\n",
		p.Pawl.Clients, p.Pawl.Keys, p.Pawl.Depth)
	fmt.Fprintf(w, "  %-24s %14s %14s %10s\n", "", "pawl", p.DBOS.System, "")
	row := func(name string, ours, theirs, ratio float64, word string) {
		fmt.Fprintf(w, "  %-24s %14.1f %14.1f %7.1f x %s\n", name, ours, theirs, ratio, word)
	}
	row("operations/s", p.Pawl.OpsPerS, p.DBOS.OpsPerS, p.MoreOps, "more")
	row("p50, us", p.Pawl.P50, p.DBOS.P50, p.LessP50, "less")
	row("p99, us", p.Pawl.P99, p.DBOS.P99, p.LessP99, "less")
	row("processor/operation, us", p.Pawl.CPUPerOp, p.DBOS.CPUPerOp, p.LessCPU, "less")
	fmt.Fprintf(w, "\n  a bare flush before and after: %.0f and %.0f us at p50\n", p.DBOS.FlushP50, p.Pawl.FlushP50)
}
