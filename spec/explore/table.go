package main

import (
	"fmt"
	"io"
	"math/big"
	"runtime"
	"text/tabwriter"

	"github.com/pawl-go/pawl/spec"
	"github.com/pawl-go/pawl/spec/journal"
	"github.com/pawl-go/pawl/spec/program"
	"github.com/pawl-go/pawl/spec/walk"
)

// list prints what there is.
func list(out io.Writer) {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "program\tfailures\twhat it is")
	for _, p := range program.All() {
		about := p.About
		if p.Refuted != "" {
			about += " (to be refuted: " + p.Refuted + ")"
		}
		fmt.Fprintf(t, "%s\t%d\t%s\n", p.Name, p.Failures, about)
	}
	fmt.Fprintln(t, "\t\t")
	fmt.Fprintln(t, "mutant\t\t")
	for _, m := range spec.AllMutants() {
		fmt.Fprintf(t, "%s\t\t\n", m)
	}
	for _, m := range journal.AllMutants() {
		fmt.Fprintf(t, "%s\t\tof the second machine\n", m)
	}
	t.Flush() //nolint:errcheck // a terminal
}

// all explores every program and every mutant, as many at a time as there are
// processors.
func all(o *options, out, log io.Writer) bool {
	var work []func() walk.Report
	for _, p := range program.All() {
		cfg := o.config(log)
		cfg.Program, cfg.Failures = p, p.Failures
		work = append(work, func() walk.Report { return walk.Walk(cfg) })
	}
	for _, cfg := range walk.Journaled(o.config(log)) {
		work = append(work, func() walk.Report { return walk.Walk(cfg) })
	}
	for _, m := range spec.AllMutants() {
		work = append(work, func() walk.Report { return walk.Refute(m, o.config(log)) })
	}
	for _, m := range journal.AllMutants() {
		work = append(work, func() walk.Report { return walk.RefuteJournal(m, o.config(log)) })
	}
	reports := concurrently(work)
	ok := true
	for at := range reports {
		ok = ok && reports[at].Expected()
	}
	if o.output == "json" {
		printJSON(out, reports)
		return ok
	}
	printTable(out, reports)
	for _, r := range reports {
		if !r.Expected() {
			fmt.Fprintf(out, "\n%s %s: %s: %s\n%s", r.Program, r.Mutant, r.Verdict, r.Detail, walk.Format(r.Timeline))
		}
	}
	if ok {
		fmt.Fprintln(out, "\nall as it should be: right programs hold, wrong ones and mutants are refuted")
	} else {
		fmt.Fprintln(out, "\nNOT as it should be")
	}
	return ok
}

// random explores programs made of seeds. What is larger than the bound is
// explored up to it.
func random(o *options, out, log io.Writer) bool {
	var work []func() walk.Report
	for at := range o.random {
		cfg := o.config(log)
		cfg.Program, cfg.Failures = program.Random(o.seed+uint64(at)), 1
		work = append(work, func() walk.Report { return walk.Walk(cfg) })
	}
	var wrong []walk.Report
	states, cut := 0, 0
	for _, r := range concurrently(work) {
		states += r.States
		switch {
		case r.Verdict == walk.TooLarge || r.Verdict == walk.TimedOut:
			cut++
		case !r.Expected():
			wrong = append(wrong, r)
		}
	}
	fmt.Fprintf(out, "%d random programs from seed %d: %d states, %d not to their end, %d wrong\n", o.random, o.seed, states, cut, len(wrong))
	for _, r := range wrong {
		show(o, r, out)
	}
	return len(wrong) == 0
}

// concurrently does the work on all processors, and gives the reports in order.
func concurrently(work []func() walk.Report) []walk.Report {
	reports := make([]walk.Report, len(work))
	next := make(chan int)
	done := make(chan struct{})
	workers := runtime.GOMAXPROCS(0)
	for range workers {
		go func() {
			defer func() { done <- struct{}{} }()
			for at := range next {
				reports[at] = work[at]()
			}
		}()
	}
	for at := range work {
		next <- at
	}
	close(next)
	for range workers {
		<-done
	}
	return reports
}

// printTable prints one line a report.
func printTable(out io.Writer, reports []walk.Report) {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "program\tmutant\tfailures\tstates\tpaths\tseconds\tverdict")
	for _, r := range reports {
		fmt.Fprintf(t, "%s\t%s\t%d\t%d\t%s\t%.2f\t%s\n", title(&r), orDash(r.Mutant), r.Failures, r.States, short(r.Paths), r.Seconds, verdict(&r))
	}
	t.Flush() //nolint:errcheck // a terminal
}

// title names the program, and the second machine with what is outside.
func title(r *walk.Report) string {
	switch {
	case !r.Journal:
		return r.Program
	case len(r.Outside) == 0:
		return r.Program + " (journal)"
	}
	return fmt.Sprintf("%s (journal, outside: %v)", r.Program, r.Outside)
}

func verdict(r *walk.Report) string {
	text := string(r.Verdict)
	switch {
	case r.Verdict == walk.TooLarge || r.Verdict == walk.TimedOut:
		text += fmt.Sprintf(" (depth %d, %d states waiting)", r.Depth, r.Waiting)
	case len(r.Timeline) > 0:
		text += fmt.Sprintf(" in %d events", len(r.Timeline))
	}
	if !r.Expected() {
		text += "  <-- not expected"
	}
	return text
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// short writes a number of up to six digits as it is, a larger one as 1.2e+09.
func short(n string) string {
	if len(n) <= 6 {
		return orDash(n)
	}
	f, _, err := big.ParseFloat(n, 10, 64, big.ToNearestEven)
	if err != nil {
		return n
	}
	return f.Text('e', 1)
}
