package queuecmd

import (
	"fmt"
	"io"

	"github.com/pawl-go/pawl/queue"
	"github.com/spf13/cobra"
)

func (f *flags) verify() *cobra.Command {
	return &cobra.Command{
		Use:   "verify DIR",
		Short: "Read and check every byte of a queue",
		Long: "Read and check every byte of a queue. A torn tail is reported and is no failure: the next\n" +
			"opening sets it aside; nor is a hint, which is made again or passed over. Damage is one, and so\n" +
			"is the exit status then; see repair.",
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			asJSON, err := f.json()
			if err != nil {
				return err
			}
			b := newBar(c)
			r, err := queue.Verify(args[0], f.check(b, "verify"))
			b.end()
			if err != nil {
				return err
			}
			if asJSON {
				err = f.printJSON(c.OutOrStdout(), r)
			} else {
				err = printReport(c.OutOrStdout(), &r)
			}
			if err == nil && r.Damaged() {
				err = fmt.Errorf("verify queue %s: %w", args[0], ErrDamaged)
			}
			return err
		},
	}
}

func printReport(w io.Writer, r *queue.Report) error {
	err := table(w, "CYCLE\tENTRIES\tPAYLOAD\tUSED\tFILE\tBATCHES\tPADDING\tNOTES\tLOST\tFLUSHED\tSTATE", func(row func(string, ...any)) {
		for _, c := range r.Cycles {
			state := "open"
			switch {
			case c.Sealed:
				state = "sealed"
			case c.Over:
				state = "over"
			}
			row("%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%s",
				c.Number, c.Entries, c.Payload, c.Used, c.Length, c.Batches, c.Padding, c.Notes, c.Lost, c.Flushed, state)
		}
	})
	if err != nil {
		return err
	}
	p := &printer{w: w}
	p.printf("%d entries in %d bytes, first %s, last %s\n", r.Entries, r.Bytes, r.First, r.Last)
	if r.Appending {
		p.printf("open for appending by process %d on %s (%s)\n", r.Holder.PID, r.Holder.Host, r.Holder.Command)
	}
	for _, t := range r.Torn {
		p.printf("set aside: %s\n", t)
	}
	for _, pr := range r.Problems {
		kind := "DAMAGE"
		switch {
		case pr.Torn:
			kind = "torn tail"
		case pr.Hint:
			kind = "hint"
		}
		p.printf("%s: %s at offset %d, index %s: %s\n", kind, pr.Path, pr.Offset, pr.Index, pr.Reason)
	}
	if len(r.Problems) == 0 {
		p.printf("everything checks\n")
	}
	return p.err
}

func (f *flags) repair() *cobra.Command {
	var dry bool
	c := &cobra.Command{
		Use:   "repair DIR",
		Short: "Go past damage, so that a queue opens again",
		Long: "Go past the damage in a queue that nobody has open for appending, so that it opens again. What\n" +
			"cannot be read is given up, after its bytes were put into torn-* files with a report; no index\n" +
			"ever gets another entry. Where there is a copy of the damaged files, restore that instead.",
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			asJSON, err := f.json()
			if err != nil {
				return err
			}
			b := newBar(c)
			o := f.check(b, "repair")
			o.DryRun = dry
			r, err := queue.Repair(args[0], o)
			b.end()
			if err != nil {
				return err
			}
			if asJSON {
				err = f.printJSON(c.OutOrStdout(), r)
			} else {
				err = printRepair(c.OutOrStdout(), &r, dry)
			}
			if err == nil && dry && len(r.Mends) > 0 {
				err = fmt.Errorf("look at queue %s: %w", args[0], ErrDamaged)
			}
			return err
		},
	}
	c.Flags().BoolVar(&dry, "dry-run", false, "say what would be done, and change nothing")
	return c
}

func printRepair(w io.Writer, r *queue.RepairReport, dry bool) error {
	p := &printer{w: w}
	if len(r.Mends) == 0 {
		p.printf("there is no damage\n")
	} else {
		err := table(w, "CYCLE\tOFFSET\tBYTES\tFIRST LOST\tLOST\tGIVEN UP WHOLE\tDONE\tREASON", func(row func(string, ...any)) {
			for _, m := range r.Mends {
				first, lost := "-", fmt.Sprint(m.Lost)
				if m.First != 0 {
					first = m.First.String()
				}
				if m.Lost < 0 {
					lost = "unknown"
				}
				row("%d\t%d\t%d\t%s\t%s\t%d\t%s\t%s", m.Cycle, m.Offset, m.Bytes, first, lost, m.Whole, m.Did, m.Reason)
			}
		})
		if err != nil {
			return err
		}
	}
	for _, name := range r.Files {
		p.printf("set aside: %s\n", name)
	}
	if t := r.Recovery; t != nil {
		p.printf("set a torn tail aside: %d bytes behind %s (%s)\n", t.Bytes, t.Last, t.Reason)
	}
	if dry && len(r.Mends) > 0 {
		p.printf("nothing was changed\n")
	}
	return p.err
}
