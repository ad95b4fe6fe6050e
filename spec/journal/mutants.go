package journal

import (
	"fmt"
	"slices"
)

// Mutants is a set of edges to break on purpose.
type Mutants uint8

// The mutants: those of the semantics' list that need a commit index.
const (
	TellBegunBeforeCommit Mutants = 1 << iota // what is no nested call begins before its record counts
	FailureBeforeRecord                       // what follows from a failure does not wait until that counts
)

var mutantNames = []string{"tell-begun-before-commit", "failure-before-record"}

// AllMutants lists the single mutants.
func AllMutants() []Mutants { return []Mutants{TellBegunBeforeCommit, FailureBeforeRecord} }

// String gives the name of a single mutant, "none" for none.
func (m Mutants) String() string {
	for at, x := range AllMutants() {
		if m == x {
			return mutantNames[at]
		}
	}
	return "none"
}

// ParseMutant gives the mutant of a name.
func ParseMutant(name string) (Mutants, error) {
	at := slices.Index(mutantNames, name)
	if at < 0 {
		return 0, fmt.Errorf("no mutant of the journal is named %q: they are %v", name, mutantNames)
	}
	return 1 << at, nil
}
