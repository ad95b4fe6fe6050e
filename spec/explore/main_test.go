package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/pawl-go/pawl/spec"
	"github.com/pawl-go/pawl/spec/program"
	"github.com/pawl-go/pawl/spec/walk"
)

// explore runs the command.
func explore(t *testing.T, args ...string) (code int, out, log string) {
	t.Helper()
	var o, l strings.Builder
	code = run(args, &o, &l)
	return code, o.String(), l.String()
}

func TestOneProgram(t *testing.T) {
	code, out, _ := explore(t, "-program", "counter", "-failures", "1")
	if code != 0 || !strings.Contains(out, "counter") || !strings.Contains(out, "holds") {
		t.Errorf("counter: %d\n%s", code, out)
	}
	code, out, _ = explore(t, "-program", "counter-wrong-write")
	if code != 0 || !strings.Contains(out, "✗ FAILS") || !strings.Contains(out, "the counter is at 2") {
		t.Errorf("a wrong counter is as expected when it is refuted: %d\n%s", code, out)
	}
	code, out, _ = explore(t, "-program", "counter-wrong-write", "-failures", "0")
	if code != 1 || !strings.Contains(out, "not expected") {
		t.Errorf("a wrong counter that nothing refutes: %d\n%s", code, out)
	}
}

func TestMutant(t *testing.T) {
	code, out, _ := explore(t, "-mutant", "fenced-write-accepted")
	if code != 0 || !strings.Contains(out, "property 7 (fencing)") {
		t.Errorf("%d\n%s", code, out)
	}
	code, out, _ = explore(t, "-program", "nested-chain", "-mutant", "papers-cancel", "-o", "json")
	var r walk.Report
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatal(err)
	}
	if code != 0 || r.Verdict != walk.Refuted || r.Mutant != "papers-cancel" || len(r.Timeline) == 0 {
		t.Errorf("%d %+v", code, r)
	}
}

func TestSecondMachine(t *testing.T) {
	code, out, _ := explore(t, "-program", "counter-state", "-journal", "-outside", "a", "-failures", "1")
	if code != 0 || !strings.Contains(out, "journal, outside: [a]") || !strings.Contains(out, "holds") {
		t.Errorf("counter-state: %d\n%s", code, out)
	}
	code, out, _ = explore(t, "-mutant", "tell-begun-before-commit")
	if code != 0 || !strings.Contains(out, "✗ CRASH") || !strings.Contains(out, "its request was never sent") {
		t.Errorf("%d\n%s", code, out)
	}
}

func TestList(t *testing.T) {
	code, out, _ := explore(t, "-list")
	if code != 0 {
		t.Errorf("exit code %d", code)
	}
	for _, p := range program.All() {
		if !strings.Contains(out, p.Name) {
			t.Errorf("the list lacks the program %s", p.Name)
		}
	}
	for _, m := range spec.AllMutants() {
		if !strings.Contains(out, m.String()) {
			t.Errorf("the list lacks the mutant %s", m)
		}
	}
}

// TestAllWithinBounds: everything is reported, and what a bound has cut off is
// said to be.
func TestAllWithinBounds(t *testing.T) {
	code, out, _ := explore(t, "-all", "-max-states", "60")
	if code != 1 || !strings.Contains(out, "too large (depth") || !strings.Contains(out, "NOT as it should be") {
		t.Errorf("%d\n%s", code, out)
	}
	if n := strings.Count(out, "\n"); n < len(program.All())+len(spec.AllMutants()) {
		t.Errorf("the table has %d lines", n)
	}
}

func TestRandom(t *testing.T) {
	code, out, _ := explore(t, "-random", "5", "-seed", "3", "-max-states", "300")
	if code != 0 || !strings.Contains(out, "5 random programs") {
		t.Errorf("%d\n%s", code, out)
	}
	if code, out, _ = explore(t, "-program", "random-3", "-failures", "0"); code != 0 {
		t.Errorf("%d\n%s", code, out)
	}
}

func TestWrongFlags(t *testing.T) {
	for want, args := range map[string][]string{
		"nothing to do":           {},
		"they are latch":          {"-program", "no-such"},
		"no mutant is named":      {"-program", "latch", "-mutant", "no-such"},
		"-failures 21":            {"-program", "latch", "-failures", "21"},
		"-o yaml":                 {"-program", "latch", "-o", "yaml"},
		"-max-states 0":           {"-program", "latch", "-max-states", "0"},
		"-timeout 0s":             {"-program", "latch", "-timeout", "0s"},
		"-random -1":              {"-random", "-1"},
		"unknown argument":        {"latch"},
		"flag provided but not":   {"-x"},
		"Usage of explore":        {"-h"},
		"a program is named by -": {"-list", "latch"},
	} {
		if code, _, log := explore(t, args...); code != 2 || !strings.Contains(log, want) {
			t.Errorf("%q: %d, %q, want %q", args, code, log, want)
		}
	}
}
