package queuecmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/pawl-go/pawl/queue"
	"github.com/spf13/cobra"
)

// entries are the flags of the commands that print entries.
type entries struct {
	*flags
	raw    bool
	width  int
	asJSON bool
}

func (e *entries) add(c *cobra.Command) {
	c.Flags().BoolVar(&e.raw, "raw", false, "the payloads alone, with a newline behind each")
	c.Flags().IntVar(&e.width, "width", 64, "bytes of each payload to show (0: all)")
}

// prepare checks the flags.
func (e *entries) prepare() (err error) {
	if e.asJSON, err = e.json(); err == nil && e.asJSON && e.raw {
		err = usagef("--raw and -o json exclude each other")
	}
	return err
}

type printed struct {
	Index   string `json:"index"`
	Bytes   int    `json:"bytes"`
	Payload []byte `json:"payload"`
	Lost    bool   `json:"lost,omitempty"`
}

func (e *entries) print(w io.Writer, i queue.Index, p []byte) error {
	var err error
	switch {
	case e.asJSON:
		err = json.NewEncoder(w).Encode(printed{Index: i.String(), Bytes: len(p), Payload: p})
	case e.raw:
		_, err = fmt.Fprintf(w, "%s\n", p)
	default:
		more := ""
		shown := p
		if e.width > 0 && len(p) > e.width {
			shown, more = p[:e.width], "..."
		}
		_, err = fmt.Fprintf(w, "%s\t%d\t%q%s\n", i, len(p), shown, more)
	}
	if err != nil {
		return fmt.Errorf("print entry %s: %w", i, err)
	}
	return nil
}

// next reads an entry, and waits for it if told to. An entry that a repair gave up
// is printed as such, and passed over. It ends with false at the end, and when
// following was interrupted.
func (e *entries) next(ctx context.Context, w io.Writer, t *queue.Tailer, follow bool) (queue.Index, []byte, bool, error) {
	for {
		i, p, ok, err := t.TryNext()
		if err == nil && !ok && follow {
			i, p, err = t.Next(ctx)
			ok = err == nil
			if ctx.Err() != nil {
				return i, p, ok, nil //nolint:nilerr // that is how following ends
			}
		}
		lost, is := errors.AsType[*queue.LostError](err)
		if !is {
			return i, p, ok, err
		}
		if err := e.printLost(w, lost.Index); err != nil {
			return 0, nil, false, err
		}
	}
}

func (e *entries) printLost(w io.Writer, i queue.Index) (err error) {
	switch {
	case e.asJSON:
		err = json.NewEncoder(w).Encode(printed{Index: i.String(), Lost: true})
	case !e.raw:
		_, err = fmt.Fprintf(w, "%s\tlost: given up by a repair\n", i)
	}
	return err
}

type dumpFlags struct {
	entries
	from, to string
	limit    int
	follow   bool
}

func (f *flags) dump() *cobra.Command {
	d := dumpFlags{entries: entries{flags: f}}
	c := &cobra.Command{
		Use:   "dump DIR",
		Short: "Print the entries of a queue",
		Args:  cobra.ExactArgs(1),
		RunE:  func(c *cobra.Command, args []string) error { return d.run(c, args[0]) },
	}
	d.add(c)
	fl := c.Flags()
	fl.StringVar(&d.from, "from", "", "first index, as cycle:sequence (default the first kept)")
	fl.StringVar(&d.to, "to", "", "last index, inclusive (default the end)")
	fl.IntVarP(&d.limit, "limit", "n", 0, "print at most so many entries (0: all)")
	fl.BoolVarP(&d.follow, "follow", "f", false, "wait for more at the end")
	return c
}

func (d *dumpFlags) run(c *cobra.Command, dir string) error {
	from, err := parseIndex(d.from, 0)
	if err != nil {
		return err
	}
	to, err := parseIndex(d.to, ^queue.Index(0))
	if err != nil {
		return err
	}
	if err := d.prepare(); err != nil {
		return err
	}
	return d.reading(dir, func(q *queue.Queue) error {
		t := q.NewTailer(from)
		defer t.Close()
		out := c.OutOrStdout()
		for n := 0; d.limit == 0 || n < d.limit; n++ {
			i, p, ok, err := d.next(c.Context(), out, t, d.follow)
			if err != nil || !ok || i > to {
				return err
			}
			if err := d.print(out, i, p); err != nil {
				return err
			}
		}
		return nil
	})
}

func parseIndex(s string, none queue.Index) (queue.Index, error) {
	if s == "" {
		return none, nil
	}
	return queue.ParseIndex(s)
}
