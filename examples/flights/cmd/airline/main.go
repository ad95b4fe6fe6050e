// The command airline is the demonstration of Pawl: it flies real flights in a
// program that it kills with -9, again and again, and then holds what the
// actors have counted against the file.
//
//	go run ./examples/flights/cmd/airline --kills 20 --durability disk
//	go run ./examples/flights/cmd/airline --durability replicated
//
// With the last it flies on three hosts, and kills the one that works.
// It exits with 0 if nothing was lost and nothing doubled, with 1 if anything
// was or the run failed, and with 2 for a mistake in its flags.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/pawl-go/pawl/examples/flights"
	"github.com/pawl-go/pawl/examples/internal/crash"
)

func main() {
	crash.Main(map[string]crash.App{"airline": flights.Child})
	slog.SetLogLoggerLevel(slog.LevelError) // of the audit; what is wrong with a run is in its report
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:]))
}

func run(ctx context.Context, args []string) int {
	o, err := parseFlags(args)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "airline:", err)
		return 2
	}
	report, err := fly(ctx, o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "airline:", err)
		fmt.Fprintf(os.Stderr, "The data are kept in %s; the same moments again: --seed %d\n", o.dir, o.seed)
		return 1
	}
	if o.output == "json" {
		out := json.NewEncoder(os.Stdout)
		out.SetIndent("", "  ")
		err = out.Encode(report)
	} else {
		err = report.print(os.Stdout, newStyle(os.Stdout))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "airline: print report:", err)
		return 1
	}
	if !report.OK {
		fmt.Fprintf(os.Stderr, "The data are kept in %s; the same moments again: --seed %d\n", o.dir, o.seed)
		return 1
	}
	if o.keep {
		fmt.Fprintln(os.Stderr, "The data are kept in", o.dir)
		return 0
	}
	if err := os.RemoveAll(o.dir); err != nil {
		fmt.Fprintln(os.Stderr, "airline: remove data:", err)
		return 1
	}
	return 0
}

// options are the flags.
type options struct {
	flights, kills, rate    int
	seed                    uint64
	durability, dir, output string
	keep, trace             bool
}

func parseFlags(args []string) (options, error) {
	var o options
	f := flag.NewFlagSet("airline", flag.ContinueOnError)
	f.IntVar(&o.flights, "flights", 20_000, "how many flights of the file, 1 to 20000")
	f.IntVar(&o.kills, "kills", 20, "how many times to kill the program; 5 unless set with durability replicated")
	f.IntVar(&o.rate, "rate", 800, "flights that depart in a second")
	f.Uint64Var(&o.seed, "seed", 0, "of the moments of the kills; 0 draws one")
	f.StringVar(&o.durability, "durability", "process", "process: survives kill -9; disk: a power cut too; replicated: the loss of one of three hosts")
	f.StringVar(&o.dir, "dir", "", "directory for the data, new or empty (default a temporary one)")
	f.BoolVar(&o.keep, "keep", false, "keep the data")
	f.BoolVar(&o.trace, "trace", true, "record all that happens, and hold it to the semantics at the end")
	f.StringVar(&o.output, "o", "text", "text or json")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	given := map[string]bool{}
	f.Visit(func(g *flag.Flag) { given[g.Name] = true })
	if o.durability == "replicated" && !given["kills"] {
		o.kills = 5
	}
	switch {
	case f.NArg() > 0:
		return o, fmt.Errorf("unexpected argument %q", f.Arg(0))
	case o.flights < 1 || o.flights > 20_000:
		return o, fmt.Errorf("--flights %d: want 1 to 20000", o.flights)
	case o.kills < 0 || o.rate < 0:
		return o, errors.New("--kills and --rate cannot be negative")
	case !slices.Contains([]string{"process", "disk", "replicated"}, o.durability):
		return o, fmt.Errorf("--durability %q: want process, disk or replicated", o.durability)
	case o.output != "text" && o.output != "json":
		return o, fmt.Errorf("-o %q: want text or json", o.output)
	}
	if o.seed == 0 {
		o.seed = rand.Uint64()
	}
	return o, o.makeDir()
}

// makeDir makes the directory for the data. Flights of an earlier run in it
// would count twice, so it must be new or empty.
func (o *options) makeDir() (err error) {
	if o.dir == "" {
		o.dir, err = os.MkdirTemp("", "airline-")
		return err
	}
	o.keep = true
	if o.dir, err = filepath.Abs(o.dir); err != nil {
		return err
	}
	if err := os.MkdirAll(o.dir, 0o755); err != nil {
		return err
	}
	entries, err := os.ReadDir(o.dir)
	if err == nil && len(entries) > 0 {
		return fmt.Errorf("--dir %s: not empty", o.dir)
	}
	return err
}
