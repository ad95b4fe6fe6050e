package spec

import "testing"

// TestPaper goes through the paper, "Reliable Actors with Retry Orchestration",
// in its order. Each case is named after its place. I is main's invocation on
// actor a, k that of its callee task on b; x, y and z are attempts of i.
func TestPaper(t *testing.T) {
	for _, c := range []struct {
		place string
		run   func(*scene)
	}{
		{"2: invocations of an actor are queued and processed one at a time in queue order", paperQueue},
		{"2: a nested invocation of the same actor runs immediately, bypassing the queue", paperReentry},
		{"Figure 1 (1): no failure", paperTimeline1},
		{"Figure 1 (2): the caller fails before the call", paperTimeline2},
		{"Figure 1 (3): the callee fails alone", paperTimeline3},
		{"Figure 1 (4): the caller fails, the callee runs to completion", paperTimeline4},
		{"Figure 1 (5): the caller fails, the callee is preempted", paperTimeline5},
		{"Figure 1 (6): both fail, and the caller is retried", paperTimeline6},
		{"Figure 1 (7): both fail, and the callee is retried first", paperTimeline7},
		{"Figure 1, left out: the caller fails after placing the call, before the callee has begun; it is cancelled", paperPlacedCancelled},
		{"Figure 1, left out: the same, and the callee runs before the retry", paperPlacedRun},
		{"Figure 2 (a): main is retried after task has completed", paperFigure2a},
		{"Figure 2 (b): main is never retried beside callback", paperFigure2b},
		{"2: a tail call completes the caller and issues the callee in one step, and the caller's caller stays blocked", paperTailCall},
		{"2: a tail call to the same actor retains the lock, upon failure too", paperTailSelf},
		{"2: a tail call to another actor releases the lock", paperTailOther},
		{"2: incr by tail call: a failure interrupts incr or set, not both, and counts once", paperIncrement},
		{"2: a write that lingers behind a failure must not land", paperLingering},
		{"2: the wrong increment, by get and set in one method of two actors, counts twice", paperWrongIncrement},
		{"3.2 (begin): the request remains in the flow", paperRuleBegin},
		{"3.2 (step): a running actor updates its own state only", paperRuleStep},
		{"3.2 (end): process and request go and the response comes in one step", paperRuleEnd},
		{"3.2 (call), (tell): a fresh request at the tail of the flow; call waits, tell does not", paperRuleCallTell},
		{"3.2 (return): the response is extracted", paperRuleReturn},
		{"3.2 (tail-other), (tail-self): the same id, at the tail or in place", paperRuleTail},
		{"3.3 (failure): at any time, on any set of actors; messages and state are not impacted", paperFailure},
		{"3.4: without failures, that no callee is queued is implied", paperRedundant},
		{"3.4 reachable: what is nested in the leftmost invocation, by way of other actors", paperReachable},
		{"Theorem 3.1: once begun, reachable until it returns", paperRetry},
		{"Theorem 3.1: a nested call that never returns delays the retry for ever", paperRetryDelayed},
		{"Theorem 3.2: no retry after success", paperNoRetryAfterSuccess},
		{"Theorem 3.3: no concurrent retries, nor two calls in a chain of tail calls", paperNoConcurrent},
		{"Theorem 3.4: happen-before holds for the callees of callees", paperHappenBefore},
		{"3.5 (cancel): only what nobody waits for and has not begun; c's result is needed by b", paperCancel},
		{"3.5 (preempt): from the bottom of the call stack up", paperPreempt},
		{"3.5: preemption may happen at any point, or not at all", paperPreemptRaces},
		{"4: what was sent by a component that was removed does not count", paperRemoved},
	} {
		t.Run(c.place, func(t *testing.T) { c.run(newScene(t, 0)) })
	}
}

var (
	x, y, z = at("i", 1, 1), at("i", 1, 2), at("i", 1, 3)
	k1, k2  = at("k", 1, 1), at("k", 1, 2)
)

// calling has main call task and wait.
func (s *scene) calling() {
	s.t.Helper()
	s.do(send("i", "a"), begin(x), call(x, "k", "b"), wait(x, "k"))
}

// reinvokes has an attempt of main call task again, as k', and end with it.
func (s *scene) reinvokes(by Attempt) {
	s.t.Helper()
	again := at("k'", 1, 1)
	s.do(call(by, "k'", "b"), wait(by, "k'"), begin(again), end(again, "v"), back(by, "k'"), end(by, "v"))
	s.flow("i=v")
}

func paperQueue(s *scene) {
	s.do(send("i", "a"), send("j", "a"))
	s.refused(begin(at("j", 1, 1)), NotRunnable)
	s.do(begin(x))
	s.refused(begin(at("j", 1, 1)), NotRunnable)
	s.do(end(x, "v"), begin(at("j", 1, 1)))
}

func paperReentry(s *scene) {
	s.calling()
	s.do(send("j", "a"), begin(k1), call(k1, "callback", "a"), wait(k1, "callback"))
	s.refused(begin(at("j", 1, 1)), NotRunnable)
	s.do(begin(at("callback", 1, 1))) // ahead of j, while main is suspended
	s.refused(back(x, "k"), NoResponse)
}

func paperTimeline1(s *scene) {
	s.calling()
	s.do(begin(k1), end(k1, "v"), back(x, "k"), end(x, "v"))
	s.flow("i=v")
}

func paperTimeline2(s *scene) {
	s.do(send("i", "a"), begin(x), failure("a"), begin(y))
	s.reinvokes(y)
}

func paperTimeline3(s *scene) {
	s.calling()
	s.do(begin(k1), failure("b"), begin(k2), end(k2, "v"), back(x, "k"), end(x, "v"))
	s.flow("i=v")
}

func paperTimeline4(s *scene) {
	s.calling()
	s.do(begin(k1), failure("a"))
	s.refused(begin(y), NotRunnable)
	s.do(end(k1, "v"), on(RuleForget, "k"), begin(y))
	s.reinvokes(y)
}

func paperTimeline5(s *scene) {
	s.calling()
	s.do(begin(k1), failure("a"))
	s.refused(begin(y), NotRunnable)
	s.do(on(RulePreempt, "k"), begin(y))
	s.refused(end(k1, "v"), NoAttempt)
	s.reinvokes(y)
}

func paperTimeline6(s *scene) {
	s.calling()
	s.do(begin(k1), failure("a", "b"))
	s.refused(begin(y), NotRunnable) // it waits until the callee is known to have failed for good
	s.do(on(RulePreempt, "k"), begin(y))
	s.reinvokes(y)
}

func paperTimeline7(s *scene) {
	s.calling()
	s.do(begin(k1), failure("a", "b"))
	s.refused(begin(y), NotRunnable)
	s.do(begin(k2))
	s.refused(begin(y), NotRunnable)
	s.do(end(k2, "v"), begin(y), on(RuleForget, "k"))
	s.reinvokes(y)
}

func paperPlacedCancelled(s *scene) {
	s.calling()
	s.do(failure("a"))
	s.refused(begin(y), NotRunnable)
	s.do(on(RuleCancel, "k"), begin(y))
	s.reinvokes(y)
}

func paperPlacedRun(s *scene) {
	s.calling()
	s.do(failure("a"), begin(k1))
	s.refused(on(RuleCancel, "k"), HasBegun)
	s.refused(begin(y), NotRunnable)
	s.do(end(k1, "v"), on(RuleForget, "k"), begin(y))
	s.reinvokes(y)
}

// inCallback has task call back while main waits.
func (s *scene) inCallback() Attempt {
	s.t.Helper()
	callback := at("c", 1, 1)
	s.calling()
	s.do(begin(k1), call(k1, "c", "a"), wait(k1, "c"), begin(callback))
	return callback
}

func paperFigure2a(s *scene) {
	callback := s.inCallback()
	s.do(failure("a"), begin(at("c", 1, 2)))
	s.refused(end(callback, "v"), Fenced)
	s.do(end(at("c", 1, 2), "v"), back(k1, "c"), end(k1, "v"), on(RuleForget, "k"), begin(y))
	s.reinvokes(y)
}

func paperFigure2b(s *scene) {
	s.inCallback()
	s.do(failure("a"))
	s.refused(begin(y), NotRunnable) // callback and task are queued, and nested in main
	s.do(begin(at("c", 1, 2)))
	s.refused(begin(y), NotRunnable)
	s.do(end(at("c", 1, 2), "v"))
	s.refused(begin(y), NotRunnable) // task is still there
}

func paperTailCall(s *scene) {
	s.calling()
	next := at("k", 2, 1)
	s.do(begin(k1), tailOther(k1, "d"))
	s.flow("i a.m", "k d.next") // in one step: never without the request, never with both
	s.refused(back(x, "k"), NoResponse)
	s.do(begin(next), end(next, "last"))
	s.flow("i a.m", "k=last")
	s.do(back(x, "k"))
}

func paperTailSelf(s *scene) {
	set, again := at("i", 2, 1), at("i", 2, 2)
	s.do(send("i", "a"), send("j", "a"), begin(x), tailSelf(x))
	s.refused(begin(at("j", 1, 1)), NotRunnable)
	s.do(begin(set), failure("a"))
	s.refused(begin(at("j", 1, 1)), NotRunnable)
	s.do(begin(again), end(again, "v"), begin(at("j", 1, 1)))
}

func paperTailOther(s *scene) {
	s.do(send("i", "a"), send("j", "a"), begin(x), tailOther(x, "b"), begin(at("j", 1, 1)))
	s.flow("j a.m", "i b.next")
}

// The store is an actor of its own here, called k by incr and by set.
func paperIncrement(s *scene) {
	get, set, set2 := at("g", 1, 1), at("i", 2, 1), at("i", 2, 2)
	s.do(send("i", "a"), begin(x), call(x, "g", "store"), wait(x, "g"), begin(get), end(get, "0"), back(x, "g"))
	s.do(failure("a"), begin(y)) // incr is interrupted: nothing is set yet, it reads the same again
	get = at("g'", 1, 1)
	s.do(call(y, "g'", "store"), wait(y, "g'"), begin(get), end(get, "0"), back(y, "g'"), tailSelf(y), begin(set))
	s.refused(begin(z), WrongStep) // from here on incr is done, whatever fails
	put := at("p", 1, 1)
	s.do(call(set, "p", "store"), wait(set, "p"), begin(put), step(put, "store", "1"), end(put, "ok"), back(set, "p"))
	s.do(failure("a"), begin(set2)) // set is interrupted: it writes the same again
	put = at("p'", 1, 1)
	s.do(call(set2, "p'", "store"), wait(set2, "p'"), begin(put), step(put, "store", "1"), end(put, "ok"), back(set2, "p'"), end(set2, "ok"))
	s.state("store", "1")
	s.flow("i=ok")
}

func paperLingering(s *scene) {
	s.do(send("i", "a"), begin(x), step(x, "a", "old"), failure("a"), begin(y), step(y, "a", "new"), end(y, "v"))
	s.refused(by(RuleSync, x), Fenced)
	s.refused(end(x, "v"), Fenced)
	s.state("a", "new")
}

func paperWrongIncrement(s *scene) {
	put, again := at("p", 1, 1), at("p'", 1, 1)
	s.do(send("i", "a"), begin(x), call(x, "p", "store"), wait(x, "p"), begin(put), step(put, "store", "1"), end(put, "ok"), back(x, "p"))
	s.do(failure("a"), begin(y), call(y, "p'", "store"), wait(y, "p'"), begin(again))
	if got := s.State.Read(again, ""); got != "1" {
		s.t.Fatalf("the retry reads %q: the first attempt's increment is there", got)
	}
	s.do(step(again, "store", "2"), end(again, "ok"), back(y, "p'"), end(y, "ok"))
	s.state("store", "2") // one call, two increments
}

func paperRuleBegin(s *scene) {
	s.do(send("i", "a"), begin(x))
	s.flow("i a.m")
	s.refused(begin(y), Running)
}

func paperRuleStep(s *scene) {
	s.do(send("i", "a"), begin(x), step(x, "a", "1"))
	s.refused(step(x, "b", "1"), OtherActor)
}

func paperRuleEnd(s *scene) {
	s.do(send("i", "a"), begin(x), end(x, "v"))
	s.flow("i=v")
	if len(s.State.E) != 0 {
		s.t.Fatal("the process is still in E")
	}
}

func paperRuleCallTell(s *scene) {
	s.do(send("i", "a"), send("j", "b"), begin(x))
	s.refused(call(x, "j", "b"), NotFresh)
	s.do(tell(x, "t", "b", Immediately), call(x, "k", "b"))
	s.flow("i a.m", "j b.m", "t b.m", "k b.m")
	if r := s.State.Request("k").Return; r != "i" {
		s.t.Errorf("the return address of the call is %q", r)
	}
	if r := s.State.Request("t").Return; r != "" {
		s.t.Errorf("the return address of the tell is %q", r)
	}
	s.do(step(x, "a", "1"), wait(x, "k")) // tell has not suspended it
	s.refused(step(x, "a", "2"), Waits)
}

func paperRuleReturn(s *scene) {
	s.calling()
	s.do(begin(k1), end(k1, "v"))
	s.flow("i a.m", "k=v")
	s.do(back(x, "k"))
	s.flow("i a.m")
	s.refused(back(x, "k"), DoesNotWait)
}

func paperRuleTail(s *scene) {
	s.do(send("i", "a"), send("j", "a"), send("l", "b"), begin(x), tailSelf(x))
	s.flow("i a.next", "j a.m", "l b.m") // in place, without affecting other requests
	s.do(begin(at("i", 2, 1)))
	s.refused(tailOther(at("i", 2, 1), "a"), SameActor)
	s.do(tailOther(at("i", 2, 1), "b"))
	s.flow("j a.m", "l b.m", "i b.next")
}

func paperFailure(s *scene) {
	s.do(failure("a", "b")) // of what does not run
	s.calling()
	s.do(begin(k1), step(k1, "b", "1"), by(RuleSync, k1), failure("a", "b"))
	s.flow("i a.m", "k b.m")
	s.state("b", "1")
}

func paperRedundant(s *scene) {
	s.calling()
	s.refused(begin(y), Running) // the caller runs, so the question does not come up
}

func paperReachable(s *scene) {
	s.calling()
	s.do(send("j", "a"), begin(k1), call(k1, "d", "d"), wait(k1, "d"), begin(at("d", 1, 1)))
	s.do(call(at("d", 1, 1), "c", "a"), wait(at("d", 1, 1), "c"))
	s.refused(begin(at("j", 1, 1)), NotRunnable)
	s.do(begin(at("c", 1, 1))) // nested in i by way of b and d
}

func paperRetry(s *scene) {
	s.do(send("i", "a"), send("j", "a"), begin(x), failure("a"))
	s.refused(begin(at("j", 1, 1)), NotRunnable) // i has begun: it stays the one
	s.do(begin(y), failure("a"), begin(z), end(z, "v"), begin(at("j", 1, 1)))
}

func paperRetryDelayed(s *scene) {
	s.calling()
	s.do(begin(k1), failure("a"))
	for n := 2; n < 5; n++ {
		s.do(failure("b"))
		s.refused(begin(y), NotRunnable)
		s.do(begin(at("k", 1, n)))
	}
}

func paperNoRetryAfterSuccess(s *scene) {
	s.do(send("i", "a"), begin(x), end(x, "v"))
	s.refused(begin(y), NoRequest)
	s.do(failure("a"))
	s.refused(begin(y), NoRequest)
}

func paperNoConcurrent(s *scene) {
	s.do(send("i", "a"), begin(x))
	s.refused(begin(y), Running)
	s.do(tailOther(x, "b"))
	s.refused(begin(y), WrongStep)
	s.do(begin(at("i", 2, 1)))
	s.refused(begin(at("i", 2, 2)), Running)
}

func paperHappenBefore(s *scene) {
	s.calling()
	s.do(begin(k1), call(k1, "d", "d"), wait(k1, "d"), begin(at("d", 1, 1)), failure("a", "b"))
	s.refused(begin(k2), NotRunnable) // waits for d
	s.refused(begin(y), NotRunnable)  // waits for k
	s.do(end(at("d", 1, 1), "v"), on(RuleForget, "d"))
	s.refused(begin(y), NotRunnable)
	s.do(begin(k2), end(k2, "v"), on(RuleForget, "k"), begin(y))
}

// stack has a call b, b call c; c has not begun.
func (s *scene) stack() {
	s.t.Helper()
	s.calling()
	s.do(begin(k1), call(k1, "c", "c"), wait(k1, "c"))
}

func paperCancel(s *scene) {
	s.stack()
	s.refused(on(RuleCancel, "i"), NotNested)
	s.refused(on(RuleCancel, "c"), CallerLives)
	s.do(failure("a"))
	s.refused(on(RuleCancel, "k"), HasBegun)    // b runs on
	s.refused(on(RuleCancel, "c"), CallerLives) // and needs c
	s.do(failure("b"), on(RuleCancel, "c"))
	s.flow("i a.m", "k b.m")
}

func paperPreempt(s *scene) {
	s.stack()
	s.do(begin(at("c", 1, 1)))
	s.refused(on(RulePreempt, "k"), CallerLives)
	s.do(failure("a"))
	s.refused(on(RulePreempt, "k"), NotJoined) // c first
	s.do(on(RulePreempt, "c"), on(RulePreempt, "k"))
	s.flow("i a.m")
	s.do(begin(y))
}

func paperPreemptRaces(s *scene) {
	s.stack()
	s.do(failure("a"), begin(at("c", 1, 1)), on(RulePreempt, "c")) // c, and then k goes on alone
	s.flow("i a.m", "k b.m")
	s.do(failure("b"), begin(k2), end(k2, "v"), on(RuleForget, "k"), begin(y))
}

func paperRemoved(s *scene) {
	s.calling()
	s.do(begin(k1), failure("b"))
	s.refused(call(k1, "l", "c"), Fenced)
	s.refused(tell(k1, "l", "c", Immediately), Fenced)
	s.refused(tailOther(k1, "c"), Fenced)
	s.refused(end(k1, "v"), Fenced)
	s.flow("i a.m", "k b.m")
}
