package main

import (
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/pawl-go/pawl/bench"
)

func (c *cli) benchHTTP() *cobra.Command {
	var o bench.HTTPOptions
	var asJSON bool
	cmd := &cobra.Command{
		Use: "http", Short: "Calls over HTTP to an application behind pawl run, beside bare HTTP to it", Args: args(0, 0),
		Example: "  pawl bench http --dir /var/lib/pawl --rounds 9",
	}
	f := cmd.Flags()
	f.IntVar(&o.Rounds, "rounds", 5, "rounds of each job, in which all sides take turns; medians are shown")
	f.DurationVar(&o.Duration, "duration", time.Second, "how long a round of one side")
	f.IntVar(&o.Clients, "clients", 64, "clients of the jobs with many")
	f.IntVar(&o.Keys, "keys", 1000, "counters of the jobs with many clients")
	benchFlags(cmd, &o.Dir, &asJSON)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if o.Rounds < 1 || o.Duration <= 0 || o.Clients < 2 || o.Keys < 1 {
			return usagef("--rounds, --duration and --keys are at least 1, --clients at least 2")
		}
		var err error
		if o.Pawl, err = os.Executable(); err != nil {
			return err
		}
		bar := c.progress()
		o.Progress = bar.show
		r, err := bench.HTTP(cmd.Context(), o)
		bar.end()
		return c.benchResult(r, err, asJSON)
	}
	return cmd
}

func (c *cli) benchRecovery() *cobra.Command {
	var o bench.RecoveryOptions
	var asJSON bool
	cmd := &cobra.Command{
		Use: "recovery", Short: "What callers see when a component, or the server, is killed or stopped, and when others join", Args: args(0, 0),
	}
	f := cmd.Flags()
	f.IntVar(&o.Rounds, "rounds", 5, "rounds of each job; medians are shown, and the longest of all")
	f.IntVar(&o.Failures, "failures", 3, "failures of each kind in a round")
	f.DurationVar(&o.Duration, "duration", 2*time.Second, "how long a round of calls while others join and leave")
	f.DurationVar(&o.Heartbeat, "heartbeat-timeout", 3*time.Second, "of the server")
	benchFlags(cmd, &o.Dir, &asJSON)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if o.Rounds < 1 || o.Failures < 1 || o.Duration <= 0 || o.Heartbeat <= 0 {
			return usagef("--rounds, --failures, --duration and --heartbeat-timeout are at least 1")
		}
		var err error
		if o.Pawl, err = os.Executable(); err != nil {
			return err
		}
		bar := c.progress()
		o.Progress = bar.show
		r, err := bench.Recovery(cmd.Context(), o)
		bar.end()
		return c.benchResult(r, err, asJSON)
	}
	return cmd
}
