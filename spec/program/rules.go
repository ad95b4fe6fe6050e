package program

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/pawl-go/pawl/spec"
)

// The programs for single rules.

// appendTo is a method that appends its argument to the state.
func appendTo() Method { return body(read(intoX), write(join(X, V)), end(none)) }

// looksLike checks the state of an actor.
func looksLike(a spec.Actor, pattern string) func(Final) string {
	re := regexp.MustCompile("^(" + pattern + ")$")
	return func(f Final) string {
		if !re.MatchString(string(f.State(a))) {
			return fmt.Sprintf("%s is %q, which does not look like %s", a, f.State(a), pattern)
		}
		return ""
	}
}

func tells() *Program {
	return &Program{
		Name: "tells", About: "a tell before a call leaves with the call and is repeated by a retry; one behind it is not", Failures: 3,
		Clients: clients(Request{Actor: "a", Method: "main"}),
		Methods: map[string]Method{
			"main": body(tell("b", "add", val("1")), call("c", "task", none), await(intoX), tell("b", "add", val("2")), end(val("ok"))),
			"task": body(end(none)),
			"add":  appendTo(),
		},
		Check: looksLike("b", "1+2"),
	}
}

func tellsLast() *Program {
	return &Program{
		Name: "tells-last", About: "writes and tells at the end are recorded with the outcome: all, once, in order", Failures: 3,
		Clients: clients(Request{Actor: "a", Method: "main"}),
		Methods: map[string]Method{
			"main": body(tellWhen(spec.WithOutcome, "b", "add", val("3")), tell("b", "add", val("1")), tell("b", "add", val("2")), write(val("w")), end(val("ok"))),
			"add":  appendTo(),
		},
		Check: looksLike("b", "123"),
	}
}

func failed() *Program {
	return &Program{
		Name: "failed", About: "an application error records nothing, but what Sync has recorded before", Failures: 3,
		Clients: clients(Request{Actor: "a", Method: "main"}),
		Methods: map[string]Method{
			"main": body(write(val("s")), sync(), write(val("w")), tell("b", "add", val("1")), fail(val("error"))),
			"add":  appendTo(),
		},
		Check: func(f Final) string {
			if f.State("a") != "s" || f.State("b") != "" {
				return fmt.Sprintf("a is %q, b is %q", f.State("a"), f.State("b"))
			}
			return ""
		},
	}
}

func onced() *Program {
	return &Program{
		Name: "once", About: "a charge made once is made once, whatever fails", Failures: 3, Cancels: true,
		Clients: clients(Request{Actor: "a", Method: "main"}),
		Methods: map[string]Method{
			"main":   body(once("charge", "b", "charge", none), await(intoX), call("c", "ship", none), await(intoY), end(X)),
			"charge": body(read(intoX), write(plus(X, 1)), end(plus(X, 1))),
			"ship":   body(end(none)),
		},
		Check: func(f Final) string {
			if f.State("b") != "1" || f.Answers()[0] != "1" {
				return fmt.Sprintf("charged %q times, answered %q", f.State("b"), f.Answers()[0])
			}
			return ""
		},
	}
}

func retried() *Program {
	return &Program{
		Name: "retry", About: "the code asks for another attempt: its writes and tells are dropped, its lock is kept", Failures: 3,
		Clients: clients(Request{Actor: "a", Method: "main"}, Request{Actor: "a", Method: "other"}),
		Methods: map[string]Method{
			"main":  body(read(intoX), write(join(X, val("m"))), tell("b", "add", val("1")), retryOnce(spec.RuleRetry), end(val("ok"))),
			"other": body(read(intoX), write(join(X, val("o"))), end(none)),
			"add":   appendTo(),
		},
		Check: func(f Final) string {
			if s := f.State("a"); s != "mo" && s != "om" || f.State("b") != "1" {
				return fmt.Sprintf("a is %q, b is %q", f.State("a"), f.State("b"))
			}
			return ""
		},
	}
}

func postponed() *Program {
	return &Program{
		Name: "postpone", About: "a type that lets others pass: the retry goes to the end of the flow", Failures: 3,
		Clients: clients(Request{Actor: "a", Method: "main"}, Request{Actor: "a", Method: "other"}),
		Methods: map[string]Method{
			"main":  body(read(intoX), write(join(X, val("m"))), retryOnce(spec.RulePostpone), end(val("ok"))),
			"other": body(read(intoX), write(join(X, val("o"))), end(none)),
		},
		Check: looksLike("a", "mo|om"),
	}
}

func parked() *Program {
	return &Program{
		Name: "park", About: "after two attempts a request is parked: who waits is told, others go on, an operator resumes it", Failures: 3,
		MaxAttempts: 2, Operator: []Act{{spec.RuleResume, "A1"}, {spec.RuleResume, "A1/1"}},
		Clients: clients(Request{Actor: "a", Method: "main"}, Request{Actor: "b", Method: "other"}),
		Methods: map[string]Method{
			"main":  body(call("b", "task", none), await(intoX), end(X)),
			"task":  body(read(intoX), write(join(X, val("t"))), end(val("ok"))),
			"other": body(read(intoX), write(join(X, val("o"))), end(val("ok"))),
		},
		Check: func(f Final) string {
			n := strings.Count(string(f.State("b")), "o")
			if _, ended := f.World.History.Ended["B1"]; ended && n != 1 || n > 1 {
				return fmt.Sprintf("other has run, and b is %q", f.State("b"))
			}
			return ""
		},
	}
}

func parkedInPlace() *Program {
	return &Program{
		Name: "park-in-place", About: "a parked step of a tail call to the same actor keeps its actor, until an operator resumes or skips it", Failures: 3,
		MaxAttempts: 1, Operator: []Act{{spec.RuleResume, "A1"}, {spec.RuleSkip, "A1"}},
		Clients: clients(Request{Actor: "a", Method: "incr"}, Request{Actor: "a", Method: "other"}),
		Methods: map[string]Method{
			"incr":  body(read(intoX), tailSelf("set", join(X, val("i")))),
			"set":   body(write(V), end(val("ok"))),
			"other": body(read(intoX), write(join(X, val("o"))), end(none)),
		},
		Check: looksLike("a", "|o|i|io|oi"),
	}
}

func cancelled() *Program {
	return &Program{
		Name: "cancel", About: "callees that were never begun are cancelled when their caller fails, wherever they stand", Failures: 2, Cancels: true,
		Clients: clients(Request{Actor: "a", Method: "main"}, Request{Actor: "b", Method: "slow"}),
		Methods: map[string]Method{
			"main": body(call("b", "task", none), await(intoX), end(X)),
			"task": body(call("c", "leaf", none), await(intoX), end(X)),
			"leaf": body(end(val("ok"))),
			"slow": body(call("c", "leaf", none), await(intoX), end(X)),
		},
		Check: answered("ok", "ok"),
	}
}

// answered checks the outcomes of the clients' calls.
func answered(want ...spec.Value) func(Final) string {
	return func(f Final) string {
		if got := f.Answers(); fmt.Sprint(got) != fmt.Sprint(want) {
			return fmt.Sprintf("the outcomes are %q, want %q", got, want)
		}
		return ""
	}
}

func preempted() *Program {
	return &Program{
		Name: "preempt", About: "callees of a failed caller are preempted, callees before callers", Failures: 2, Cancels: true, Preempts: true,
		Clients: clients(Request{Actor: "a", Method: "main"}),
		Methods: map[string]Method{
			"main": body(call("b", "task", none), await(intoX), end(X)),
			"task": body(write(val("t")), call("c", "leaf", none), await(intoX), end(X)),
			"leaf": body(call("b", "back", none), await(intoX), end(X)),
			"back": body(read(intoX), end(X)),
		},
		Check: answered("t"),
	}
}

func twoClients() *Program {
	m := Request{Actor: "a", Method: "add"}
	first, second, third := m, m, m
	first.Arg, second.Arg, third.Arg = "1", "2", "3"
	return &Program{
		Name: "two-clients", About: "two clients on one actor, one of them with two calls: each sees its own order", Failures: 3,
		Clients: []Client{{"A", []Request{first, second}}, {"B", []Request{third}}},
		Methods: map[string]Method{"add": appendTo()},
		Check:   looksLike("a", "123|132|312"),
	}
}

func ordered() *Program {
	tell := func(v spec.Value) Request { return Request{Actor: "a", Method: "add", Arg: v, Tell: true} }
	return &Program{
		Name: "order", About: "tells of one client to one actor stay in order, through a chain and failures", Failures: 3,
		Clients: []Client{{"A", []Request{tell("1"), {Actor: "a", Method: "twice", Arg: "2", Tell: true}, tell("3")}}},
		Methods: map[string]Method{
			"add":   appendTo(),
			"twice": body(read(intoX), write(join(X, V)), tailSelf("add", V)),
		},
		Check: looksLike("a", "1223"),
	}
}

func crossing() *Program {
	return &Program{
		Name: "crossing", About: "two calls that wait for each other: the youngest is answered with a deadlock", Failures: 3, Deadlocks: true,
		Clients: clients(Request{Actor: "a", Method: "main", Arg: "b"}, Request{Actor: "b", Method: "niam", Arg: "a"}),
		Methods: map[string]Method{
			"main": body(call("b", "leaf", none), await(intoX), end(X)),
			"niam": body(call("a", "leaf", none), await(intoX), end(X)),
			"leaf": body(end(val("ok"))),
		},
		Check: func(f Final) string {
			if a := f.Answers(); len(a) != 2 || a[0] != "ok" && a[1] != "ok" && a[0]+a[1] != "deadlockdeadlock" {
				return fmt.Sprintf("the outcomes are %q", a)
			}
			return ""
		},
	}
}

// operated is the program of the operator's rules: it is re-entered, and others wait.
func operated(name, about string, acts ...Act) *Program {
	return &Program{
		Name: name, About: about, Failures: 2, Cancels: true, Operator: acts,
		Clients: clients(Request{Actor: "a", Method: "main"}, Request{Actor: "a", Method: "other"}),
		Methods: map[string]Method{
			"main":     body(call("b", "task", none), await(intoX), write(X), end(val("ok"))),
			"task":     body(call("a", "callback", none), await(intoX), end(X)),
			"callback": body(end(val("w"))),
			"other":    body(end(val("ok"))),
		},
		Check: func(f Final) string {
			for _, v := range f.Answers() {
				if v != "ok" && v != "operator" {
					return fmt.Sprintf("the outcomes are %q", f.Answers())
				}
			}
			return ""
		},
	}
}

func overruled() *Program {
	return operated("overrule", "an operator gives an outcome to what runs, or has not begun",
		Act{spec.RuleOverrule, "A1"}, Act{spec.RuleAnswer, "A1/1"})
}

func forced() *Program {
	return operated("force", "an operator ends what runs by force: nothing it does counts, its actor stays locked while its code runs",
		Act{spec.RuleForce, "A1"}, Act{spec.RuleForce, "A1/1"})
}

func released() *Program {
	return &Program{
		Name: "tail-away", About: "a tail call to the same actor that releases it lets others in between", Failures: 3,
		Clients: clients(Request{Actor: "a", Method: "main"}, Request{Actor: "a", Method: "add", Arg: "o"}),
		Methods: map[string]Method{
			"main": body(read(intoX), write(join(X, val("1"))), tailAway("a", "add", val("2"))),
			"add":  appendTo(),
		},
		Check: looksLike("a", "12o|1o2|o12"),
	}
}

// The wrong ones.

func counterSync() *Program {
	return &Program{
		Name: "counter-wrong-write", About: "the paper's first wrong counter: read, write through, return", Failures: 1,
		Refuted: "a failure between the write and the return has it counted twice",
		Clients: clients(Request{Actor: "a", Method: "incr"}),
		Methods: map[string]Method{"incr": body(read(intoX), write(plus(X, 1)), sync(), end(val("ok")))},
		Check:   counts("a"),
	}
}

func counterNested() *Program {
	return &Program{
		Name: "counter-wrong-call", About: "the paper's second wrong counter: get, then a nested call that sets", Failures: 1,
		Refuted: "a failure between the end of set and the return has it counted twice",
		Clients: clients(Request{Actor: "a", Method: "incr"}),
		Methods: map[string]Method{
			"incr": body(read(intoX), call("a", "set", plus(X, 1)), await(intoY), end(Y)),
			"set":  body(write(V), end(val("ok"))),
		},
		Check: counts("a"),
	}
}

func endless() *Program {
	return &Program{
		Name: "endless", About: "a method that never ends: the walk says so", Failures: 0,
		Refuted: "it never ends",
		Clients: clients(Request{Actor: "a", Method: "main"}),
		Methods: map[string]Method{"main": body(read(intoX), jump(0))},
	}
}
