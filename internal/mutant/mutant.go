// Package mutant holds the deliberate faults by which the checks of the
// semantics are checked: a checker that cannot fail is worth nothing. Each is
// one comparison at the place of the rule that it breaks. Without the build tag
// "mutants" [Is] is false and compiles away; with it a test sets the one that
// is active:
//
//	go test -tags mutants ./engine/local -run Mutants
//
// What each breaks:
//
//   - PapersCancel: when a caller fails, its callee is taken out of the flow
//     also if it has begun, or has taken a tail call: half a chain is done.
//   - ReachableWithoutChain: whatever is nested in the oldest request of an
//     actor may run on it, not its chain only: two callbacks of siblings run in
//     each other's middle.
//   - EndWithoutJoin: a method that returns with a nested call out is at its
//     end: its callee goes on while its caller believes all is done.
//   - NoFlushAtReentry: a re-entering invocation begins on writes of the outer one
//     that are not recorded: a retry of the outer one cannot bring them back,
//     though the inner one's outcome rests on them.
//   - TellBeforeCommit: a tell begins before its record is committed: a cut of
//     the log takes the cause and leaves the effects outside.
//   - FailureBeforeRecord: the actors of a failed component are placed anew
//     before the failure is committed: after a cut both run.
//   - WaitForOneCallee: a retry begins when one callee of the earlier attempt has
//     ended, beside the others.
//   - ReleaseOnTailSelf: a tail call to the same actor goes to the end of the
//     actor's line: others see the middle of the chain.
//   - CompletionForgotten: an opening does not apply the outcomes that it reads:
//     what has ended runs again.
//   - FencedWriteAccepted: what a failed component still sends counts.
package mutant

// Fault is one of the mutants.
type Fault uint8

// The mutants; None is the right program.
const (
	None Fault = iota
	PapersCancel
	ReachableWithoutChain
	EndWithoutJoin
	NoFlushAtReentry
	TellBeforeCommit
	FailureBeforeRecord
	WaitForOneCallee
	ReleaseOnTailSelf
	CompletionForgotten
	FencedWriteAccepted
	end
)

var names = [end]string{
	"none", "papers-cancel", "reachable-without-chain", "end-without-join", "no-flush-at-reentry",
	"tell-before-commit", "failure-before-record", "wait-for-one-callee", "release-on-tail-self",
	"completion-forgotten", "fenced-write-accepted",
}

// String gives the mutant's name: the words of the semantics, shortened.
func (f Fault) String() string { return names[f] }

// All lists the mutants, without None.
func All() []Fault {
	all := make([]Fault, 0, end-1)
	for f := None + 1; f < end; f++ {
		all = append(all, f)
	}
	return all
}
