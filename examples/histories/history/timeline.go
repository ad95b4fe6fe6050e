package history

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// The size of a timeline.
const (
	timelineWidth = 48 // columns for the time
	timelineRows  = 60 // the last so many operations and events are shown
)

// WriteTimeline writes the beginning as text: a row an operation, with a bar from
// its call to its return, an arrow if it never returned; and a row an event.
//
//	[=====                 ] c1 write 5
//	[          X           ] killed
//	[             ========>] c2 add 1: no answer
func (e *Explanation) WriteTimeline(w io.Writer) error {
	var text bytes.Buffer
	fmt.Fprintf(&text, "%s is not linearizable: no order of its first %d operations (of %d) gives these answers.\n\n",
		e.Key, len(e.Operations), e.Whole)
	rows := e.rows()
	if n := len(rows) - timelineRows; n > 0 {
		fmt.Fprintf(&text, "(%d earlier operations and events are not shown)\n", n)
		rows = rows[n:]
	}
	last := e.last()
	from, to := rows[0].from, last.Return
	fmt.Fprintf(&text, "%.3f ms to %.3f ms\n", ms(from), ms(to))
	for _, r := range rows {
		fmt.Fprintf(&text, "[%s] %s\n", r.bar(from, to), r.text)
	}
	fmt.Fprintf(&text, "\nThe longest order that was found has %d of them, and ends:\n", len(e.Order))
	for _, o := range e.Order[max(0, len(e.Order)-8):] {
		fmt.Fprintf(&text, "  c%d %s\n", o.Client, o.String())
	}
	fmt.Fprintf(&text, "The number is %d then, which does not explain the rest.\n", e.Number)
	_, err := text.WriteTo(w)
	if err != nil {
		return fmt.Errorf("write timeline of %s: %w", e.Key, err)
	}
	return nil
}

// row is a row of a timeline.
type row struct {
	from, to time.Duration
	open     bool
	event    bool
	text     string
}

func (e *Explanation) rows() []row {
	var rows []row
	last := e.last()
	for i := range e.Operations {
		o := &e.Operations[i]
		r := row{from: o.Call, to: o.Return, open: o.Open, text: fmt.Sprintf("c%d %s", o.Client, o)}
		if o == last {
			r.text += "   <- no order explains this"
		}
		rows = append(rows, r)
	}
	for _, event := range e.Events {
		rows = append(rows, row{from: event.At, to: event.At, event: true, text: event.What})
	}
	slices.SortStableFunc(rows, func(a, b row) int { return cmp.Compare(a.from, b.from) })
	return rows
}

// last is the operation that returned last.
func (e *Explanation) last() *Operation {
	last := &e.Operations[0]
	for i := range e.Operations {
		if o := &e.Operations[i]; !o.Open && (last.Open || o.Return > last.Return) {
			last = o
		}
	}
	return last
}

// bar draws a row between two moments.
func (r *row) bar(from, to time.Duration) string {
	column := func(t time.Duration) int {
		if to <= from {
			return 0
		}
		return int(min(max(0, t-from), to-from) * (timelineWidth - 1) / (to - from))
	}
	first, last := column(r.from), column(r.to)
	mark := strings.Repeat("=", max(last-first, 0)+1)
	switch {
	case r.event:
		mark = "X"
	case r.open:
		mark = strings.Repeat("=", timelineWidth-1-first) + ">"
	}
	return fmt.Sprintf("%-*s", timelineWidth, strings.Repeat(" ", first)+mark)
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
