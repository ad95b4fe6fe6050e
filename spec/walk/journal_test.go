package walk

import (
	"testing"
	"time"

	"github.com/pawl-go/pawl/spec/journal"
)

// TestJournal: on the second machine every path, with the records left out that
// a crash has cut, is one of the first, and all properties hold.
func TestJournal(t *testing.T) {
	for _, c := range Journaled(Config{MaxStates: 300_000, Timeout: time.Minute}) {
		if n := c.Program.Name; (n == "main-task" || n == "tells") && len(c.Journal.Outside) == 0 {
			continue // a minute: "make spec" takes them
		}
		name := c.Program.Name
		if len(c.Journal.Outside) > 0 {
			name += " with " + string(c.Journal.Outside[0]) + " outside"
		}
		t.Run(name, func(t *testing.T) {
			r := Walk(c)
			t.Logf("%d states, %s paths, %.1f s", r.States, r.Paths, r.Seconds)
			if r.Verdict != Holds {
				t.Fatalf("%s: %s\n%s", r.Verdict, r.Detail, Format(r.Timeline))
			}
		})
	}
}

// TestJournalMutants: what begins before its record counts is found out.
func TestJournalMutants(t *testing.T) {
	for _, m := range journal.AllMutants() {
		t.Run(m.String(), func(t *testing.T) {
			r := RefuteJournal(m, Config{MaxStates: 300_000})
			if r.Verdict != Refuted || r.Mutant != m.String() || len(r.Timeline) == 0 {
				t.Fatalf("%s (%s), %d states: %s", r.Verdict, r.Mutant, r.States, r.Detail)
			}
			t.Logf("%s\n%s", r.Detail, Format(r.Timeline))
		})
	}
}
