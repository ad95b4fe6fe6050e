package queuecmd

import (
	"github.com/pawl-go/pawl/queue/replica"
	"github.com/spf13/cobra"
)

func (f *flags) replicationRepair() *cobra.Command {
	var always bool
	c := &cobra.Command{
		Use:   "repair DIR",
		Short: "Have a stopped host copy a damaged queue anew from the others",
		Long: "Read and check every byte of the copy of a queue at a host that is stopped. If there is damage, the\n" +
			"directory is renamed, with all that is in it, and the host copies the queue anew from the others when\n" +
			"it starts; until then it promises nothing. Nothing is deleted: remove what was put aside once the\n" +
			"status shows that the host is whole. Named tailers of the copy begin anew too. Make sure that the\n" +
			"others have what counts: if this host is the only one left, `pawl queue repair` is what helps.",
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			asJSON, err := f.json()
			if err != nil {
				return err
			}
			b := newBar(c)
			aside, r, err := replica.PutAside(args[0], always, f.check(b, "verify"))
			b.end()
			if err != nil {
				return err
			}
			if asJSON {
				return f.printJSON(c.OutOrStdout(), putAside{Dir: args[0], Aside: aside, Damaged: r.Damaged()})
			}
			if err := printReport(c.OutOrStdout(), &r); err != nil {
				return err
			}
			p := &printer{w: c.OutOrStdout()}
			if aside == "" {
				p.printf("there is no damage, and nothing was changed\n")
			} else {
				p.printf("put aside: %s\nstart the host: it copies the queue anew\n", aside)
			}
			return p.err
		},
	}
	c.Flags().BoolVar(&always, "always", false, "also a copy in which there is no damage")
	return c
}

// putAside is what came of a repair from the other hosts, for programs.
type putAside struct {
	Dir     string `json:"dir"`
	Aside   string `json:"aside,omitempty"` // where the copy is now; empty: where it was
	Damaged bool   `json:"damaged"`
}
