// Package queuecmd is the command line of package queue: flags in, text out. It
// only reads; a queue may be open for appending meanwhile.
package queuecmd

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/pawl-go/pawl/queue"
	"github.com/spf13/cobra"
)

// ErrDamaged is returned by verify when it found damage, so that the command
// ends with a status that scripts see.
var ErrDamaged = errors.New("the queue is damaged")

// Command is `pawl queue` with its subcommands.
func Command() *cobra.Command {
	c := &cobra.Command{
		Use:   "queue",
		Short: "Look into a queue directory",
		Args:  cobra.NoArgs,
	}
	c.AddCommand(dump(), verify(), stats())
	return c
}

type dumpFlags struct {
	from, to string
	limit    int
	follow   bool
	asJSON   bool
	raw      bool
	width    int
}

func dump() *cobra.Command {
	var f dumpFlags
	c := &cobra.Command{
		Use:   "dump DIR",
		Short: "Print the entries of a queue",
		Args:  cobra.ExactArgs(1),
		RunE:  func(c *cobra.Command, args []string) error { return f.run(c, args[0]) },
	}
	fl := c.Flags()
	fl.StringVar(&f.from, "from", "", "first index, as cycle:sequence (default the first kept)")
	fl.StringVar(&f.to, "to", "", "last index, inclusive (default the end)")
	fl.IntVarP(&f.limit, "limit", "n", 0, "print at most so many entries (0: all)")
	fl.BoolVarP(&f.follow, "follow", "f", false, "wait for more at the end")
	fl.BoolVar(&f.asJSON, "json", false, "one JSON object per line; the payload in base64")
	fl.BoolVar(&f.raw, "raw", false, "the payloads alone, with a newline behind each")
	fl.IntVar(&f.width, "width", 64, "bytes of each payload to show (0: all)")
	c.MarkFlagsMutuallyExclusive("json", "raw")
	return c
}

type dumped struct {
	Index   string `json:"index"`
	Bytes   int    `json:"bytes"`
	Payload []byte `json:"payload"`
}

func (f *dumpFlags) run(c *cobra.Command, dir string) (err error) {
	from, to := queue.Index(0), ^queue.Index(0)
	if f.from != "" {
		if from, err = queue.ParseIndex(f.from); err != nil {
			return err
		}
	}
	if f.to != "" {
		if to, err = queue.ParseIndex(f.to); err != nil {
			return err
		}
	}
	q, err := queue.OpenReadOnly(dir, queue.Config{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, q.Close()) }()
	t := q.NewTailer(from)
	defer t.Close()
	out := c.OutOrStdout()
	for n := 0; f.limit == 0 || n < f.limit; n++ {
		i, p, ok, err := t.TryNext()
		if err == nil && !ok && f.follow {
			i, p, err = t.Next(c.Context())
			if err != nil && c.Context().Err() != nil {
				return nil // interrupted: that is how following ends
			}
			ok = err == nil
		}
		if err != nil {
			return err
		}
		if !ok || i > to {
			return nil
		}
		if err := f.print(out, i, p); err != nil {
			return fmt.Errorf("print entry %s: %w", i, err)
		}
	}
	return nil
}

func (f *dumpFlags) print(w io.Writer, i queue.Index, p []byte) error {
	var err error
	switch {
	case f.asJSON:
		err = json.NewEncoder(w).Encode(dumped{Index: i.String(), Bytes: len(p), Payload: p})
	case f.raw:
		_, err = fmt.Fprintf(w, "%s\n", p)
	default:
		more := ""
		shown := p
		if f.width > 0 && len(p) > f.width {
			shown, more = p[:f.width], "..."
		}
		_, err = fmt.Fprintf(w, "%s\t%d\t%q%s\n", i, len(p), shown, more)
	}
	return err
}

func verify() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "verify DIR",
		Short: "Read and check every byte of a queue",
		Long: "Read and check every byte of a queue. A torn tail is reported and is no failure: the next\n" +
			"opening sets it aside. Damage is one, and so is the exit status then.",
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			r, err := queue.Verify(args[0], queue.CheckOptions{})
			if err != nil {
				return err
			}
			if asJSON {
				err = printJSON(c.OutOrStdout(), r)
			} else {
				err = printReport(c.OutOrStdout(), &r)
			}
			if err == nil && r.Damaged() {
				err = fmt.Errorf("verify queue %s: %w", args[0], ErrDamaged)
			}
			return err
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print the report as JSON")
	return c
}

func printReport(w io.Writer, r *queue.Report) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row(tw, "CYCLE\tENTRIES\tPAYLOAD\tUSED\tFILE\tBATCHES\tPADDING\tFLUSHED\tSTATE\n")
	for _, c := range r.Cycles {
		state := "open"
		switch {
		case c.Sealed:
			state = "sealed"
		case c.Over:
			state = "over"
		}
		row(tw, "%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%s\n",
			c.Number, c.Entries, c.Payload, c.Used, c.Length, c.Batches, c.Padding, c.Flushed, state)
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	ew := &errWriter{w: w}
	ew.printf("%d entries in %d bytes, first %s, last %s\n", r.Entries, r.Bytes, r.First, r.Last)
	if r.Appending {
		ew.printf("open for appending by process %d on %s (%s)\n", r.Holder.PID, r.Holder.Host, r.Holder.Command)
	}
	for _, t := range r.Torn {
		ew.printf("set aside by a recovery: %s\n", t)
	}
	for _, p := range r.Problems {
		kind := "DAMAGE"
		if p.Torn {
			kind = "torn tail"
		}
		ew.printf("%s: %s at offset %d, index %s: %s\n", kind, p.Path, p.Offset, p.Index, p.Reason)
	}
	if len(r.Problems) == 0 {
		ew.printf("everything checks\n")
	}
	return ew.err
}

// row writes to a tabwriter, whose errors come with Flush.
func row(tw *tabwriter.Writer, format string, args ...any) {
	_, _ = fmt.Fprintf(tw, format, args...)
}

type errWriter struct {
	w   io.Writer
	err error
}

func (e *errWriter) printf(format string, args ...any) {
	if e.err == nil {
		_, e.err = fmt.Fprintf(e.w, format, args...)
	}
}

func printJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

func stats() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "stats DIR",
		Short: "Count what a queue holds",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) (err error) {
			q, err := queue.OpenReadOnly(args[0], queue.Config{})
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, q.Close()) }()
			if asJSON {
				return printJSON(c.OutOrStdout(), q.Stats())
			}
			return printStats(c.OutOrStdout(), q)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print the totals as JSON")
	return c
}

func printStats(w io.Writer, q *queue.Queue) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row(tw, "CYCLE\tCREATED\tENTRIES\tBYTES\tFIRST\tLAST\tSEALED\n")
	for _, c := range q.Cycles() {
		row(tw, "%d\t%s\t%d\t%d\t%s\t%s\t%t\n",
			c.Number, c.Created.UTC().Format(time.RFC3339), c.Entries, c.Bytes, c.First, c.Last, c.Sealed)
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	s := q.Stats()
	ew := &errWriter{w: w}
	ew.printf("%d entries in %d bytes, %d cycles (%d sealed), first %s, last %s\n",
		s.Entries, s.Bytes, s.Cycles, s.Sealed, s.First, s.Last)
	return ew.err
}
