package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pawl-go/pawl/bench"
	"github.com/pawl-go/pawl/bench/measure"
)

func (c *cli) benchCommand() *cobra.Command {
	child := &cobra.Command{Use: "child JOB", Hidden: true, Args: args(1, 1)}
	child.RunE = func(cmd *cobra.Command, args []string) error {
		return bench.Child(cmd.Context(), args[0], c.out)
	}
	return noun("bench", "Measure Pawl on this machine",
		c.benchCall(), c.benchSize(), c.benchReopen(), c.benchCheckpoint(), c.benchMesh(),
		c.benchQueue(), c.benchReplica(), c.benchHTTP(), c.benchRecovery(), child)
}

func (c *cli) benchCall() *cobra.Command {
	var o bench.CallOptions
	var asJSON bool
	var profile string
	cmd := &cobra.Command{
		Use: "call", Short: "Calls that add to durable counters, beside a bare probe of the same job", Args: args(0, 0),
		Example: "  pawl bench call --clients 64 --keys 1000 --durability disk",
	}
	f := cmd.Flags()
	f.IntVar(&o.Clients, "clients", 1, "clients, each of which waits for one call after the other")
	f.IntVar(&o.Keys, "keys", 1, "counters")
	f.IntVar(&o.Depth, "depth", 1, "calls in one operation, each nested in the one before")
	f.StringVar(&o.Durability, "durability", measure.Process, "process or disk")
	f.DurationVar(&o.Duration, "duration", 5*time.Second, "how long")
	f.IntVar(&o.Ops, "ops", 0, "or how many operations")
	f.BoolVar(&o.Cancellable, "cancellable", false, "call with a context that can end, which costs a hand-over to another goroutine")
	f.StringVar(&profile, "cpuprofile", "", "write a profile of the calls to this file, for go tool pprof")
	f.BoolVar(&o.NoProbe, "no-probe", false, "leave out the bare probe and the bare flushes")
	benchFlags(cmd, &o.Dir, &asJSON)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if o.Clients < 1 || o.Keys < 1 || o.Depth < 1 || o.Ops < 0 || o.Duration <= 0 {
			return usagef("--clients, --keys, --depth and --duration are at least 1")
		}
		if o.Durability != measure.Process && o.Durability != measure.Disk {
			return usagef("--durability %s: it is process or disk", o.Durability)
		}
		if profile != "" {
			file, err := os.Create(profile)
			if err != nil {
				return usagef("%s", err)
			}
			defer file.Close()
			o.CPUProfile = file
		}
		bar := c.progress()
		o.Progress = bar.show
		r, err := bench.Call(cmd.Context(), o)
		bar.end()
		return c.benchResult(r, err, asJSON)
	}
	return cmd
}

func (c *cli) benchSize() *cobra.Command {
	o := bench.SizeOptions{Start: self}
	var asJSON bool
	cmd := &cobra.Command{Use: "size", Short: "The memory of a process after calls and with actors", Args: args(0, 0)}
	f := cmd.Flags()
	f.IntVar(&o.Few, "few", 100_000, "calls")
	f.IntVar(&o.Many, "many", 10_000_000, "more calls")
	f.IntVar(&o.Actors, "actors", 1_000_000, "actors")
	f.IntVar(&o.Live, "live", 100_000, "of the actors, so many live")
	benchFlags(cmd, &o.Dir, &asJSON)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		bar := c.progress()
		o.Progress = bar.show
		r, err := bench.Size(cmd.Context(), o)
		bar.end()
		return c.benchResult(r, err, asJSON)
	}
	return cmd
}

func (c *cli) benchReopen() *cobra.Command {
	o := bench.ReopenOptions{Start: self}
	var asJSON bool
	cmd := &cobra.Command{
		Use: "reopen", Short: "The time from a restart after kill -9 to the first answer", Args: args(0, 0),
	}
	f := cmd.Flags()
	f.StringVar(&o.Durability, "durability", measure.Process, "process or disk")
	f.IntVar(&o.Rounds, "rounds", 5, "kills of each; medians are shown, and the longest of all")
	f.IntVar(&o.Keys, "keys", 100_000, "live actors of the long history")
	f.IntVar(&o.Calls, "calls", 1_000_000, "calls of the long history")
	benchFlags(cmd, &o.Dir, &asJSON)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if o.Rounds < 1 || o.Keys < 1 || o.Calls < 1 {
			return usagef("--rounds, --keys and --calls are at least 1")
		}
		bar := c.progress()
		o.Progress = bar.show
		r, err := bench.Reopen(cmd.Context(), o)
		bar.end()
		return c.benchResult(r, err, asJSON)
	}
	return cmd
}

func (c *cli) benchCheckpoint() *cobra.Command {
	var o bench.CheckpointOptions
	var asJSON bool
	cmd := &cobra.Command{Use: "checkpoint", Short: "What calls see of checkpoints", Args: args(0, 0)}
	f := cmd.Flags()
	f.IntVar(&o.Clients, "clients", 64, "clients")
	f.IntVar(&o.Keys, "keys", 100_000, "counters: what a checkpoint writes")
	f.StringVar(&o.Durability, "durability", measure.Process, "process or disk")
	f.StringVar(&o.Every, "every", "8MiB", "journal between two checkpoints")
	f.IntVar(&o.Rounds, "rounds", 5, "rounds, in which loads with and without checkpoints take turns; medians are shown")
	f.DurationVar(&o.Duration, "duration", 3*time.Second, "how long a round of each of the two loads")
	benchFlags(cmd, &o.Dir, &asJSON)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if o.Clients < 1 || o.Keys < 1 || o.Rounds < 1 || o.Duration <= 0 {
			return usagef("--clients, --keys, --rounds and --duration are at least 1")
		}
		bar := c.progress()
		o.Progress = bar.show
		r, err := bench.Checkpoint(cmd.Context(), o)
		bar.end()
		return c.benchResult(r, err, asJSON)
	}
	return cmd
}

func (c *cli) benchMesh() *cobra.Command {
	o := bench.MeshOptions{Start: self}
	var asJSON bool
	cmd := &cobra.Command{
		Use: "mesh", Short: "Messages between actors of two processes, beside bare TCP and a Go channel", Args: args(0, 0),
		Example: "  pawl bench mesh --rounds 9",
	}
	f := cmd.Flags()
	f.IntVar(&o.Rounds, "rounds", 5, "rounds of each job, in which all sides take turns; medians are shown")
	f.DurationVar(&o.Duration, "duration", 500*time.Millisecond, "how long a round of a job")
	f.BoolVar(&asJSON, "json", false, "print JSON; -o json does as well")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if o.Rounds < 1 || o.Duration <= 0 {
			return usagef("--rounds and --duration are at least 1")
		}
		bar := c.progress()
		o.Progress = bar.show
		r, err := bench.Mesh(cmd.Context(), o)
		bar.end()
		return c.benchResult(r, err, asJSON)
	}
	return cmd
}

func benchFlags(cmd *cobra.Command, dir *string, asJSON *bool) {
	cmd.Flags().StringVar(dir, "dir", "", "where the data go; default: the system's temporary directory")
	cmd.Flags().BoolVar(asJSON, "json", false, "print JSON; -o json does as well")
}

// self starts this program for a job in a process of its own.
func self(ctx context.Context, argument string) *exec.Cmd {
	name, err := os.Executable()
	if err != nil {
		name = os.Args[0]
	}
	return exec.CommandContext(ctx, name, "bench", "child", argument)
}

// benchResult prints a report.
func (c *cli) benchResult(r interface{ Print(io.Writer) }, err error, asJSON bool) error {
	if err != nil {
		return err
	}
	switch {
	case asJSON || c.format == "json":
		return c.json(r, "  ")
	case c.format == "jsonl":
		b, err := json.Marshal(r)
		if err != nil {
			return fmt.Errorf("encode report: %w", err)
		}
		fmt.Fprintf(c.out, "%s\n", b)
		return nil
	}
	r.Print(c.out)
	return nil
}

// progressBar shows on a terminal how far something is.
type progressBar struct {
	out  io.Writer // nil: there is no terminal
	last time.Time
}

func (c *cli) progress() *progressBar {
	if !movesCursor(c.errs) {
		return &progressBar{}
	}
	return &progressBar{out: c.errs}
}

func (b *progressBar) show(what string, done float64, ops int64) {
	if b.out == nil || time.Since(b.last) < 100*time.Millisecond {
		return
	}
	b.last = time.Now()
	const width = 30
	full := min(width, int(done*width))
	fmt.Fprintf(b.out, "\r\x1b[K%-26s [%s%s] %3.0f%%  %d", what,
		strings.Repeat("#", full), strings.Repeat(".", width-full), done*100, ops)
}

func (b *progressBar) end() {
	if b.out != nil {
		fmt.Fprint(b.out, "\r\x1b[K")
	}
}
