package spec

import "fmt"

// Event is one application of a rule, as data: what an explorer chooses, what
// a trace reports, what a timeline shows.
type Event struct {
	Rule Rule
	By   Attempt // who acts; of begin, the attempt that begins
	ID   ID      // which request or response: return, cancel, preempt, forget, release and the operator's rules
	Msg  Message // what is sent; of a tail call, its Actor, Method and Arg

	Value   Value   // the outcome: end, park, answer, refuse, overrule, force; what was read: read
	Failed  bool    // the outcome is an application error: end
	Release bool    // the lock is released on purpose: tail-other
	When    When    // tell
	Writes  []Write // step
	Cell    Cell    // read
	Waits   []ID    // wait
	Actors  []Actor // failure
	Next    Point   // where the code goes on, if At is set; not for rules
	At      bool
}

// Of gives the invocation that the event is about: the one that acts, or else
// the one acted upon.
func (e *Event) Of() ID {
	switch {
	case e.By.ID != "":
		return e.By.ID
	case e.ID != "":
		return e.ID
	}
	return e.Msg.ID
}

// Apply applies the rule that an event names. It returns a *Refusal, and
// leaves the state as it is, when the rule's condition does not hold.
func (s *State) Apply(e *Event) error {
	if err := s.apply(e); err != nil {
		return err
	}
	if e.At {
		if p := s.Process(e.By); p != nil {
			p.Point = e.Next
		}
	}
	return nil
}

func (s *State) apply(e *Event) error {
	switch e.Rule {
	case RuleBegin:
		return s.Begin(e.By)
	case RuleStep:
		return s.Step(e.By, e.Writes...)
	case RuleRead:
		return s.read(e.By)
	case RuleSync:
		return s.Sync(e.By)
	case RuleCall:
		return s.Call(e.By, e.Msg)
	case RuleCallOnce:
		return s.CallOnce(e.By, e.Msg)
	case RuleTell:
		return s.Tell(e.By, e.Msg, e.When)
	case RuleWait:
		return s.Wait(e.By, e.Waits...)
	case RuleReturn:
		return s.Return(e.By, e.ID)
	case RuleGoOn:
		return s.GoOn(e.By)
	case RuleEnd:
		return s.End(e.By, e.Value, e.Failed)
	case RuleTailOther:
		return s.TailOther(e.By, e.Msg.Actor, e.Msg.Method, e.Msg.Arg, e.Release)
	case RuleTailSelf:
		return s.TailSelf(e.By, e.Msg.Method, e.Msg.Arg)
	case RuleRetry:
		return s.Retry(e.By)
	case RulePostpone:
		return s.Postpone(e.By)
	}
	return s.applyUnasked(e)
}

// applyUnasked applies the rules that no code asks for.
func (s *State) applyUnasked(e *Event) error {
	switch e.Rule {
	case RuleFailure:
		return s.Failure(e.Actors...)
	case RuleGone:
		return s.Gone(e.By)
	case RuleCancel:
		return s.Cancel(e.ID)
	case RulePreempt:
		return s.Preempt(e.ID)
	case RuleForget:
		return s.Forget(e.ID)
	case RuleSend:
		return s.Send(e.Msg)
	case RuleRelease:
		return s.Release(e.ID)
	case RulePark:
		return s.Park(e.ID, e.Value)
	case RuleResume:
		return s.Resume(e.ID)
	case RuleSkip:
		return s.Skip(e.ID)
	case RuleAnswer:
		return s.Answer(e.ID, e.Value)
	case RuleRefuse:
		return s.Refuse(e.ID, e.Value)
	case RuleOverrule:
		return s.Overrule(e.ID, e.Value)
	case RuleForce:
		return s.Force(e.ID, e.Value)
	}
	return fmt.Errorf("apply event: no rule is named %q", e.Rule)
}

// read checks that there is somebody to read. What was read is for the
// property Isolation to judge.
func (s *State) read(a Attempt) error {
	if s.Process(a) == nil {
		return refuse(RuleRead, a.ID, NoAttempt)
	}
	s.effect()
	return nil
}
