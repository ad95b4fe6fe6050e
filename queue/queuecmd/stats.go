package queuecmd

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/pawl-go/pawl/queue"
	"github.com/spf13/cobra"
)

type statsReport struct {
	queue.Stats
	Files     []queue.CycleInfo    `json:"files"`
	Positions []queue.PositionInfo `json:"positions"`
}

func (f *flags) stats() *cobra.Command {
	return &cobra.Command{
		Use:   "stats DIR",
		Short: "Count what a queue holds, and how far its named tailers are",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			asJSON, err := f.json()
			if err != nil {
				return err
			}
			return f.reading(args[0], func(q *queue.Queue) error {
				r := statsReport{Stats: q.Stats(), Files: q.Cycles()}
				if r.Positions, err = q.Positions(); err != nil {
					return err
				}
				if asJSON {
					return f.printJSON(c.OutOrStdout(), r)
				}
				return printStats(c.OutOrStdout(), &r)
			})
		},
	}
}

func printStats(w io.Writer, r *statsReport) error {
	err := table(w, "CYCLE\tCREATED\tENTRIES\tBYTES\tFIRST\tLAST\tSEALED", func(row func(string, ...any)) {
		for _, c := range r.Files {
			row("%d\t%s\t%d\t%d\t%s\t%s\t%t",
				c.Number, c.Created.UTC().Format(time.RFC3339), c.Entries, c.Bytes, c.First, c.Last, c.Sealed)
		}
	})
	if err != nil {
		return err
	}
	p := &printer{w: w}
	p.printf("%d entries in %d bytes, %d cycles (%d sealed), first %s, last %s\n",
		r.Entries, r.Bytes, r.Cycles, r.Sealed, r.First, r.Last)
	if p.err != nil || len(r.Positions) == 0 {
		return p.err
	}
	p.printf("\n")
	return errors.Join(p.err, printPositions(w, r.Positions, behind(r.Files)))
}

// behind counts the entries from an index on.
func behind(cycles []queue.CycleInfo) func(queue.Index) int64 {
	return func(next queue.Index) (n int64) {
		for _, c := range cycles {
			switch {
			case c.Number > next.Cycle():
				n += int64(c.Entries)
			case c.Number == next.Cycle():
				n += max(int64(c.Entries)-int64(next.Seq()), 0)
			}
		}
		return n
	}
}

func printPositions(w io.Writer, ps []queue.PositionInfo, behind func(queue.Index) int64) error {
	return table(w, "POSITION\tNEXT\tBEHIND\tHOLDS BACK\tMOVED\tIN USE BY", func(row func(string, ...any)) {
		for _, p := range ps {
			if p.Problem != "" {
				row("%s\t%s", p.Name, p.Problem)
				continue
			}
			by := "-"
			if p.InUse {
				by = fmt.Sprintf("process %d on %s", p.Holder.PID, p.Holder.Host)
			}
			row("%s\t%s\t%d\t%t\t%s\t%s", p.Name, p.Next, behind(p.Next), p.HoldBack, p.Moved.UTC().Format(time.RFC3339), by)
		}
	})
}

func (f *flags) positions() *cobra.Command {
	var remove string
	c := &cobra.Command{
		Use:   "positions DIR",
		Short: "List the named tailers of a queue, or forget one",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) (err error) {
			asJSON, err := f.json()
			if err != nil {
				return err
			}
			open := queue.OpenReadOnly
			if remove != "" {
				open = queue.OpenReader
			}
			q, err := open(args[0], f.config())
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, q.Close()) }()
			if remove != "" {
				return q.RemovePosition(remove)
			}
			ps, err := q.Positions()
			if err != nil {
				return err
			}
			if asJSON {
				return f.printJSON(c.OutOrStdout(), ps)
			}
			return printPositions(c.OutOrStdout(), ps, behind(q.Cycles()))
		},
	}
	c.Flags().StringVar(&remove, "remove", "", "forget this position, whatever it holds back")
	return c
}
