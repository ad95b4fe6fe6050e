package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/pawl-go/pawl/bench/messages"
	"github.com/pawl-go/pawl/bench/rounds"
)

func TestMain(m *testing.M) {
	if system := os.Getenv("PAWL_PROTOACTOR_CHILD"); system != "" {
		if err := messages.Serve(systems(), system, os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func TestSmoke(t *testing.T) {
	o := options{json: true}
	o.Rounds, o.Duration = 1, 20*time.Millisecond
	o.Start = func(ctx context.Context, system string) *exec.Cmd {
		cmd := exec.CommandContext(ctx, os.Args[0])
		cmd.Env = append(os.Environ(), "PAWL_PROTOACTOR_CHILD="+system)
		return cmd
	}
	var out bytes.Buffer
	if err := run(t.Context(), &o, &out); err != nil {
		t.Fatal(err)
	}
	var r rounds.Report
	if err := json.Unmarshal(out.Bytes(), &r); err != nil || len(r.Figures) != 3*7+5+2 {
		t.Errorf("%v: %s", err, out.String())
	}
}
