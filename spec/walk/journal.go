package walk

import (
	"github.com/pawl-go/pawl/spec"
	"github.com/pawl-go/pawl/spec/journal"
	"github.com/pawl-go/pawl/spec/program"
)

// Journaled lists what the second machine walks: each program with one crash or
// failure, all in the engine's process and with an actor in another one.
func Journaled(cfg Config) []Config {
	var all []Config
	for _, x := range []struct {
		program string
		outside spec.Actor
	}{
		{"counter-state", ""},
		{"counter-state", "a"},
		{"main-task", ""},
		{"main-task", "b"},
		{"chains", ""},
		{"nested-chain", "b"},
		{"reentered", ""},
		{"tells", ""},
		{"tells-last", "b"},
		{"once", ""},
		{"retry", ""},
		{"failed", ""},
		{"two-clients", "a"},
	} {
		p, ok := program.Find(x.program)
		if !ok {
			panic("walk: no program is named " + x.program)
		}
		c := cfg
		c.Program, c.Failures, c.Journal = p, 1, &Journal{}
		if x.outside != "" {
			c.Journal.Outside = []spec.Actor{x.outside}
		}
		all = append(all, c)
	}
	return all
}

// RefuteJournal looks for a program by which the second machine finds a mutant
// out. A failure and a crash behind it are two failures.
func RefuteJournal(m journal.Mutants, cfg Config) Report {
	var r Report
	for _, c := range Journaled(cfg) {
		c.Failures, c.Journal.Mutants = 2, m
		if r = Walk(c); r.Verdict == Refuted {
			return r
		}
	}
	return r
}
