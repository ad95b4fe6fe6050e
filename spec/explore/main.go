// Command explore takes every path of the small programs of package
// spec/program, with failures at every point, and says whether the properties
// of the semantics hold on all of them.
//
//	go run ./spec/explore -list
//	go run ./spec/explore -program counter -failures 2
//	go run ./spec/explore -program counter-wrong-call     the timeline of what goes wrong
//	go run ./spec/explore -mutant papers-cancel           which program finds it out, and how
//	go run ./spec/explore -program tells -journal         on the second machine, with commits and crashes
//	go run ./spec/explore -all                            everything, as a table
//	go run ./spec/explore -random 100 -seed 7             programs that nobody has thought of
//
// It exits with 0 if all is as it should be: right programs hold, wrong ones
// and mutants are refuted; with 1 if not, also when a bound was reached; with 2
// for a wrong flag.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/pawl-go/pawl/spec"
	"github.com/pawl-go/pawl/spec/journal"
	"github.com/pawl-go/pawl/spec/program"
	"github.com/pawl-go/pawl/spec/walk"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// options are the flags.
type options struct {
	program   string
	mutant    string
	failures  int
	list, all bool
	journal   bool
	outside   string
	random    int
	seed      uint64
	output    string
	states    int
	timeout   time.Duration
}

func run(args []string, out, log io.Writer) int {
	o, err := parse(args, log)
	if err != nil {
		if err != flag.ErrHelp { //nolint:errorlint // the flag package returns it as it is
			fmt.Fprintln(log, "explore:", err)
		}
		return 2
	}
	switch {
	case o.list:
		list(out)
		return 0
	case o.all:
		return exit(all(o, out, log))
	case o.random > 0:
		return exit(random(o, out, log))
	case o.program == "":
		return exit(show(o, refute(o.mutant, o.config(log)), out))
	}
	return exit(one(o, out, log))
}

func exit(ok bool) int {
	if ok {
		return 0
	}
	return 1
}

// parse reads the flags, and checks that they fit together.
func parse(args []string, log io.Writer) (*options, error) {
	o := &options{}
	f := flag.NewFlagSet("explore", flag.ContinueOnError)
	f.SetOutput(log)
	f.StringVar(&o.program, "program", "", "the `name` of the program to explore")
	f.StringVar(&o.mutant, "mutant", "", "the `name` of a rule to break; without -program, the first program that finds it out is shown")
	f.IntVar(&o.failures, "failures", -1, "at most so many failures on a path; -1: as many as the program is known to stand")
	f.BoolVar(&o.list, "list", false, "list the programs and the mutants")
	f.BoolVar(&o.all, "all", false, "explore all programs and all mutants")
	f.BoolVar(&o.journal, "journal", false, "explore on the second machine: records in a log, of which a crash cuts the end")
	f.StringVar(&o.outside, "outside", "", "with -journal: the `actors`, separated by commas, that are in other processes than the engine's")
	f.IntVar(&o.random, "random", 0, "explore so many random programs, with one failure")
	f.Uint64Var(&o.seed, "seed", 0, "the seed of the first of them; the program of seed S is named random-S")
	f.StringVar(&o.output, "o", "text", "the form of the output: text or json")
	f.IntVar(&o.states, "max-states", 5_000_000, "give a program up after so many states")
	f.DurationVar(&o.timeout, "timeout", 5*time.Minute, "give a program up after so long")
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	return o, o.validate(f.Args())
}

func (o *options) validate(rest []string) error {
	ofJournal, err := known(o.mutant)
	_, found := program.Find(o.program)
	switch {
	case len(rest) > 0:
		return fmt.Errorf("unknown argument %q: a program is named by -program", rest[0])
	case err != nil:
		return err
	case o.program != "" && !found:
		return fmt.Errorf("no program is named %q: they are %s", o.program, program.Names())
	case o.program != "" && ofJournal && !o.journal:
		return fmt.Errorf("the mutant %s is one of the second machine: -journal", o.mutant)
	case o.program != "" && o.mutant != "" && !ofJournal && o.journal, o.journal && o.program == "":
		return fmt.Errorf("-journal goes with -program, and with mutants of the second machine: %v", journal.AllMutants())
	case o.outside != "" && !o.journal:
		return fmt.Errorf("-outside goes with -journal")
	case o.output != "text" && o.output != "json":
		return fmt.Errorf("-o %s: it is text or json", o.output)
	case o.failures < -1 || o.failures > 20:
		return fmt.Errorf("-failures %d: it is 0 to 20, or -1", o.failures)
	case o.states < 1:
		return fmt.Errorf("-max-states %d: it is 1 or more", o.states)
	case o.timeout <= 0:
		return fmt.Errorf("-timeout %v: it is more than 0", o.timeout)
	case o.random < 0:
		return fmt.Errorf("-random %d: it is 1 or more", o.random)
	case !o.list && !o.all && o.random == 0 && o.program == "" && o.mutant == "":
		return fmt.Errorf("nothing to do: -program NAME, -mutant NAME, -random N, -all or -list")
	}
	return nil
}

// config gives the bounds, and progress for what takes longer.
func (o *options) config(log io.Writer) walk.Config {
	return walk.Config{
		MaxStates: o.states, Timeout: o.timeout,
		Progress: func(r walk.Report) {
			fmt.Fprintf(log, "%s: %d states, %d waiting, depth %d, %.0f s\n", r.Program, r.States, r.Waiting, r.Depth, r.Seconds)
		},
	}
}

// one explores one program.
func one(o *options, out, log io.Writer) bool {
	cfg := o.config(log)
	cfg.Program, _ = program.Find(o.program)
	cfg.Failures = o.failures
	if o.failures < 0 {
		cfg.Failures = cfg.Program.Failures
	}
	if o.journal {
		cfg.Journal = o.secondMachine()
	} else {
		cfg.Mutants, _ = spec.ParseMutant(o.mutant)
	}
	return show(o, walk.Walk(cfg), out)
}

// show prints one report, with its timeline.
func show(o *options, r walk.Report, out io.Writer) bool {
	if o.output == "json" {
		printJSON(out, r)
		return r.Expected()
	}
	printTable(out, []walk.Report{r})
	if r.Detail != "" {
		fmt.Fprintf(out, "\n%s\n\n%s", r.Detail, walk.Format(r.Timeline))
	}
	return r.Expected()
}

func printJSON(out io.Writer, v any) {
	e := json.NewEncoder(out)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(fmt.Sprintf("explore: encode a report: %v", err)) // its fields are text and numbers
	}
}
