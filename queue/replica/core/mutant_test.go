package core

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// mutants break a rule of the core each. The simulation must refute every one of
// them; one that it lets live says that the simulation has grown blind. For those
// that need more bad luck than a seed has there is a scenario.
var mutants = []struct {
	name, file, old, new string
}{
	{"counts before its epoch's entry is held", "source.go", "c >= s.start && c > counted", "c > counted"},
	{"counts with one host too few", "source.go", "c := r.heldBy(r.w); c >=", "c := r.heldBy(max(1, r.w-1)); c >="},
	{"takes over with one promise too few", "campaign.go", "case whole >= r.need()", "case whole >= max(1, r.need()-1)"},
	{"answers before its promise is flushed", "campaign.go", "func (r *Replica) settleAnswers() {\n\tif !r.keeps() {", "func (r *Replica) settleAnswers() {\n\tif false {"},
	{"follows before its promise is flushed", "follow.go", "fo.stage != followPromising || !r.keeps() ||", "fo.stage != followPromising ||"},
	{"takes entries of an older epoch", "follow.go", "if m.Epoch.Less(r.hard.Promised) {", "if false {"},
	{"does not take the best history", "campaign.go", "a.OK && c.target.Compare(a.Last) < 0", "false && a.OK && c.target.Compare(a.Last) < 0"},
	{"scenario: compares ends by index only", "epoch.go", "return cmp.Or(m.Epoch.Compare(o.Epoch), cmp.Compare(m.Index, o.Index))", "return cmp.Compare(m.Index, o.Index)"},
	{"scenario: promises after an unclean end", "campaign.go", "case r.hard.Trust != Whole && !newborn:", "case r.hard.Trust == Lost && !newborn:"},
	{"scenario: is trusted again before it has caught up", "follow.go", "|| r.h.last() < fo.trusted {", "{"},
	{"forgets that it acknowledges unflushed entries", "replica.go", "h.Acked = true", "h.Acked = false"},
	{"scenario: acknowledges what it only received", "follow.go", "Appended: last,", "Appended: fo.received,"},
	{"scenario: counts older entries by new acknowledgements", "source.go", "c >= s.start && c > counted", "c > counted && r.h.epochAt(c) != r.source.epoch"},
	{"scenario: promises though it hears a source", "campaign.go", "case !m.Command && living != 0 && living != p.id:", "case false:"},
	{"reign: hears a source only once it copies", "status.go", "case r.follow != nil && !r.follow.donor:\n\t\tif p", "case r.follow != nil && !r.follow.donor && r.follow.stage != followCopying:\n\t\treturn 0\n\tcase r.follow != nil && !r.follow.donor:\n\t\tif p"},
	{"scenario: does not wait for the host that was promised most", "campaign.go", "return away || p != nil && !r.reachable(p)", "return away"},
	{"scenario: does not wait for as many hosts as may have promised", "campaign.go", "away := len(r.cfg.Hosts)-reachable >= r.q", "away := false"},
	{"reign: promises itself first", "campaign.go", "c.asked, c.answers = map[HostID]uint64{}, map[HostID]*Message{}\n", "c.asked, c.answers = map[HostID]uint64{}, map[HostID]*Message{}\n\tr.promise(c.epoch)\n"},
	{"scenario: counts what a host holds that lost its promises", "source.go", "f.stage == feedCopying && f.trust != Lost", "f.stage == feedCopying"},
}

// TestMutants runs the simulation on each mutant, which the compiler sees by way
// of an overlay; no file of the package changes.
func TestMutants(t *testing.T) {
	if testing.Short() || os.Getenv("PAWL_MUTANT") != "" {
		t.Skip("builds the package once for each mutant")
	}
	for _, m := range mutants {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel() // most of it is building
			text, err := os.ReadFile(m.file)
			if err != nil {
				t.Fatal(err)
			}
			if n := strings.Count(string(text), m.old); n != 1 {
				t.Fatalf("%s has %q %d times: bring the mutant up to date", m.file, m.old, n)
			}
			dir := t.TempDir()
			mutated := filepath.Join(dir, m.file)
			if err := os.WriteFile(mutated, []byte(strings.Replace(string(text), m.old, m.new, 1)), 0o600); err != nil {
				t.Fatal(err)
			}
			original, err := filepath.Abs(m.file)
			if err != nil {
				t.Fatal(err)
			}
			overlay, err := json.Marshal(map[string]map[string]string{"Replace": {original: mutated}})
			if err != nil {
				t.Fatal(err)
			}
			list := filepath.Join(dir, "overlay.json")
			if err := os.WriteFile(list, overlay, 0o600); err != nil {
				t.Fatal(err)
			}
			tests := "^TestSimulation$/hosts=[35]"
			switch kind, _, _ := strings.Cut(m.name, ": "); kind {
			case "scenario":
				tests = "^TestScenarios$"
			case "reign":
				tests = "^TestNobodyOvertakesASourceThatLives$"
			}
			cmd := exec.CommandContext(t.Context(), "go", "test", "-overlay", list, "-count=1", "-vet=off", "-ldflags=-s -w", "-run", tests, "-failfast", ".")
			cmd.Env = append(os.Environ(), "PAWL_MUTANT=1", "PAWL_SEEDS=100")
			out, err := cmd.CombinedOutput()
			switch {
			case err == nil:
				t.Error("the simulation does not notice")
			case !strings.Contains(string(out), "--- FAIL: Test"):
				t.Fatalf("the tests did not run: %v\n%s", err, out)
			default:
				t.Log(finding(string(out)))
			}
		})
	}
}

// finding is the line in which the simulation says what is wrong.
func finding(out string) string {
	for line := range strings.Lines(out) {
		if strings.Contains(line, "seed ") {
			return strings.TrimSpace(line[max(0, strings.Index(line, "}: ")):])
		}
	}
	return "a scenario ends otherwise"
}
