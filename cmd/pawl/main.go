// Command pawl talks to a running application: it calls its actors, shows
// their state and its invocations, does an operator's work, and measures.
//
// It finds the application by --engine, PAWL_ENGINE, ./data/pawl.sock and
// 127.0.0.1:7070, in this order, and speaks /v1 to it (internal/v1). Each noun
// of the command line is one file here; what they share is the struct cli.
// The exit codes are those of the table in internal/v1.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/pawl-go/pawl/internal/v1"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(int(code))
}

// run is the command line as a function.
func run(ctx context.Context, args []string, in io.Reader, out, errs io.Writer) v1.Exit {
	c := &cli{in: in, out: out, errs: errs, colour: showsColour(out), getenv: os.Getenv}
	root := c.root()
	root.SetArgs(longJSON(args))
	err := root.ExecuteContext(ctx)
	if err == nil {
		return v1.ExitDone
	}
	return c.explain(err)
}

// longJSON lets -json stand for --json, as bench commands elsewhere have it.
func longJSON(args []string) []string {
	for i, a := range args {
		if a == "-json" {
			args = slices.Clone(args)
			args[i] = "--json"
		}
	}
	return args
}
