package main

import (
	"strings"

	"github.com/pawl-go/pawl/spec"
	"github.com/pawl-go/pawl/spec/journal"
	"github.com/pawl-go/pawl/spec/walk"
)

// known says whether a mutant is one of the second machine; an error if it is
// one of neither.
func known(mutant string) (ofJournal bool, err error) {
	if _, err := journal.ParseMutant(mutant); err == nil {
		return true, nil
	}
	_, err = spec.ParseMutant(mutant)
	return false, err
}

// refute looks for a program that finds a mutant out, of either machine.
func refute(mutant string, cfg walk.Config) walk.Report {
	if m, err := journal.ParseMutant(mutant); err == nil {
		return walk.RefuteJournal(m, cfg)
	}
	m, _ := spec.ParseMutant(mutant) // parse has checked it
	return walk.Refute(m, cfg)
}

// secondMachine gives what the flags say of it.
func (o *options) secondMachine() *walk.Journal {
	j := &walk.Journal{}
	j.Mutants, _ = journal.ParseMutant(o.mutant) // none, if it is none
	if o.outside != "" {
		for a := range strings.SplitSeq(o.outside, ",") {
			j.Outside = append(j.Outside, spec.Actor(a))
		}
	}
	return j
}
