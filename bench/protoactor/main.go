// Command protoactor does the jobs of pawl bench mesh with protoactor-go as well, in
// turns, and prints the same report:
//
//	go run . --rounds 5
//
// It is a module of its own, so that what protoactor-go needs does not enter Pawl's.
// A message is a protobuf BytesValue, which is sent by pointer within a process; the
// remote is that of the library with its default settings, except that it may
// receive 16 MiB.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"github.com/pawl-go/pawl/bench/messages"
)

type options struct {
	messages.Options
	json bool
}

func systems() []messages.System {
	return []messages.System{messages.Pawl(), messages.PawlNotQuick(), protoactor(), messages.TCP(), messages.Channel()}
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var o options
	child := flag.String("child", "", "for the program itself: be the other process of this system")
	flag.IntVar(&o.Rounds, "rounds", 5, "rounds of each job, in which all sides take turns; medians are shown")
	flag.DurationVar(&o.Duration, "duration", 500*time.Millisecond, "how long a round of a job")
	flag.BoolVar(&o.json, "json", false, "print JSON")
	flag.Parse()
	o.Start = func(ctx context.Context, system string) *exec.Cmd {
		return exec.CommandContext(ctx, os.Args[0], "--child", system)
	}
	err := error(nil)
	if *child != "" {
		err = messages.Serve(systems(), *child, os.Stdin, os.Stdout)
	} else {
		err = run(ctx, &o, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "protoactor:", err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context, o *options, w io.Writer) error {
	r, err := messages.Run(ctx, systems(), o.Options)
	if err != nil {
		return err
	}
	if o.json {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(r)
	}
	r.Print(w)
	return nil
}
