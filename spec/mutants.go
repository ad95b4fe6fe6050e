package spec

import "fmt"

// Mutants is a set of rules to break on purpose. A checker that does not find
// them out is worth nothing.
type Mutants uint16

// The mutants. Each is one switch at the place of its rule. Two of the list in
// the semantics (a tell begun before commit, a failure acted on before it is
// recorded) need a commit index and belong to the second machine.
const (
	PapersCancel          Mutants = 1 << iota // cancel takes any runnable request nobody waits for: it cuts chains
	ReachableWithoutChain                     // all that is nested in the leftmost request may run, not the chain only
	EndWithoutJoin                            // a method ends while nested calls are out
	NoFlushAtReentry                          // a re-entered method's writes stay unrecorded
	WaitForOneCallee                          // a retry waits for one callee of the earlier attempt only
	ReleaseOnTailSelf                         // a tail call to the same actor goes to the end of the flow
	CompletionForgotten                       // the request stays in F after its end
	FencedWriteAccepted                       // what a zombie does counts
)

// mutantNames are the words of the semantics, in the order of the constants.
var mutantNames = []string{
	"papers-cancel", "reachable-without-chain", "end-without-join", "no-flush-at-reentry",
	"wait-for-one-callee", "release-on-tail-self", "completion-forgotten", "fenced-write-accepted",
}

// Has reports whether one of the mutants of m is in the set.
func (s Mutants) Has(m Mutants) bool { return s&m != 0 }

// AllMutants lists the single mutants.
func AllMutants() []Mutants {
	all := make([]Mutants, len(mutantNames))
	for at := range all {
		all[at] = 1 << at
	}
	return all
}

// String gives the name of a single mutant, "none" for none.
func (s Mutants) String() string {
	if s == 0 {
		return "none"
	}
	text := ""
	for at, name := range mutantNames {
		if s.Has(1 << at) {
			if text != "" {
				text += "+"
			}
			text += name
		}
	}
	return text
}

// ParseMutant gives the mutant of a name; "none" and "" are none.
func ParseMutant(name string) (Mutants, error) {
	if name == "" || name == "none" {
		return 0, nil
	}
	for at, n := range mutantNames {
		if n == name {
			return 1 << at, nil
		}
	}
	return 0, fmt.Errorf("no mutant is named %q: they are %v", name, mutantNames)
}
