package walk

import (
	"github.com/pawl-go/pawl/spec"
	"github.com/pawl-go/pawl/spec/program"
)

// Refute looks for a program that finds a mutant out: first without failures,
// then with one and two, each of cfg.Program and the bounds being those of
// cfg. It returns the report of the first that does, or, if none does, of the
// last one walked.
func Refute(m spec.Mutants, cfg Config) Report {
	var r Report
	for k := range 3 {
		for _, p := range program.All() {
			if p.Refuted != "" || k > p.Failures {
				continue
			}
			cfg.Program, cfg.Failures, cfg.Mutants = p, k, m
			if r = Walk(cfg); r.Verdict == Refuted {
				return r
			}
		}
	}
	return r
}

// Expected reports whether a walk has ended as it should: a right program
// holds, a wrong one and one under a mutant do not.
func (r *Report) Expected() bool {
	p, ok := program.Find(r.Program)
	switch {
	case !ok:
		return false
	case r.Mutant != "" || p.Refuted != "":
		return r.Verdict == Refuted || r.Verdict == Endless
	}
	return r.Verdict == Holds
}
