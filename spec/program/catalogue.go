package program

import (
	"fmt"
	"strings"

	"github.com/pawl-go/pawl/spec"
)

// All lists the programs: the paper's first, then one for each rule, then the
// wrong ones.
func All() []*Program {
	return []*Program{
		latch(), counter(), counterState(), mainTask(),
		chains(), nestedChain(), siblings(), siblingsTail(),
		callOut(), deadline(), reentered(), tells(), tellsLast(), failed(),
		onced(), retried(), postponed(), parked(), parkedInPlace(), cancelled(), preempted(),
		twoClients(), ordered(), crossing(), overruled(), forced(), released(),
		counterSync(), counterNested(), endless(),
	}
}

func clients(requests ...Request) []Client {
	var cs []Client
	for at, r := range requests {
		cs = append(cs, Client{Name: string(rune('A' + at)), Calls: []Request{r}})
	}
	return cs
}

func latch() *Program {
	return &Program{
		Name: "latch", About: "the paper's getset, called by two clients", Failures: 3,
		Clients: clients(Request{Actor: "latch", Method: "getset", Arg: "1"}, Request{Actor: "latch", Method: "getset", Arg: "2"}),
		Methods: map[string]Method{"getset": body(read(intoX), write(V), end(X))},
		Check: func(f Final) string {
			got := fmt.Sprintf("%q %q", f.Answers(), f.State("latch"))
			if got != `["" "1"] "2"` && got != `["2" ""] "1"` {
				return "answers and state are " + got
			}
			return ""
		},
	}
}

// counts checks that a counter has counted what was acknowledged.
func counts(a spec.Actor) func(Final) string {
	return func(f Final) string {
		n := 0
		for _, v := range f.Answers() {
			if v == "ok" {
				n++
			}
		}
		if want := plus(none, n)(spec.Point{}); f.State(a) != want {
			return fmt.Sprintf("%d increments are acknowledged, and the counter is at %s", n, f.State(a))
		}
		return ""
	}
}

// store adds the methods of a store without increment.
func store(m map[string]Method) map[string]Method {
	m["get"] = body(read(intoX), end(X))
	m["put"] = body(write(V), end(none))
	return m
}

func counter() *Program {
	return &Program{
		Name: "counter", About: "the paper's counter: get, then a tail call that sets; the store is another actor", Failures: 3,
		Clients: clients(Request{Actor: "a", Method: "incr"}, Request{Actor: "a", Method: "incr"}),
		Methods: store(map[string]Method{
			"incr": body(call("store", "get", none), await(intoX), tailSelf("set", plus(X, 1))),
			"set":  body(call("store", "put", V), await(intoX), end(val("ok"))),
		}),
		Check: counts("store"),
	}
}

func counterState() *Program {
	return &Program{
		Name: "counter-state", About: "add one to durable state and return: recorded with the outcome, so exactly once", Failures: 3,
		Clients: clients(Request{Actor: "a", Method: "incr"}, Request{Actor: "a", Method: "incr"}),
		Methods: map[string]Method{"incr": body(read(intoX), write(plus(X, 1)), end(val("ok")))},
		Check:   counts("a"),
	}
}

func mainTask() *Program {
	return &Program{
		Name: "main-task", About: "main calls task, task calls back, and a competitor waits for main's actor", Failures: 3,
		Clients: clients(Request{Actor: "a", Method: "main"}, Request{Actor: "a", Method: "other"}),
		Methods: map[string]Method{
			"main":     body(call("b", "task", none), await(intoX), end(X)),
			"task":     body(call("a", "callback", none), await(intoX), end(X)),
			"callback": body(write(val("called")), end(val("ok"))),
			"other":    body(read(intoX), end(X)),
		},
		Check: func(f Final) string {
			if a := f.Answers(); a[0] != "ok" || f.State("a") != "called" {
				return fmt.Sprintf("main has the outcome %q, a is %q", a[0], f.State("a"))
			}
			return ""
		},
	}
}

func chains() *Program {
	return &Program{
		Name: "chains", About: "a callee's chain of tail calls goes over two actors and back to the caller's", Failures: 3,
		Clients: clients(Request{Actor: "a", Method: "main"}, Request{Actor: "a", Method: "other"}),
		Methods: map[string]Method{
			"main":  body(call("b", "one", none), await(intoX), end(X)),
			"one":   body(write(val("1")), tail("c", "two", none)),
			"two":   body(write(val("2")), tail("a", "three", none)),
			"three": body(write(val("3")), end(val("ok"))),
			"other": body(read(intoX), end(X)),
		},
		Check: func(f Final) string {
			if got := f.Answers()[0] + f.State("a") + f.State("b") + f.State("c"); got != "ok312" {
				return "outcome and states are " + string(got)
			}
			return ""
		},
	}
}

func nestedChain() *Program {
	return &Program{
		Name: "nested-chain", About: "a caller fails while its callee is in the middle of a chain of tail calls", Failures: 3, Cancels: true,
		Clients: clients(Request{Actor: "a", Method: "main"}),
		Methods: map[string]Method{
			"main": body(call("b", "take", none), await(intoX), end(X)),
			"take": body(read(intoX), write(plus(X, 1)), tail("c", "give", none)),
			"give": body(read(intoX), write(plus(X, 1)), end(val("ok"))),
		},
		Check: func(f Final) string {
			if f.State("b") != f.State("c") {
				return fmt.Sprintf("%s were taken, and %s given", f.State("b"), f.State("c"))
			}
			return ""
		},
	}
}

// siblingCalls is the main of the programs with two parallel callees.
func siblingCalls() Method {
	return body(call("b", "task", none), call("c", "task", none), await(intoX), await(intoY), end(join(X, val(" "), Y)))
}

func siblings() *Program {
	return &Program{
		Name: "siblings", About: "two parallel callees call back", Failures: 2,
		Clients: clients(Request{Actor: "a", Method: "main"}),
		Methods: map[string]Method{
			"main":     siblingCalls(),
			"task":     body(call("a", "callback", none), await(intoX), end(X)),
			"callback": body(read(intoX), write(plus(X, 1)), end(val("ok"))),
		},
		Check: func(f Final) string {
			if a := f.Answers(); a[0] != "ok ok" {
				return fmt.Sprintf("the outcome is %q", a[0])
			}
			return ""
		},
	}
}

func siblingsTail() *Program {
	return &Program{
		Name: "siblings-tail", About: "two parallel callees call back, each to get, and by tail-self to set", Failures: 2,
		Clients: clients(Request{Actor: "a", Method: "main"}),
		Methods: map[string]Method{
			"main": siblingCalls(),
			"task": body(call("a", "get1", none), await(intoX), end(X)),
			"get1": body(read(intoX), tailSelf("set1", plus(X, 1))),
			"set1": body(write(V), end(V)),
		},
		Check: func(f Final) string {
			x, y, _ := strings.Cut(string(f.Answers()[0]), " ")
			if s := string(f.State("a")); x == y || s != x && s != y {
				return fmt.Sprintf("the two have set %s and %s, the state is %s", x, y, s)
			}
			return ""
		},
	}
}

func callOut() *Program {
	return &Program{
		Name: "call-out", About: "a method ends with a call out, and is held until that has ended; others wait", Failures: 3,
		Clients: clients(Request{Actor: "a", Method: "outer"}, Request{Actor: "a", Method: "other"}),
		Methods: map[string]Method{
			"outer":    body(call("b", "main", none), await(intoX), end(X)),
			"main":     body(call("c", "task", none), end(val("ok"))),
			"task":     body(call("b", "callback", none), await(intoX), end(X)),
			"callback": body(write(val("called")), end(none)),
			"other":    body(end(none)),
		},
		Check: func(f Final) string {
			if f.Answers()[0] != "ok" || f.State("b") != "called" {
				return fmt.Sprintf("the outcome is %q, b is %q", f.Answers()[0], f.State("b"))
			}
			return ""
		},
	}
}

func deadline() *Program {
	return &Program{
		Name: "deadline", About: "a wait ends by its deadline, and the method is held at its end", Failures: 3,
		Clients: clients(Request{Actor: "a", Method: "main"}),
		Methods: map[string]Method{
			"main":     body(call("b", "task", none), awaitUntil(intoX), read(intoY), write(join(Y, val("m"))), end(val("ok"))),
			"task":     body(call("a", "callback", none), await(intoX), end(X)),
			"callback": body(read(intoX), write(join(X, val("c"))), end(none)),
		},
		Check: func(f Final) string {
			if !strings.Contains(string(f.State("a")), "m") {
				return fmt.Sprintf("a is %q: the write of main is lost", f.State("a"))
			}
			return ""
		},
	}
}

func reentered() *Program {
	return &Program{
		Name: "reentered", About: "a method that has written is re-entered: its writes are recorded first, and seen", Failures: 3,
		Clients: clients(Request{Actor: "a", Method: "main"}),
		Methods: map[string]Method{
			"main":     body(write(val("m")), call("b", "task", none), await(intoX), read(intoY), write(join(Y, val("e"))), end(Y)),
			"task":     body(call("a", "callback", none), await(intoX), end(X)),
			"callback": body(read(intoX), write(join(X, val("c"))), end(none)),
		},
		Check: func(f Final) string {
			if seen := f.Answers()[0]; f.State("a") != seen+"e" || seen[:2] != "mc" {
				return fmt.Sprintf("a is %q, main has seen %q", f.State("a"), f.Answers()[0])
			}
			return ""
		},
	}
}
