package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"

	"github.com/pawl-go/pawl/bench/measure"
	"github.com/pawl-go/pawl/bench/rounds"
)

// pawl has the command do the job, in a new directory beside DBOS's, with disk
// durability.
func (o *options) pawl(ctx context.Context) (f rounds.Figure, err error) {
	cmd := exec.CommandContext(ctx, o.beside, "bench", "call", "--json", "--no-probe", "--durability", measure.Disk,
		"--clients", strconv.Itoa(o.clients), "--keys", strconv.Itoa(o.keys), "--depth", strconv.Itoa(o.depth),
		"--duration", o.duration.String(), "--ops", strconv.Itoa(o.ops), "--dir", o.dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return f, fmt.Errorf("run %s bench call: %w", o.beside, err)
	}
	var r measure.Report
	if err := json.Unmarshal(out, &r); err != nil {
		return f, fmt.Errorf("read %s bench call: %w", o.beside, err)
	}
	return rounds.Figure{
		Ops: r.Ops, OpsPerS: r.OpsPerS, P50: r.P50, P99: r.P99, P999: r.P999, Max: r.Max, CPUPerOp: r.CPUPerOp,
	}, nil
}
