package queuecmd

import (
	"errors"

	"github.com/pawl-go/pawl/queue"
	"github.com/spf13/cobra"
)

type tailFlags struct {
	entries
	last   int
	follow bool
	name   string
	hold   bool
}

func (f *flags) tail() *cobra.Command {
	t := tailFlags{entries: entries{flags: f}}
	c := &cobra.Command{
		Use:   "tail DIR",
		Short: "Print the last entries of a queue, and with -f those that come",
		Long: "Print the last entries of a queue, and with -f those that come.\n\n" +
			"With --name the position is kept under that name: the command goes on where the last one of\n" +
			"that name has ended, begins with the first entry when there was none, and commits an entry once\n" +
			"it is printed.",
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if err := t.prepare(); err != nil {
				return err
			}
			if t.name != "" {
				return t.named(c, args[0])
			}
			return t.reading(args[0], func(q *queue.Queue) error { return t.run(c, q) })
		},
	}
	t.add(c)
	fl := c.Flags()
	fl.IntVarP(&t.last, "lines", "n", 10, "how many of the last entries")
	fl.BoolVarP(&t.follow, "follow", "f", false, "wait for more at the end")
	fl.StringVar(&t.name, "name", "", "keep the position under this name")
	fl.BoolVar(&t.hold, "hold-back", false, "with --name: keep the retention from deleting what was not read")
	c.MarkFlagsMutuallyExclusive("name", "lines")
	return c
}

func (f *tailFlags) run(c *cobra.Command, q *queue.Queue) error {
	t := q.NewTailer(q.Last() + 1)
	defer t.Close()
	for n := 0; n < f.last; n++ {
		_, _, ok, err := t.TryPrev()
		if _, lost := errors.AsType[*queue.LostError](err); lost {
			continue
		}
		if err != nil {
			return err
		}
		if !ok {
			break
		}
	}
	return f.printAll(c, t, func() error { return nil })
}

// printAll prints one entry after the other.
func (f *tailFlags) printAll(c *cobra.Command, t *queue.Tailer, done func() error) error {
	out := c.OutOrStdout()
	for {
		i, p, ok, err := f.next(c.Context(), out, t, f.follow)
		if err != nil || !ok {
			return err
		}
		if err := errors.Join(f.print(out, i, p), done()); err != nil {
			return err
		}
	}
}

func (f *tailFlags) named(c *cobra.Command, dir string) (err error) {
	q, err := queue.OpenReader(dir, f.config())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, q.Close()) }()
	t, err := q.NewNamedTailer(f.name, queue.PositionOptions{HoldBack: f.hold})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.Sync(), t.Close()) }()
	return f.printAll(c, t.Tailer, t.Commit)
}
