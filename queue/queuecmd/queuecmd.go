// Package queuecmd is the command line of package queue: flags in, text out. All
// but append, both repairs, serve and positions --remove only read; a queue may be open
// for appending meanwhile. replication talks to a running serve.
package queuecmd

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"text/tabwriter"

	"github.com/pawl-go/pawl/queue"
	"github.com/spf13/cobra"
)

// ErrDamaged is returned by verify when it found damage, and by repair --dry-run
// when it would do something, so that the command ends with a status that scripts
// see.
var ErrDamaged = errors.New("the queue is damaged")

// ErrUsage is what errors.Is finds in an error of the flags and arguments: nothing
// was done, and the command has to be given in another way.
var ErrUsage = errors.New("wrong usage")

// usageError is an ErrUsage that says what is wrong.
type usageError struct{ text string }

func usagef(format string, args ...any) error { return &usageError{fmt.Sprintf(format, args...)} }

func (e *usageError) Error() string        { return e.text }
func (e *usageError) Is(target error) bool { return target == ErrUsage }

// flags are what all commands share.
type flags struct {
	format  string
	asJSON  bool // --json, the older way to say it
	anyKind bool
}

// Command is `pawl queue` with its subcommands.
func Command() *cobra.Command {
	f := &flags{}
	c := &cobra.Command{
		Use:   "queue",
		Short: "Look into a queue directory, append to it, repair it",
		Args:  cobra.NoArgs,
	}
	pf := c.PersistentFlags()
	pf.StringVarP(&f.format, "output", "o", "", "output for programs: json, or jsonl for an object a line")
	pf.BoolVar(&f.asJSON, "json", false, "the same as -o json")
	pf.BoolVar(&f.anyKind, "any-file-system", false, "also on a file system that cannot be mapped safely, such as NFS")
	c.AddCommand(f.append(), f.tail(), f.dump(), f.stats(), f.verify(), f.repair(), f.positions(), f.serve(), f.replication())
	return c
}

// json says whether programs read the output, and checks the flag.
func (f *flags) json() (bool, error) {
	switch f.format {
	case "":
		return f.asJSON, nil
	case "json", "jsonl":
		return true, nil
	}
	return false, usagef("-o %s: it is json or jsonl", f.format)
}

func (f *flags) config() queue.Config { return queue.Config{AnyFileSystem: f.anyKind} }

// check are the options of verify and repair. What they find is in their report,
// so nothing is logged besides.
func (f *flags) check(b *bar, what string) queue.CheckOptions {
	return queue.CheckOptions{
		AnyFileSystem: f.anyKind,
		Logger:        slog.New(slog.DiscardHandler),
		Progress:      func(done, total int64) { b.show(what, done, total) },
	}
}

// printJSON prints a report: on one line for -o jsonl.
func (f *flags) printJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	if f.format != "jsonl" {
		enc.SetIndent("", "  ")
	}
	return enc.Encode(v)
}

// reading runs a command on a queue that is open for reading.
func (f *flags) reading(dir string, do func(*queue.Queue) error) (err error) {
	q, err := queue.OpenReadOnly(dir, f.config())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, q.Close()) }()
	return do(q)
}

// table prints rows in columns.
func table(w io.Writer, head string, rows func(row func(format string, args ...any))) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	// The errors of a tabwriter come with Flush.
	_, _ = fmt.Fprintln(tw, head)
	rows(func(format string, args ...any) { _, _ = fmt.Fprintf(tw, format+"\n", args...) })
	return tw.Flush()
}

// printer prints until the first error.
type printer struct {
	w   io.Writer
	err error
}

func (p *printer) printf(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format, args...)
	}
}
