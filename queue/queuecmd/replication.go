package queuecmd

import (
	"io"
	"time"

	"github.com/pawl-go/pawl/queue"
	"github.com/pawl-go/pawl/queue/replica"
	"github.com/pawl-go/pawl/queue/replica/control"
	"github.com/spf13/cobra"
)

// addLimit adds the flag for how long a command may wait.
func addLimit(c *cobra.Command, limit *time.Duration) {
	c.Flags().DurationVar(limit, "timeout", 30*time.Second, "how long to wait")
}

func (f *flags) replication() *cobra.Command {
	c := &cobra.Command{
		Use:   "replication",
		Short: "How the copies of queues stand; switch their source, take over",
		Args:  cobra.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(f.replicationStatus(), f.replicationSwitch(), f.replicationTakeOver(), f.replicationRepair())
	return c
}

func (f *flags) replicationSwitch() *cobra.Command {
	var w where
	var limit time.Duration
	var to uint8
	c := &cobra.Command{
		Use:   "switch QUEUE --to ID",
		Short: "Hand a queue over from the host that is its source to another",
		Long: "Hand a queue over from the running host, which must be its source, to another: it stops appending,\n" +
			"waits until the other has everything, and follows it. If that fails it is the source again.",
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			asJSON, err := f.json()
			if err != nil {
				return err
			}
			if to == 0 {
				return usagef("say which host is to be the source (--to ID)")
			}
			client, err := w.client()
			if err != nil {
				return err
			}
			began := time.Now()
			if err := client.Switch(c.Context(), args[0], replica.HostID(to), limit); err != nil {
				return err
			}
			took := time.Since(began).Round(time.Millisecond)
			if asJSON {
				return f.printJSON(c.OutOrStdout(), switched{Queue: args[0], Source: replica.HostID(to), TookMS: took.Milliseconds()})
			}
			p := &printer{w: c.OutOrStdout()}
			p.printf("host %d is the source of %s now, after %v\n", to, args[0], took)
			return p.err
		},
	}
	w.add(c)
	addLimit(c, &limit)
	c.Flags().Uint8Var(&to, "to", 0, "id of the host that becomes the source")
	return c
}

// switched is what came of a switch, for programs.
type switched struct {
	Queue  string         `json:"queue"`
	Source replica.HostID `json:"source"`
	TookMS int64          `json:"tookMs"`
}

func (f *flags) replicationTakeOver() *cobra.Command {
	var w where
	var limit time.Duration
	var force bool
	c := &cobra.Command{
		Use:   "takeover QUEUE",
		Short: "Make a running host the source of a queue whose source is gone",
		Long: "Make the running host the source of a queue: it waits for the promises of enough hosts, and takes\n" +
			"what they have and it has not. With --force it goes on with the hosts that can be reached: entries\n" +
			"that counted and that only others hold are lost. What each host held is printed.",
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			asJSON, err := f.json()
			if err != nil {
				return err
			}
			client, err := w.client()
			if err != nil {
				return err
			}
			t, err := client.TakeOver(c.Context(), args[0], force, limit)
			if err != nil {
				return err
			}
			if asJSON {
				return f.printJSON(c.OutOrStdout(), t)
			}
			return printTakenOver(c.OutOrStdout(), args[0], t)
		},
	}
	w.add(c)
	addLimit(c, &limit)
	c.Flags().BoolVar(&force, "force", false, "also without enough promises: what only others hold is lost")
	return c
}

func printTakenOver(w io.Writer, name string, t control.TakenOver) error {
	p := &printer{w: w}
	p.printf("this host is the source of %s now\n", name)
	if p.err != nil || len(t.Holds) == 0 {
		return p.err
	}
	p.printf("\nit was taken over without enough promises; what each host held then:\n")
	if p.err != nil {
		return p.err
	}
	best := queue.Index(0)
	err := table(w, "HOST\tREACHED\tPROMISED\tLAST\tIN EPOCH\tCOUNTED\tTRUST", func(row func(string, ...any)) {
		for _, h := range t.Holds {
			if !h.Reachable {
				row("%d\tno: what counted and only it holds is lost", h.Host)
				continue
			}
			best = max(best, h.Counted)
			row("%d\tyes\t%t\t%s\t%s\t%s\t%s", h.Host, h.Promises, h.Last, h.Epoch, h.Counted, h.Trust)
		}
	})
	if err != nil {
		return err
	}
	p.printf("entries up to %s are known to have counted\n", best)
	return p.err
}
