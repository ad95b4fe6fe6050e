package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/pawl-go/pawl/bench/messages"
)

func TestMain(m *testing.M) {
	if os.Getenv("PAWL_PROTOACTOR_CHILD") != "" {
		if err := serve(os.Stdin, os.Stdout); err != nil {
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func TestSmoke(t *testing.T) {
	o := options{duration: 20 * time.Millisecond, json: true, child: func(ctx context.Context) *exec.Cmd {
		cmd := exec.CommandContext(ctx, os.Args[0])
		cmd.Env = append(os.Environ(), "PAWL_PROTOACTOR_CHILD=1")
		return cmd
	}}
	var out bytes.Buffer
	if err := run(t.Context(), &o, &out); err != nil {
		t.Fatal(err)
	}
	var r messages.Report
	if err := json.Unmarshal(out.Bytes(), &r); err != nil || len(r.Figures) != 6 {
		t.Errorf("%v: %s", err, out.String())
	}
}
