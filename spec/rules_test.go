package spec

import (
	"slices"
	"testing"
)

// One test a rule of the semantics: when it is allowed, when it is refused,
// what it does. Every event is judged by all properties on the way.

func TestBegin(t *testing.T) {
	s := newScene(t, 0)
	s.refused(begin(at("i", 1, 1)), NoRequest)
	s.do(send("i", "a"), send("j", "a"))
	s.refused(begin(at("i", 2, 1)), WrongStep)
	s.refused(begin(at("j", 1, 1)), NotRunnable)
	s.do(begin(at("i", 1, 1)))
	s.flow("i a.m", "j a.m") // the request stays
	s.refused(begin(at("i", 1, 2)), Running)
	s.refused(begin(at("j", 1, 1)), NotRunnable)
	s.do(failure("a"))
	s.refused(begin(at("i", 1, 1)), WrongAttempt)
	s.do(begin(at("i", 1, 2)))
}

func TestStep(t *testing.T) {
	s := newScene(t, 0)
	x := at("i", 1, 1)
	s.refused(step(x, "a", "1"), NoAttempt)
	s.do(send("i", "a"), begin(x))
	s.refused(step(x, "b", "1"), OtherActor)
	s.do(step(x, "a", "1"))
	s.state("a", "")
	if got := s.State.Read(x, ""); got != "1" {
		t.Fatalf("the writer reads %q, want its own write", got)
	}
	s.do(call(x, "k", "b"), wait(x, "k"))
	s.refused(step(x, "a", "2"), Waits)
}

func TestSync(t *testing.T) {
	s := newScene(t, 0)
	x := at("i", 1, 1)
	s.do(send("i", "a"), begin(x), step(x, "a", "1"), tell(x, "t", "b", WithNext), tell(x, "u", "b", WithOutcome))
	s.do(by(RuleSync, x))
	s.state("a", "1")
	s.flow("i a.m", "t b.m")
	s.do(failure("a"))
	s.refused(by(RuleSync, x), Fenced)
	s.state("a", "1") // what Sync has recorded stays
}

func TestCall(t *testing.T) {
	s := newScene(t, 0)
	x := at("i", 1, 1)
	s.do(send("i", "a"))
	s.refused(call(x, "k", "b"), NoAttempt)
	s.do(begin(x))
	s.refused(call(x, "i", "b"), NotFresh)
	wrong := call(x, "k", "b")
	wrong.Msg.Return = "j"
	s.refused(wrong, WrongKind)
	s.do(call(x, "k", "b"))
	s.flow("i a.m", "k b.m")
	s.do(step(x, "a", "1")) // it goes on, and waits later
	s.refused(wait(x, "l"), NotCalled)
	s.do(wait(x, "k"))
	s.refused(call(x, "l", "b"), Waits)
}

func TestCallOnce(t *testing.T) {
	s := newScene(t, 0)
	x, y, z := at("i", 1, 1), at("i", 1, 2), at("i", 1, 3)
	s.do(send("i", "a"), begin(x), callOnce(x, "i/n", "b"))
	s.refused(callOnce(x, "i/n", "b"), NotFresh)
	s.do(begin(at("i/n", 1, 1)), failure("a"))
	s.refused(begin(y), NotRunnable) // the callee is still there
	s.do(end(at("i/n", 1, 1), "v"), begin(y), callOnce(y, "i/n", "b"))
	s.flow("i a.m", "i/n=v") // no new request
	s.do(wait(y, "i/n"), back(y, "i/n"), failure("a"), begin(z), callOnce(z, "i/n", "b"))
	s.flow("i a.m", "i/n=v") // its outcome was kept
	s.do(wait(z, "i/n"), back(z, "i/n"), end(z, "w"))
	if len(s.State.Kept) != 0 {
		t.Fatal("the outcome is kept after the step of the caller")
	}
}

func TestTell(t *testing.T) {
	s := newScene(t, 0)
	x := at("i", 1, 1)
	s.do(send("i", "a"), begin(x))
	s.refused(tell(x, "i", "b", WithNext), NotFresh)
	s.do(tell(x, "t1", "b", WithNext), tell(x, "t2", "b", WithOutcome))
	s.flow("i a.m")
	s.do(call(x, "k", "b")) // those held go first
	s.flow("i a.m", "t1 b.m", "k b.m")
	s.do(tell(x, "t3", "b", WithNext), tell(x, "t4", "b", Immediately))
	s.flow("i a.m", "t1 b.m", "k b.m", "t3 b.m", "t4 b.m")
	s.do(tell(x, "t5", "b", WithNext), failure("a"))
	s.refused(tell(x, "t6", "b", WithNext), Fenced)
	s.flow("i a.m", "t1 b.m", "k b.m", "t3 b.m", "t4 b.m") // t2 and t5 were not sent
}

func TestReturn(t *testing.T) {
	s := newScene(t, 0)
	x, k, l := at("i", 1, 1), at("k", 1, 1), at("l", 1, 1)
	s.do(send("i", "a"), begin(x), call(x, "k", "b"))
	s.refused(back(x, "k"), DoesNotWait)
	s.do(wait(x, "k"))
	s.refused(back(x, "k"), NoResponse)
	s.do(begin(k), end(k, "v"))
	s.flow("i a.m", "k=v")
	s.do(back(x, "k"))
	s.flow("i a.m")

	// It takes its turn back only when nothing nested in it has begun on its actor.
	s.do(call(x, "l", "b"), call(x, "j", "c"), wait(x, "j"), begin(l), call(l, "cb", "a"), wait(l, "cb"))
	s.do(begin(at("cb", 1, 1)), begin(at("j", 1, 1)), end(at("j", 1, 1), "w"))
	s.refused(back(x, "j"), TurnTaken)
	s.do(failure("a"))
	s.refused(back(x, "j"), Fenced)
}

func TestGoOn(t *testing.T) {
	s := newScene(t, 0)
	x := at("i", 1, 1)
	s.do(send("i", "a"), begin(x), call(x, "k", "b"))
	s.refused(by(RuleGoOn, x), DoesNotWait)
	s.do(wait(x, "k"), begin(at("k", 1, 1)), call(at("k", 1, 1), "cb", "a"), begin(at("cb", 1, 1)))
	s.refused(by(RuleGoOn, x), TurnTaken)
	s.do(end(at("cb", 1, 1), "v"), by(RuleGoOn, x), step(x, "a", "1"))
	s.refused(end(x, "v"), NotJoined)
}

func TestEnd(t *testing.T) {
	s := newScene(t, 0)
	x, k := at("i", 1, 1), at("k", 1, 1)
	s.refused(end(x, "v"), NoAttempt)
	s.do(send("i", "a"), begin(x), call(x, "k", "b"))
	s.refused(end(x, "v"), NotJoined)
	s.do(begin(k), end(k, "w"))
	s.refused(end(x, "v"), NotJoined) // the response is not read
	s.do(step(x, "a", "1"), tell(x, "t", "b", WithNext), wait(x, "k"), back(x, "k"), end(x, "v"))
	s.state("a", "1")
	s.flow("t b.m", "i=v")
	s.do(on(RuleRelease, "i"), begin(at("t", 1, 1)), end(at("t", 1, 1), "nobody waits"))
	s.flow()
}

func TestEndWithAnErrorRecordsNothingElse(t *testing.T) {
	s := newScene(t, 0)
	x := at("i", 1, 1)
	s.do(send("i", "a"), begin(x), step(x, "a", "1"), tell(x, "t", "b", WithNext), fails(x, "error"))
	s.state("a", "")
	s.flow("i=error")
}

func TestTailOther(t *testing.T) {
	s := newScene(t, 0)
	x := at("i", 1, 1)
	s.do(send("i", "a"), send("j", "b"), begin(x), step(x, "a", "1"), tell(x, "t", "b", WithNext))
	s.refused(tailOther(x, "a"), SameActor)
	s.do(tailOther(x, "b"))
	s.state("a", "1")
	s.flow("j b.m", "t b.m", "i b.next")
	q := s.State.Request("i")
	if q.Step != 2 || q.Return != "client" || q.InPlace || q.Attempts != 0 {
		t.Fatalf("the next step is %+v", *q)
	}
	s.refused(begin(at("i", 2, 1)), NotRunnable)
	s.do(send("k", "a"), begin(at("k", 1, 1))) // the lock of a is free

	released := newScene(t, 0)
	away := tailOther(x, "a")
	away.Release = true
	released.do(send("i", "a"), send("j", "a"), begin(x), away)
	released.flow("j a.m", "i a.next")
}

func TestTailSelf(t *testing.T) {
	s := newScene(t, 0)
	x, next := at("i", 1, 1), at("i", 2, 1)
	s.do(send("i", "a"), send("j", "a"), begin(x), step(x, "a", "1"))
	s.do(call(x, "k", "b"))
	s.refused(tailSelf(x), NotJoined)
	s.do(begin(at("k", 1, 1)), end(at("k", 1, 1), ""), wait(x, "k"), back(x, "k"), tailSelf(x))
	s.state("a", "1")
	s.flow("i a.next", "j a.m") // in place
	s.refused(begin(at("j", 1, 1)), NotRunnable)
	s.do(begin(next), failure("a"))
	s.refused(begin(at("j", 1, 1)), NotRunnable) // the lock survives
	s.do(begin(at("i", 2, 2)), end(at("i", 2, 2), "v"), begin(at("j", 1, 1)))
}

func TestFailure(t *testing.T) {
	s := newScene(t, 0)
	x, y := at("i", 1, 1), at("j", 1, 1)
	s.do(send("i", "a"), send("j", "b"), begin(x), begin(y), step(x, "a", "1"))
	flow := slices.Clone(s.State.F)
	s.do(failure("a"))
	if !slices.EqualFunc(flow, s.State.F, func(a, b Message) bool { return a == b }) {
		t.Fatal("a failure has changed F")
	}
	s.state("a", "")
	if s.State.Live("i") != nil || s.State.Live("j") == nil {
		t.Fatal("the attempts on a are lost, and no others")
	}
	for _, e := range []Event{
		by(RuleSync, x), call(x, "k", "b"), callOnce(x, "k", "b"), tell(x, "k", "b", Immediately),
		end(x, "v"), tailOther(x, "b"), tailSelf(x), by(RuleRetry, x), by(RulePostpone, x), wait(x),
	} {
		s.refused(e, Fenced)
	}
	s.do(by(RuleStep, x)) // a zombie's code runs on
	s.refused(by(RuleGone, y), NotZombie)
	s.do(by(RuleGone, x))
	if s.State.Process(x) != nil {
		t.Fatal("the zombie is still there")
	}
}

func TestRetry(t *testing.T) {
	s := newScene(t, 0)
	x := at("i", 1, 1)
	s.do(send("i", "a"), send("j", "a"), begin(x), step(x, "a", "1"), by(RuleRetry, x))
	s.state("a", "")
	s.flow("i a.m", "j a.m")
	s.refused(begin(at("j", 1, 1)), NotRunnable)
	s.do(begin(at("i", 1, 2)))
}

func TestPostpone(t *testing.T) {
	s := newScene(t, 0)
	x := at("i", 1, 1)
	s.do(send("i", "a"), send("j", "a"), begin(x), step(x, "a", "1"), by(RulePostpone, x))
	s.state("a", "")
	s.flow("j a.m", "i a.m")
	s.do(begin(at("j", 1, 1)), tailSelf(at("j", 1, 1)), begin(at("j", 2, 1)))
	s.refused(by(RulePostpone, at("j", 2, 1)), KeepsActor)
}

func TestCancel(t *testing.T) {
	s := newScene(t, 0)
	x := at("i", 1, 1)
	s.refused(on(RuleCancel, "k"), NoRequest)
	s.do(send("i", "a"), begin(x), call(x, "k", "b"), call(x, "l", "b"), callOnce(x, "o", "b"))
	s.refused(on(RuleCancel, "i"), NotNested)
	s.refused(on(RuleCancel, "l"), CallerLives)
	s.do(begin(at("k", 1, 1)), failure("a"))
	s.refused(on(RuleCancel, "k"), HasBegun)
	s.refused(on(RuleCancel, "o"), MadeOnce)
	s.do(on(RuleCancel, "l")) // not leftmost on b: wherever it stands
	s.flow("i a.m", "k b.m", "o b.m")
	s.do(tailOther(at("k", 1, 1), "c"))
	s.refused(on(RuleCancel, "k"), HasBegun) // never a chain
}

func TestPreempt(t *testing.T) {
	s := newScene(t, 0)
	x, k := at("i", 1, 1), at("k", 1, 1)
	s.do(send("i", "a"), begin(x), call(x, "k", "b"), begin(k), call(k, "l", "c"), wait(k, "l"))
	s.refused(on(RulePreempt, "i"), NotNested)
	s.refused(on(RulePreempt, "l"), CallerLives)
	s.do(failure("a"))
	s.refused(on(RulePreempt, "k"), NotJoined) // from the top of the stack down
	s.do(on(RulePreempt, "l"), on(RulePreempt, "k"))
	s.flow("i a.m")
	if s.State.Process(k) != nil {
		t.Fatal("the preempted attempt is still in E")
	}
	s.do(begin(at("i", 1, 2)), call(at("i", 1, 2), "n", "b"), begin(at("n", 1, 1)), tailOther(at("n", 1, 1), "c"), failure("a"))
	s.refused(on(RulePreempt, "n"), WrongStep)
}

func TestForget(t *testing.T) {
	s := newScene(t, 0)
	x, k := at("i", 1, 1), at("k", 1, 1)
	s.do(send("i", "a"), begin(x), call(x, "k", "b"), begin(k), end(k, "v"))
	s.refused(on(RuleForget, "k"), SomeoneWaits)
	s.refused(on(RuleForget, "i"), NoResponse)
	s.do(failure("a"), on(RuleForget, "k"))
	s.flow("i a.m")
}

func TestSendAndRelease(t *testing.T) {
	s := newScene(t, 0)
	s.do(send("i", "a"), send("i", "a"), drop("t", "b"))
	s.flow("i a.m", "t b.m") // sent twice, it is there once
	s.refused(on(RuleRelease, "i"), NoResponse)
	nested := send("k", "a")
	nested.Msg.Kind = Nested
	s.refused(nested, WrongKind)
	s.do(begin(at("i", 1, 1)), end(at("i", 1, 1), "v"), on(RuleRelease, "i"))
	s.flow("t b.m")
}

func TestPark(t *testing.T) {
	s := newScene(t, 0)
	x := at("i", 1, 1)
	s.do(send("i", "a"), send("j", "a"), begin(x))
	s.refused(on(RulePark, "i"), Running)
	s.do(failure("a"), on(RulePark, "i"))
	s.flow("j a.m", "i=operator") // whoever waits is told
	s.do(on(RuleRelease, "i"), on(RuleResume, "i"))
	s.flow("j a.m", "i a.m")
	s.refused(on(RuleResume, "i"), NotParked)
	if q := s.State.Request("i"); q.Kind != Tell || q.Return != "" {
		t.Fatal("it has a return address still")
	}
}

func TestParkInPlaceKeepsTheActor(t *testing.T) {
	s := newScene(t, 0)
	x, y := at("i", 1, 1), at("i", 2, 1)
	s.do(send("i", "a"), send("j", "a"), begin(x), tailSelf(x), begin(y), failure("a"), on(RulePark, "i"))
	s.refused(begin(at("j", 1, 1)), NotRunnable)
	resumed := &scene{t, s.Clone()}
	resumed.do(on(RuleResume, "i"))
	resumed.flow("i a.next", "j a.m", "i=operator")
	resumed.do(begin(at("i", 2, 2)), end(at("i", 2, 2), ""), begin(at("j", 1, 1)))
	s.do(on(RuleSkip, "i"), begin(at("j", 1, 1)))
	s.refused(on(RuleSkip, "i"), NotParked)
}

func TestAnswer(t *testing.T) {
	s := newScene(t, 0)
	x := at("i", 1, 1)
	s.do(send("i", "a"), send("j", "a"), begin(x), call(x, "k", "b"))
	s.refused(on(RuleAnswer, "i"), Running)
	s.do(on(RuleAnswer, "j"), on(RuleAnswer, "k"))
	s.flow("i a.m", "j=operator", "k=operator")
	s.do(call(x, "l", "b"), failure("a"))
	s.refused(on(RuleAnswer, "i"), NotJoined)
	s.do(on(RulePark, "l"), on(RuleAnswer, "l"))
	if len(s.State.Parked) != 0 {
		t.Fatal("it is parked still")
	}
	s.do(on(RuleAnswer, "i"))
}

func TestRefuse(t *testing.T) {
	s := newScene(t, 0)
	s.do(send("i", "a"), send("j", "a"), begin(at("i", 1, 1)), failure("a"))
	s.refused(on(RuleRefuse, "i"), HasBegun)
	s.do(on(RuleRefuse, "j"))
	s.flow("i a.m", "j=operator")
}

func TestOverrule(t *testing.T) {
	s := newScene(t, 0)
	x := at("i", 1, 1)
	s.do(send("i", "a"), begin(x), step(x, "a", "1"), on(RuleOverrule, "i"))
	s.refused(on(RuleOverrule, "i"), IsDecided)
	s.refused(tailSelf(x), IsDecided)
	lost := &scene{t, s.Clone()}
	lost.do(failure("a"))
	lost.refused(begin(at("i", 1, 2)), IsDecided)
	lost.do(on(RuleAnswer, "i"))
	lost.flow("i=operator")
	s.do(end(x, "its own"))
	s.flow("i=operator")
	s.state("a", "")
}

func TestForce(t *testing.T) {
	s := newScene(t, 0)
	x := at("i", 1, 1)
	s.do(send("i", "a"), send("j", "a"))
	s.refused(on(RuleForce, "i"), NoAttempt)
	s.do(begin(x), step(x, "a", "1"), on(RuleForce, "i"))
	s.flow("i a.m", "j a.m", "i=operator") // answered, and its actor is locked
	s.refused(end(x, "late"), Fenced)
	s.refused(begin(at("j", 1, 1)), NotRunnable)
	s.refused(on(RuleAnswer, "i"), IsDecided)
	s.do(by(RuleGone, x), begin(at("j", 1, 1)))
	s.state("a", "")
}

// TestReentryRecordsFirst: what a method has written before it is re-entered
// is recorded in one step with the beginning, and seen by it.
func TestReentryRecordsFirst(t *testing.T) {
	s := newScene(t, 0)
	x, k, cb := at("i", 1, 1), at("k", 1, 1), at("cb", 1, 1)
	s.do(send("i", "a"), begin(x), step(x, "a", "1"), call(x, "k", "b"), wait(x, "k"), begin(k))
	s.state("a", "")
	s.do(call(k, "cb", "a"), wait(k, "cb"), begin(cb))
	s.state("a", "1")
	s.do(Event{Rule: RuleRead, By: cb, Value: "1"})
}
