package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pawl-go/pawl/examples/flights"
	"github.com/pawl-go/pawl/examples/internal/crash"
	"github.com/pawl-go/pawl/spec/check"
)

func TestMain(m *testing.M) {
	crash.Main(map[string]crash.App{"airline": flights.Child})
	os.Exit(m.Run())
}

func TestFlagsAreChecked(t *testing.T) {
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "old"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for want, args := range map[string][]string{
		"unexpected argument":  {"now"},
		"--flights 0":          {"--flights", "0"},
		"--flights 20001":      {"--flights", "20001"},
		"cannot be negative":   {"--kills", "-1"},
		"--durability \"ram\"": {"--durability", "ram"},
		"-o \"xml\"":           {"-o", "xml"},
		"not empty":            {"--dir", full},
		"not defined":          {"--speed", "3"},
	} {
		if _, err := parseFlags(args); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want an error that says %q", args, err, want)
		}
	}
	o, err := parseFlags([]string{"--dir", filepath.Join(full, "new"), "--flights", "20000", "--seed", "7"})
	if err != nil || !o.keep || o.seed != 7 || !filepath.IsAbs(o.dir) {
		t.Errorf("options %+v, %v", o, err)
	}
	o, err = parseFlags([]string{"--dir", filepath.Join(full, "new"), "--durability", "replicated"})
	if err != nil || o.kills != 5 || !o.trace {
		t.Errorf("options of replicated %+v, %v", o, err)
	}
	o, err = parseFlags([]string{"--dir", filepath.Join(full, "new"), "--durability", "replicated", "--kills", "20"})
	if err != nil || o.kills != 20 {
		t.Errorf("options of replicated with kills %+v, %v", o, err)
	}
}

func TestReportTellsTheVerdict(t *testing.T) {
	r := &report{
		Asked: 1,
		Run:   &crash.Result{Kills: []crash.Kill{{InFlight: 3, Recovery: 41e6}}},
		Verdict: &flights.Verdict{Flights: 2, Boards: map[string]flights.Board{
			"AAA": {Departures: 1, Arrivals: 1, Delay: -12, Miles: 1_234_567}, "BBB": {Departures: 1, Arrivals: 2},
		}},
	}
	text := func() string {
		var b strings.Builder
		if err := r.print(&b, style{}); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	if got := text(); !strings.Contains(got, "none lost, none doubled") || !strings.Contains(got, "1,234,567") ||
		strings.Index(got, "BBB") > strings.Index(got, "AAA") || strings.Contains(got, "\x1b") {
		t.Errorf("report of a good run:\n%s", got)
	}
	r.Trace = &traced{Report: &check.Report{Events: 1234}}
	if got := text(); !strings.Contains(got, "trace: 1,234 events, allowed") {
		t.Errorf("report of an allowed trace:\n%s", got)
	}
	r.Trace.Error = "event 7"
	if got := text(); !strings.Contains(got, "trace: not allowed by the semantics: event 7") {
		t.Errorf("report of another trace:\n%s", got)
	}
	for range 25 {
		r.Verdict.Differences = append(r.Verdict.Differences, "AAA has one more")
	}
	if got := text(); strings.Contains(got, "none lost") || !strings.Contains(got, "25 differences") || !strings.Contains(got, "and 5 more") {
		t.Errorf("report of a bad run:\n%s", got)
	}
}

// The demo on three hosts, in small.
func TestDemoOnHosts(t *testing.T) {
	o, err := parseFlags([]string{"--flights", "200", "--kills", "1", "--durability", "replicated", "--dir", filepath.Join(t.TempDir(), "data")})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("seed %d", o.seed)
	r, err := fly(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := r.print(&text, style{}); err != nil {
		t.Fatal(err)
	}
	const lives = 1 + 1 + 3 // before the kill, after it, and one of each host that is asked for the verdict
	if !r.OK || r.Trace == nil || r.Trace.Lives != lives || !strings.Contains(text.String(), "From the death of a host") {
		t.Errorf("report %+v\n%s", r, text.String())
	}
}

// The demo itself, in small, with the report for programs.
func TestDemo(t *testing.T) {
	o, err := parseFlags([]string{"--flights", "200", "--kills", "2", "--dir", filepath.Join(t.TempDir(), "data")})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("seed %d", o.seed)
	r, err := fly(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	if !r.OK || len(r.Run.Kills) != 2 || !strings.Contains(string(text), `"ok":true`) {
		t.Errorf("report %s", text)
	}
	if r.Trace == nil || r.Trace.Lives != 4 || !strings.Contains(string(text), `"lives":4`) {
		t.Errorf("the trace is not of three lives and an audit: %s", text)
	}
}
