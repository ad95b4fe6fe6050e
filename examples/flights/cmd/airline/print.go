package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/pawl-go/pawl/examples/flights"
)

// busiest is how many airports the table shows, differences how many lines of
// what differs.
const busiest, differences = 10, 20

// print writes the report for people.
func (r *report) print(w io.Writer, s style) error {
	var b strings.Builder
	r.table(&b, s)
	r.kills(&b)
	r.verdict(&b, s)
	_, err := io.WriteString(w, b.String())
	return err
}

// table shows the busiest airports.
func (r *report) table(b *strings.Builder, s style) {
	boards := r.Verdict.Boards
	codes := slices.SortedFunc(maps.Keys(boards), func(x, y string) int {
		return cmp.Or(cmp.Compare(traffic(boards[y]), traffic(boards[x])), cmp.Compare(x, y))
	})
	fmt.Fprintf(b, "\n%s\n", s.bold("airport   departures   arrivals   delay, min        miles"))
	for _, code := range codes[:min(busiest, len(codes))] {
		row(b, code, boards[code])
	}
	row(b, fmt.Sprintf("all %d", len(codes)), r.Verdict.Total)
}

func row(b *strings.Builder, name string, board flights.Board) {
	fmt.Fprintf(b, "%-8s %11s %10s %12s %12s\n", name,
		thousands(board.Departures), thousands(board.Arrivals), thousands(board.Delay), thousands(board.Miles))
}

func traffic(b flights.Board) int { return b.Departures + b.Arrivals }

// kills says what the program went through.
func (r *report) kills(b *strings.Builder) {
	inFlight, least := r.Run.InFlight()
	resumed := 0
	for _, k := range r.Run.Kills {
		resumed += k.Resumed
	}
	fmt.Fprintf(b, "\n%d times kill -9, in %.1f s. In flight at the kills: %d flights, %d at least; flown again from where they were: %d.\n",
		len(r.Run.Kills), r.Run.Elapsed.Seconds(), inFlight, least, resumed)
	if n := r.Run.Fenced; n > 0 {
		fmt.Fprintf(b, "Fenced, since another host had become the source, and started anew: %d.\n", n)
	}
	if len(r.Run.Kills) > 0 {
		from := "the start of the program to its first new answer"
		if r.Durability == "replicated" {
			from = "the death of a host to the first new answer of another"
		}
		fmt.Fprintf(b, "From %s: %.0f ms in the median, %.0f ms at most.\n", from, r.Recovery.P50, r.Recovery.Max)
	}
}

// verdict says whether the state is what the file says.
func (r *report) verdict(b *strings.Builder, s style) {
	for i, d := range r.Verdict.Differences {
		if i == differences {
			fmt.Fprintf(b, "... and %d more\n", len(r.Verdict.Differences)-i)
			break
		}
		fmt.Fprintf(b, "%s %s\n", s.red("differs:"), d)
	}
	if missed := r.Asked - len(r.Run.Kills); missed > 0 {
		fmt.Fprintf(b, "%s %d of the kills found no work in flight and did not land: give it more --flights.\n", s.red("note:"), missed)
	}
	where := ""
	if len(r.Hosts) > 0 {
		where = ", at each of the hosts " + strings.Join(r.Hosts, ", ")
	}
	fmt.Fprintf(b, "Read anew from the data%s, in %s: %d flights and %d airports against the file.\n",
		where, r.AuditTime.Round(time.Millisecond), r.Verdict.Flights, len(r.Verdict.Boards))
	switch t := r.Trace; {
	case t == nil:
	case t.Error != "":
		fmt.Fprintln(b, s.red("trace: not allowed by the semantics:"), t.Error)
	default:
		fmt.Fprintf(b, "trace: %s events, allowed: what %d lives of the program did, with %s attempts, held to the semantics in %s.\n",
			thousands(t.Events), t.Lives, thousands(t.Attempts), t.Time.Round(time.Millisecond))
	}
	if r.Verdict.OK() {
		fmt.Fprintln(b, s.green("Verdict: none lost, none doubled. Every sum is that of the file."))
	} else {
		fmt.Fprintln(b, s.red(fmt.Sprintf("Verdict: %d differences.", len(r.Verdict.Differences))))
	}
}

// thousands sets a number in groups of three digits.
func thousands(n int) string {
	if n < 0 {
		return "-" + thousands(-n)
	}
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s,%03d", thousands(n/1000), n%1000)
}
