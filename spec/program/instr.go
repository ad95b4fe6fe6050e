package program

import (
	"strconv"

	"github.com/pawl-go/pawl/spec"
)

// Expr is a value computed from local variables.
type Expr func(spec.Point) spec.Value

// V is the argument; X and Y are the local variables; none is no value.
func V(at spec.Point) spec.Value { return at.V }

// X is the first local variable.
func X(at spec.Point) spec.Value { return at.X }

// Y is the second local variable.
func Y(at spec.Point) spec.Value { return at.Y }

func none(spec.Point) spec.Value { return "" }

func val(v spec.Value) Expr { return func(spec.Point) spec.Value { return v } }

// plus adds to a number; no value counts as 0.
func plus(e Expr, n int) Expr {
	return func(at spec.Point) spec.Value {
		x, _ := strconv.Atoi(string(e(at)))
		return spec.Value(strconv.Itoa(x + n))
	}
}

// join puts values together.
func join(es ...Expr) Expr {
	return func(at spec.Point) spec.Value {
		var all spec.Value
		for _, e := range es {
			all += e(at)
		}
		return all
	}
}

// Var is a local variable that something goes into.
type Var func(spec.Point, spec.Value) spec.Point

func intoX(at spec.Point, v spec.Value) spec.Point { at.X = v; return at }
func intoY(at spec.Point, v spec.Value) spec.Point { at.Y = v; return at }

// body is a method.
func body(is ...Instr) Method { return is }

// one is an instruction with one transition, which goes on behind it.
func one(event func(View) spec.Event) Instr {
	return Instr{Next: func(v View) []spec.Event {
		e := event(v)
		if !e.At {
			e.Next, e.At = v.Point, true
		}
		e.Next.PC++
		return []spec.Event{e}
	}}
}

// read is x = p.
func read(into Var) Instr {
	return one(func(v View) spec.Event {
		return spec.Event{Rule: spec.RuleStep, Next: into(v.Point, v.P), At: true}
	})
}

// write is p = e.
func write(e Expr) Instr {
	return one(func(v View) spec.Event {
		return spec.Event{Rule: spec.RuleStep, Writes: []spec.Write{{Value: e(v.Point)}}}
	})
}

// sync records the writes so far.
func sync() Instr { return one(func(View) spec.Event { return spec.Event{Rule: spec.RuleSync} }) }

func msg(v View, a spec.Actor, method string, arg Expr) spec.Message {
	return spec.Message{Actor: a, Method: method, Arg: arg(v.Point)}
}

// call makes a nested call and goes on; await waits for it.
func call(a spec.Actor, method string, arg Expr) Instr {
	return one(func(v View) spec.Event { return spec.Event{Rule: spec.RuleCall, Msg: msg(v, a, method, arg)} })
}

// once is a call by a name.
func once(name spec.ID, a spec.Actor, method string, arg Expr) Instr {
	return one(func(v View) spec.Event {
		m := msg(v, a, method, arg)
		m.ID = name
		return spec.Event{Rule: spec.RuleCallOnce, Msg: m}
	})
}

// await waits for the oldest call out.
func await(into Var) Instr {
	return Instr{
		Next: func(v View) []spec.Event { return []spec.Event{{Rule: spec.RuleWait}} },
		Got: func(at spec.Point, v spec.Value) spec.Point {
			at = into(at, v)
			at.PC++
			return at
		},
	}
}

// awaitUntil is await with a deadline, which may come at any time.
func awaitUntil(into Var) Instr {
	i := await(into)
	i.Deadline = true
	return i
}

func tellWhen(when spec.When, a spec.Actor, method string, arg Expr) Instr {
	return one(func(v View) spec.Event {
		return spec.Event{Rule: spec.RuleTell, When: when, Msg: msg(v, a, method, arg)}
	})
}

// tell sends a request that nobody waits for, with the next request or the outcome.
func tell(a spec.Actor, method string, arg Expr) Instr {
	return tellWhen(spec.WithNext, a, method, arg)
}

// end returns a value; fail returns an application error.
func end(e Expr) Instr {
	return one(func(v View) spec.Event { return spec.Event{Rule: spec.RuleEnd, Value: e(v.Point)} })
}

func fail(e Expr) Instr {
	return one(func(v View) spec.Event {
		return spec.Event{Rule: spec.RuleEnd, Value: e(v.Point), Failed: true}
	})
}

// tail makes a tail call to another actor, tailAway one that releases the
// actor even if it is the same, tailSelf one to the same actor.
func tail(a spec.Actor, method string, arg Expr) Instr {
	return one(func(v View) spec.Event { return spec.Event{Rule: spec.RuleTailOther, Msg: msg(v, a, method, arg)} })
}

func tailAway(a spec.Actor, method string, arg Expr) Instr {
	return one(func(v View) spec.Event {
		return spec.Event{Rule: spec.RuleTailOther, Msg: msg(v, a, method, arg), Release: true}
	})
}

func tailSelf(method string, arg Expr) Instr {
	return one(func(v View) spec.Event { return spec.Event{Rule: spec.RuleTailSelf, Msg: msg(v, "", method, arg)} })
}

// retryOnce asks for another attempt, the first time.
func retryOnce(rule spec.Rule) Instr {
	return one(func(v View) spec.Event {
		if v.N == 1 {
			return spec.Event{Rule: rule}
		}
		return spec.Event{Rule: spec.RuleStep}
	})
}

// jump goes on at another instruction.
func jump(pc int) Instr {
	return Instr{Next: func(v View) []spec.Event {
		v.Point.PC = pc
		return []spec.Event{{Rule: spec.RuleStep, Next: v.Point, At: true}}
	}}
}
