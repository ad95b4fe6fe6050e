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
