package main

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/pawl-go/pawl/bench/rounds"
)

func report(t *testing.T, o options) (r rounds.Report) {
	t.Helper()
	o.clients, o.keys, o.depth, o.ops, o.duration, o.json = 2, 3, 2, 20, time.Second, true
	var out bytes.Buffer
	if err := run(t.Context(), &o, &out); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatalf("%v: %s", err, out.String())
	}
	return r
}

func TestSmoke(t *testing.T) {
	for _, store := range []string{"sqlite", "postgres"} {
		t.Run(store, func(t *testing.T) {
			if _, err := program("initdb"); store == "postgres" && err != nil {
				t.Skip(err)
			}
			r := report(t, options{store: store, rounds: 2})
			if len(r.Figures) != 2 || r.Figures[0].System != "dbos/"+store || r.Figures[0].Ops != 40 || r.Figures[1].P50 == 0 {
				t.Errorf("%+v", r)
			}
		})
	}
}

func TestBeside(t *testing.T) {
	pawl := filepath.Join(t.TempDir(), "pawl")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", pawl, "./cmd/pawl")
	build.Dir = "../.."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	r := report(t, options{store: "sqlite", rounds: 1, beside: pawl})
	if len(r.Figures) != 3 || r.Figures[0].System != "pawl" || r.Figures[0].Ops != 20 || r.Figures[0].CPUPerOp == 0 {
		t.Errorf("%+v", r)
	}
	if len(r.Ratios) != 2 || r.Ratios[0].Against != "dbos/sqlite" || r.Ratios[0].P50 == 0 || r.Ratios[1].Against != "bare flush" {
		t.Errorf("%+v", r.Ratios)
	}
}
