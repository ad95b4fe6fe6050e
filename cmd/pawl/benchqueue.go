package main

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/pawl-go/pawl/bench"
)

func (c *cli) benchQueue() *cobra.Command {
	o := bench.QueueOptions{Start: self}
	var asJSON bool
	cmd := &cobra.Command{
		Use: "queue", Short: "The queue on one host, beside a bare mapped log", Args: args(0, 0),
		Example: "  pawl bench queue --dir /var/lib/pawl --rounds 9",
	}
	f := cmd.Flags()
	f.IntVar(&o.Rounds, "rounds", 5, "rounds of each job, in which all sides take turns; medians are shown")
	f.DurationVar(&o.Duration, "duration", 500*time.Millisecond, "how long a round of a job that waits")
	f.IntVar(&o.Cycles, "cycles", 10_000, "cycles of the queue that is opened")
	benchFlags(cmd, &o.Dir, &asJSON)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if o.Rounds < 1 || o.Duration <= 0 || o.Cycles < 1 {
			return usagef("--rounds, --duration and --cycles are at least 1")
		}
		bar := c.progress()
		o.Progress = bar.show
		r, err := bench.Queue(cmd.Context(), o)
		bar.end()
		return c.benchResult(r, err, asJSON)
	}
	return cmd
}

func (c *cli) benchReplica() *cobra.Command {
	var o bench.ReplicaOptions
	var asJSON bool
	cmd := &cobra.Command{
		Use: "replica", Short: "The queue on two and three hosts over loopback, beside bare TCP and a bare flush", Args: args(0, 0),
		Example: "  pawl bench replica --dir /var/lib/pawl --rounds 9",
	}
	f := cmd.Flags()
	f.IntVar(&o.Rounds, "rounds", 5, "rounds of each job, in which all sides take turns; medians are shown")
	f.DurationVar(&o.Duration, "duration", 500*time.Millisecond, "how long a round of a job that lasts")
	f.IntVar(&o.Bytes, "bytes", 48<<20, "of payload that a sink catches up with")
	benchFlags(cmd, &o.Dir, &asJSON)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if o.Rounds < 1 || o.Duration <= 0 || o.Bytes < 1024 || o.Bytes > 60<<20 {
			return usagef("--rounds and --duration are at least 1, --bytes 1 KiB to 60 MiB")
		}
		bar := c.progress()
		o.Progress = bar.show
		r, err := bench.Replica(cmd.Context(), o)
		bar.end()
		return c.benchResult(r, err, asJSON)
	}
	return cmd
}
