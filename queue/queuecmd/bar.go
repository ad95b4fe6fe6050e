package queuecmd

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
)

// bar shows on a terminal how far a command is; anywhere else it shows nothing.
type bar struct {
	out  io.Writer // nil: there is no terminal
	last time.Time
}

func newBar(c *cobra.Command) *bar {
	if out := c.ErrOrStderr(); isTerminal(out) {
		return &bar{out: out}
	}
	return &bar{}
}

// isTerminal says whether w is a terminal that can move its cursor.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok || os.Getenv("TERM") == "dumb" {
		return false
	}
	fi, err := f.Stat()
	return err == nil && fi.Mode()&os.ModeCharDevice != 0 && f.Name() != os.DevNull
}

// due says whether it is time to show something; looking at the clock each time is
// cheap next to what is shown.
func (b *bar) due() bool {
	if b.out == nil || time.Since(b.last) < 100*time.Millisecond {
		return false
	}
	b.last = time.Now()
	return true
}

func (b *bar) show(what string, done, total int64) {
	if total > 0 && b.due() {
		_, _ = fmt.Fprintf(b.out, "\r\x1b[K%s %3d%%", what, done*100/total)
	}
}

func (b *bar) count(what string, n int64) {
	if b.due() {
		_, _ = fmt.Fprintf(b.out, "\r\x1b[K%s %d", what, n)
	}
}

func (b *bar) end() {
	if b.out != nil {
		_, _ = fmt.Fprint(b.out, "\r\x1b[K")
	}
}
