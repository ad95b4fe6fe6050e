package main

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pawl-go/pawl/examples/internal/crash"
)

func TestMain(m *testing.M) {
	crash.Main(children)
	os.Exit(m.Run())
}

// short is the short form of what make histories does at length.
func short(t *testing.T, workload string, kills int) *suite {
	s := &suite{
		kills: kills, round: 5, clients: 8, seed: rand.Uint64(), workload: workload, limit: 10 * time.Second,
		tell: func(line string) { t.Log(line) },
	}
	t.Logf("seed %d", s.seed)
	return s
}

func TestHistoriesAreLinearizable(t *testing.T) {
	sum, err := short(t, "sound", 20).run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if sum.kills < 20 || sum.interrupted == 0 || sum.open == 0 || sum.repeated == 0 || sum.linearizable == 0 {
		t.Errorf("%+v: too little to say anything", sum)
	}
}

// What is wrong on purpose is refuted, and shown in files.
func TestWrongActorsAreRefuted(t *testing.T) {
	for _, c := range []struct {
		workload   string
		durability string
		kills      int
	}{
		{"forgetful", "process", 3},
		{"lagging", "process", 0},
		{"losing", "disk", 0}, // whose flushes make additions overlap, however busy the machine is
	} {
		t.Run(c.workload, func(t *testing.T) {
			s := short(t, c.workload, c.kills)
			s.durability = c.durability
			_, err := s.run(t.Context())
			k, ok := errors.AsType[*kept](err)
			if !ok || !strings.Contains(err.Error(), "REFUTED") {
				t.Fatalf("error %v; want a refuted history that is kept", err)
			}
			defer os.RemoveAll(k.dir)
			for _, pattern := range []string{"*.txt", "*.html", "history.jsonl"} {
				found, err := filepath.Glob(filepath.Join(k.dir, pattern))
				if err != nil || len(found) == 0 {
					t.Errorf("no %s in %s: %v", pattern, k.dir, err)
					continue
				}
				if !strings.Contains(k.Error(), found[0]) && pattern != "history.jsonl" {
					t.Errorf("the error does not name %s:\n%v", found[0], k)
				}
			}
			if err := s.checkFile(t.Context(), filepath.Join(k.dir, "history.jsonl")); err == nil {
				t.Error("the recorded history passes")
			}
		})
	}
}

// It is the kill that a plain field does not survive.
func TestForgetfulIsRightUntilItIsKilled(t *testing.T) {
	if _, err := short(t, "forgetful", 0).run(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestCheckFile(t *testing.T) {
	const good = `{"operation":{"key":"k","client":1,"kind":"read","call_ns":1,"return_ns":2}}` + "\n"
	for _, c := range []struct{ name, text, want string }{
		{"right", good, ""},
		{"stale", good + strings.Replace(good, `"read"`, `"read","value":7`, 1), "k is REFUTED"},
		{"cut", good + good[:20], "line 2: it is cut or damaged"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "history.jsonl")
			if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			err := short(t, "sound", 0).checkFile(t.Context(), path)
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

func TestSuiteRefusesWhatIsNotThere(t *testing.T) {
	for name, change := range map[string]func(*suite){
		"workload":   func(s *suite) { s.workload = "circus" },
		"durability": func(s *suite) { s.durability = "granite" },
		"journal":    func(s *suite) { s.tuning = "medium" },
		"clients":    func(s *suite) { s.clients = 0 },
		"kills":      func(s *suite) { s.kills = -1 },
	} {
		t.Run(name, func(t *testing.T) {
			s := short(t, "sound", 1)
			change(s)
			if _, err := s.run(t.Context()); err == nil {
				t.Error("a suite of nothing passed")
			}
		})
	}
}

// A server that ends by itself is no kill.
func TestAServerThatDies(t *testing.T) {
	r := &round{
		workload: "sound", durability: "process", tuning: "colour=red", seed: 1, kills: 1, clients: 2,
		operations: 10, limit: time.Second,
	}
	_, err := r.do(t.Context())
	k, ok := errors.AsType[*kept](err)
	if !ok || !strings.Contains(err.Error(), `unknown parameter "colour"`) {
		t.Fatalf("error %v; want what the server said", err)
	}
	if err := os.RemoveAll(k.dir); err != nil {
		t.Error(err)
	}
}
