package program

import (
	"fmt"
	"math/rand/v2"

	"github.com/pawl-go/pawl/spec"
)

// Random makes a small program: two clients, three actors, four methods of a
// few random instructions. A method calls those behind it only, so that every
// program ends; behind the last there is one that returns at once. It has no
// check of its own: the properties must hold.
func Random(seed uint64) *Program {
	r := rand.New(rand.NewPCG(seed, 0))
	p := &Program{
		Name: fmt.Sprintf("random-%d", seed), About: "made of a seed", Failures: 1,
		Cancels: r.IntN(2) == 0, Methods: map[string]Method{},
	}
	const methods = 4
	for at := range methods {
		p.Methods[methodName(at)] = randomBody(r, at, methods)
	}
	for at := range 2 {
		p.Clients = append(p.Clients, Client{
			Name:  string(rune('A' + at)),
			Calls: []Request{{Actor: randomActor(r), Method: methodName(at), Tell: r.IntN(4) == 0}},
		})
	}
	return p
}

func methodName(at int) string { return fmt.Sprintf("m%d", at) }

func randomActor(r *rand.Rand) spec.Actor { return spec.Actor([]string{"a", "b", "c"}[r.IntN(3)]) }

func randomBody(r *rand.Rand, at, methods int) Method {
	var m Method
	out := 0
	for range 1 + r.IntN(3) {
		next := methodName(at + 1 + r.IntN(methods))
		switch k := r.IntN(9); {
		case k < 2:
			m = append(m, read(intoX), write(join(X, val("w"))))
		case k == 2:
			m = append(m, retryOnce(spec.RuleRetry))
		case k == 3:
			m = append(m, sync())
		case at+1 >= methods: // it has nobody to call
		case k == 4:
			m = append(m, tell(randomActor(r), next, none))
		case k == 5:
			m = append(m, once("n", randomActor(r), next, none), await(intoX))
		case out > 0 && k == 6:
			m = append(m, await(intoY))
			out--
		case k == 7:
			m = append(m, call(randomActor(r), next, none))
			out++
		default:
			m = append(m, call(randomActor(r), next, none), await(intoX))
		}
	}
	return append(m, randomEnd(r, at, methods))
}

func randomEnd(r *rand.Rand, at, methods int) Instr {
	next := methodName(at + 1 + r.IntN(methods))
	switch k := r.IntN(8); {
	case at+1 >= methods || k < 3:
		return end(val("ok"))
	case k == 3:
		return fail(val("error"))
	case k < 6:
		return tailSelf(next, none)
	}
	return tailAway(randomActor(r), next, none)
}
