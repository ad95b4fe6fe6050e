// Package spec is the semantics of the system as code: what an invocation, a
// tail call, a retry and a failure mean, in rules that can be executed and
// properties that can be checked. It is the paper's section on semantics
// ("Reliable Actors with Retry Orchestration"), with the holes closed that
// exploring it has shown. Read it to learn what the system means; nothing here
// runs in production, and nothing here knows how the runtime does it.
//
// # The state
//
// A [State] is the paper's F, E, S. F, the flow, is the ordered list of pending
// messages: requests and responses. E, the ensemble, is the attempts that run
// now. S is what the actors have recorded. A failure takes attempts out of E,
// and never touches F or S: a request stays in F until the outcome of its step
// is recorded, so it can be tried again.
//
//	F   c1 a.incr(1)   c1/1 b.get()        requests, oldest first; c1/1 is nested in c1
//	E   (c1,1,1) on a  waits for c1/1      attempt 1 of step 1 of c1
//	S   a = 7
//
// # The rules
//
// Each rule is a method of State named as in the semantics. It checks its
// condition, refuses by a [Refusal] that says what does not hold, or else takes
// its effect in one step:
//
//	begin              Begin               rules_run.go
//	step               Step                  and Sync
//	call, call once    Call, CallOnce      rules_call.go
//	tell               Tell
//	return             Wait, Return, GoOn
//	end                End                 rules_end.go
//	tail-other         TailOther
//	tail-self          TailSelf
//	retry              Retry, Postpone
//	failure            Failure, Gone       rules_fail.go
//	cancel, preempt    Cancel, Preempt
//	forget             Forget
//	outside            Send, Release       rules_edge.go
//	parking            Park, Resume, Skip
//	operators          Answer, Refuse, Overrule, Force
//
// The predicates that they ask are [State.Leftmost], [State.Held],
// [State.Runnable] and [State.Joined] (predicates.go): who may run when is all
// in there. [State.Deadlock] finds those who wait for each other. Rules take data, never programs. So the same functions serve the
// explorer, which tries everything that a small program might do, and the
// checker of traces, which feeds what the real runtime has done.
//
// # Writes
//
// A step's writes are its own until they are recorded in one step with its
// outcome (Process.Writes; Held and Last for its tells). They are recorded
// before that when an invocation nested in it begins on the same actor, and by
// Sync. A failure or an application error drops them.
//
// # Zombies
//
// A failed attempt stays in E, marked: in the world its code may run on for a
// while. Each rule by which an attempt changes F or S refuses it.
//
// # The properties
//
// A [World] is a state with a [History], ghost state that no rule reads. World.Do
// applies an [Event] (a rule with its data) and judges the [Moment] by the twelve
// properties of the semantics, each a function in properties.go, with its words.
//
//	w := spec.NewWorld(0)
//	err := w.Do(&spec.Event{Rule: spec.RuleSend, Msg: m}) // nil, *Refusal or *Violation
//
// [Mutants] break one rule each, to show that the properties find it out.
//
// # Where to go on
//
// Package program holds small programs, written as transitions as the paper
// does. Package walk takes every path of one, with failures at every point, and
// tells the shortest one on which something is wrong; the command explore is
// its face:
//
//	go run ./spec/explore -list
//	go run ./spec/explore -program counter -failures 2
//	go run ./spec/explore -program counter-wrong-call
//	go run ./spec/explore -mutant reachable-without-chain
//
// # What is not here
//
// Here a record counts as soon as it is made. The commit index, what a crash
// may cut, and the two mutants about it (a tell begun before commit, a failure
// acted on before it is recorded) belong to the second machine, whose paths
// must be paths of this one. Time, placement and membership are nobody's
// business here: a failure names the actors that it hits.
package spec
