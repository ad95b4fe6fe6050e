package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

// A colour of a terminal.
type colour string

const (
	red    colour = "\x1b[31m"
	green  colour = "\x1b[32m"
	yellow colour = "\x1b[33m"
	dim    colour = "\x1b[2m"
)

// paint colours s, on a terminal only.
func (c *cli) paint(with colour, s string) string {
	if !c.colour || with == "" {
		return s
	}
	return string(with) + s + "\x1b[0m"
}

// isTerminal says whether somebody sits at f.
func isTerminal(f any) bool {
	file, ok := f.(*os.File)
	if !ok {
		return false
	}
	fi, err := file.Stat()
	if err != nil || fi.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(fi, null)
}

// movesCursor says whether w is a terminal that can do more than scroll.
func movesCursor(w any) bool { return isTerminal(w) && os.Getenv("TERM") != "dumb" }

// showsColour says whether w is a terminal whose user wants colours.
func showsColour(w any) bool { return movesCursor(w) && os.Getenv("NO_COLOR") == "" }

// list is what a listing command shows, in every format.
type list struct {
	head  []string
	rows  []row
	items []any // for json and jsonl, as many as there are rows
	all   any   // what json shows instead of items, if not nil
	note  string
	empty string // said to people when there is nothing
}

type row struct {
	cells  []string
	id     string // for -o id
	colour colour // of the cell under STATUS, or of all
}

func (l *list) add(item any, id string, with colour, cells ...string) {
	l.rows = append(l.rows, row{cells: cells, id: id, colour: with})
	l.items = append(l.items, item)
}

// show prints a list in the format asked for.
func (c *cli) show(l *list) error {
	switch c.format {
	case "":
		c.table(l)
		return nil
	case "id":
		for _, r := range l.rows {
			fmt.Fprintln(c.out, r.id)
		}
		return nil
	case "jsonl":
		for _, item := range l.items {
			if err := c.json(item, ""); err != nil {
				return err
			}
		}
		return nil
	case "json":
		if l.all != nil {
			return c.json(l.all, "  ")
		}
		if l.items == nil {
			l.items = []any{}
		}
		return c.json(l.items, "  ")
	}
	return badFormat(c.format)
}

func badFormat(format string) error {
	return usagef("-o %s: it is table, json, jsonl or id", format)
}

// checkFormat refuses a format before anything is done, not only when its result
// is to be shown.
func (c *cli) checkFormat() error {
	switch c.format {
	case "table":
		c.format = ""
	case "", "json", "jsonl", "id":
	default:
		return badFormat(c.format)
	}
	return nil
}

// did tells of something that was done to one thing.
func (c *cli) did(done, id string) error {
	if c.format == "" {
		fmt.Fprintf(c.out, "%s %s\n", done, id)
		return nil
	}
	l := &list{}
	l.add(map[string]string{"id": id, "status": done}, id, "")
	l.all = l.items[0]
	return c.show(l)
}

func (c *cli) json(v any, indent string) error {
	e := json.NewEncoder(c.out)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	return e.Encode(v)
}

// table prints for people: columns aligned, control characters made visible.
func (c *cli) table(l *list) {
	if len(l.rows) == 0 && l.empty != "" {
		fmt.Fprintln(c.errs, l.empty)
	}
	if len(l.rows) > 0 {
		width := make([]int, len(l.head))
		for i, h := range l.head {
			width[i] = len(h)
		}
		for _, r := range l.rows {
			for i := range r.cells {
				r.cells[i] = visible(r.cells[i])
				width[i] = max(width[i], utf8.RuneCountInString(r.cells[i]))
			}
		}
		c.line(l.head, width, func(int) colour { return dim })
		for _, r := range l.rows {
			c.line(r.cells, width, func(i int) colour {
				if l.head[i] == "STATUS" {
					return r.colour
				}
				return ""
			})
		}
	}
	if l.note != "" {
		fmt.Fprintln(c.out, l.note)
	}
}

func (c *cli) line(cells []string, width []int, with func(int) colour) {
	var b strings.Builder
	for i, cell := range cells {
		b.WriteString(c.paint(with(i), cell))
		if i < len(cells)-1 {
			b.WriteString(strings.Repeat(" ", width[i]-utf8.RuneCountInString(cell)+2))
		}
	}
	fmt.Fprintln(c.out, strings.TrimRight(b.String(), " "))
}

// visible quotes what would disturb a terminal.
func visible(s string) string {
	for _, r := range s {
		if r < ' ' || r == 0x7f || r == utf8.RuneError {
			q := fmt.Sprintf("%q", s)
			return q[1 : len(q)-1]
		}
	}
	return s
}

// brief cuts JSON to what fits into a column.
func brief(b []byte, most int) string {
	var out bytes.Buffer
	s := string(b)
	if json.Compact(&out, b) == nil {
		s = out.String()
	}
	if r := []rune(s); len(r) > most {
		return string(r[:most-3]) + "..."
	}
	return s
}

// ago says how long ago t was.
func ago(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return short(time.Since(t))
}

func short(d time.Duration) string {
	switch {
	case d < 0:
		return "in " + short(-d)
	case d < time.Minute:
		return d.Round(100 * time.Millisecond).String()
	case d < 48*time.Hour:
		return strings.TrimSuffix(d.Round(time.Second).String(), "0s")
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}

func bytesText(n int64) string {
	const unit = 1024
	if n < unit {
		return fmt.Sprintf("%d B", n)
	}
	div, exp := int64(unit), 0
	for m := n / unit; m >= unit; m /= unit {
		div *= unit
		exp++
	}
	return fmt.Sprintf("%.1f %ciB", float64(n)/float64(div), "KMGTPE"[exp])
}

// watchable gives a listing command the flag -w.
func (c *cli) watchable(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().BoolVarP(&c.watch, "watch", "w", false, "show it again each second, until interrupted")
	return cmd
}

// watched shows a list once, or again each second with -w. For programs only
// what is new or has changed is printed again.
func (c *cli) watched(ctx context.Context, get func() (*list, error)) error {
	if !c.watch {
		l, err := get()
		if err != nil {
			return err
		}
		return c.show(l)
	}
	if c.format == "json" {
		return usagef("-w goes with tables, -o jsonl and -o id")
	}
	seen := map[string]bool{}
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		l, err := get()
		if ctx.Err() != nil { // the way to end it
			return nil
		}
		if err != nil {
			return err
		}
		if c.format == "" {
			c.again(l)
		} else if err := c.news(l, seen); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// again shows a list in place of the one before.
func (c *cli) again(l *list) {
	var screen bytes.Buffer
	whole := *c
	whole.out = &screen
	whole.table(l)
	if c.colour {
		_, _ = io.WriteString(c.out, "\x1b[H\x1b[2J")
	}
	_, _ = screen.WriteTo(c.out)
}

// news shows what of a list was not seen yet.
func (c *cli) news(l *list, seen map[string]bool) error {
	fresh := list{}
	for i, item := range l.items {
		b, err := json.Marshal(item)
		if err != nil {
			return fmt.Errorf("encode item: %w", err)
		}
		if !seen[string(b)] {
			seen[string(b)] = true
			fresh.rows, fresh.items = append(fresh.rows, l.rows[i]), append(fresh.items, item)
		}
	}
	return c.show(&fresh)
}
