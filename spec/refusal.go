package spec

import "fmt"

// Rule names a rule.
type Rule string

// The rules of the semantics, and what parking, operators and clients need.
const (
	RuleBegin     Rule = "begin"
	RuleStep      Rule = "step"
	RuleRead      Rule = "read"
	RuleSync      Rule = "sync"
	RuleCall      Rule = "call"
	RuleCallOnce  Rule = "call-once"
	RuleTell      Rule = "tell"
	RuleWait      Rule = "wait"
	RuleReturn    Rule = "return"
	RuleGoOn      Rule = "go-on"
	RuleEnd       Rule = "end"
	RuleTailOther Rule = "tail-other"
	RuleTailSelf  Rule = "tail-self"
	RuleRetry     Rule = "retry"
	RulePostpone  Rule = "postpone"
	RuleFailure   Rule = "failure"
	RuleGone      Rule = "gone"
	RuleCancel    Rule = "cancel"
	RulePreempt   Rule = "preempt"
	RuleForget    Rule = "forget"
	RuleSend      Rule = "send"
	RuleRelease   Rule = "release"
	RulePark      Rule = "park"
	RuleResume    Rule = "resume"
	RuleSkip      Rule = "skip"
	RuleAnswer    Rule = "answer"
	RuleRefuse    Rule = "refuse"
	RuleOverrule  Rule = "overrule"
	RuleForce     Rule = "force"
)

// Condition is a part of a rule's "when" that does not hold.
type Condition string

// The conditions. Each is the whole of what a refusal says beside its place.
const (
	NoRequest    Condition = "no request of this id is in F"
	NoResponse   Condition = "no response of this id for this return address is in F"
	NoAttempt    Condition = "no such attempt is in E"
	NotParked    Condition = "the invocation is not parked"
	Fenced       Condition = "the attempt is a zombie"
	NotZombie    Condition = "the attempt is no zombie"
	Waits        Condition = "the attempt waits: it has given its turn up"
	DoesNotWait  Condition = "the attempt does not wait for this"
	NotCalled    Condition = "the attempt has no such nested call out"
	Running      Condition = "an attempt of it is in E"
	WrongStep    Condition = "the request in F is at another step"
	WrongAttempt Condition = "an attempt of this number or a later one has begun"
	NotRunnable  Condition = "it is not runnable: not in its actor's chain, a callee of an earlier attempt is in F, or another attempt on the actor does not wait"
	NotJoined    Condition = "a request or an unread response in F has its return address"
	TurnTaken    Condition = "a request nested in it has begun on its actor"
	NotFresh     Condition = "the id is not fresh"
	WrongKind    Condition = "the message is not of the kind that this rule sends"
	OtherActor   Condition = "the actor is another one"
	SameActor    Condition = "the actor is the same one, and the lock is not released on purpose"
	NotNested    Condition = "the request is not nested"
	HasBegun     Condition = "it has begun, or is not at step 1"
	MadeOnce     Condition = "the call was made once"
	CallerLives  Condition = "the attempt that sent it lives"
	SomeoneWaits Condition = "somebody may still wait for it"
	IsDecided    Condition = "an operator has given the outcome"
	KeepsActor   Condition = "the step was entered in place and keeps its actor"
)

// Refusal is the error of a rule whose condition does not hold. The state is
// as it was.
type Refusal struct {
	Rule      Rule
	ID        ID
	Condition Condition
}

// Error gives "RULE ID: CONDITION".
func (r *Refusal) Error() string { return fmt.Sprintf("%s %s: %s", r.Rule, r.ID, r.Condition) }

func refuse(r Rule, i ID, c Condition) error { return &Refusal{r, i, c} }

// acting gives the process of an attempt that may act: it lives and has the turn.
func (s *State) acting(r Rule, a Attempt) (*Process, error) {
	p, err := s.living(r, a)
	if err == nil && p.Waiting() {
		return nil, refuse(r, a.ID, Waits)
	}
	return p, err
}

// living gives the process of an attempt whose acts count: this is the fence.
func (s *State) living(r Rule, a Attempt) (*Process, error) {
	p := s.Process(a)
	switch {
	case p == nil:
		return nil, refuse(r, a.ID, NoAttempt)
	case p.Zombie && !s.Mutants.Has(FencedWriteAccepted):
		return nil, refuse(r, a.ID, Fenced)
	}
	return p, nil
}

// begin of a rule's effect: what the rule before has recorded is dropped.
func (s *State) effect() { s.record = Record{} }
