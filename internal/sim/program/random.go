package program

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/queue"
)

// Random makes the program of a seed.
func Random(seed uint64) *Program {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 0x5eed)), p: &Program{Seed: seed}}
	g.world()
	if g.chance(25) {
		g.fan()
	} else {
		g.clients()
	}
	g.failures()
	return g.p
}

type generator struct {
	*rand.Rand
	p      *Program
	budget int // scripts that may still be made
}

func (g *generator) chance(percent int) bool { return g.IntN(100) < percent }

// world makes types, actors and components. Every type is hosted somewhere.
func (g *generator) world() {
	p := g.p
	p.Ordered = g.chance(70)
	p.LastCrash = g.chance(50)
	if g.chance(50) {
		p.Durability = queue.Disk
	}
	for i := range 1 + g.IntN(3) {
		p.Types = append(p.Types, Type{Name: string(rune('A' + i)), Pass: g.chance(15), Strict: g.chance(15)})
	}
	for i := range 3 + g.IntN(3) {
		p.Actors = append(p.Actors, engine.Actor{Type: p.Types[i%len(p.Types)].Name, ID: fmt.Sprint(i)})
	}
	p.Components = make([][]int, 1+g.IntN(3))
	for t := range p.Types {
		for c := range p.Components {
			if c == t%len(p.Components) || g.chance(30) {
				p.Components[c] = append(p.Components[c], t)
			}
		}
	}
}

func (g *generator) clients() {
	p := g.p
	g.budget = 3 + g.IntN(12)
	p.Clients = make([][]Request, 1+g.IntN(3))
	for i := range p.Clients {
		for n := range 1 + g.IntN(3) {
			r := Request{Verb: []Verb{Call, Call, Go, Tell}[g.IntN(4)]}
			if g.chance(20) {
				r.Key = fmt.Sprintf("key%d-%d", i+1, n+1)
			}
			r.Script = g.script(g.IntN(len(p.Actors)), nil, false)
			p.Clients[i] = append(p.Clients[i], r)
		}
	}
}

// fan makes one client that calls a method with several calls out, to actors of
// their own; half the time they call back to it, and do not end at once. It is
// what random scripts seldom come to.
func (g *generator) fan() {
	p := g.p
	g.budget = 4 + g.IntN(4)
	back := g.chance(50)
	p.Ordered = p.Ordered && !back
	root := g.add(Script{Actor: 0, End: Value})
	var acts []Act
	for to := range len(p.Actors) - 2 {
		child := g.script(to+1, []int{0}, true)
		if back {
			inner := g.add(Script{Actor: len(p.Actors) - 1, End: Value})
			callback := g.add(Script{Actor: 0, Acts: []Act{{Verb: Write}, {Verb: Call, Script: inner}}, End: Value})
			p.Scripts[child].Acts = slices.Insert(p.Scripts[child].Acts, 0, Act{Verb: Call, Script: callback})
		}
		acts = append(acts, Act{Verb: Go, Script: child})
	}
	p.Scripts[root].Acts = append(acts, Act{Verb: Wait})
	p.Clients = [][]Request{{{Verb: Go, Script: root}}}
}

func (g *generator) add(s Script) int {
	g.p.Scripts = append(g.p.Scripts, s)
	return len(g.p.Scripts) - 1
}

// script makes the script of a method of an actor, below its callers: the
// actors whose locks are held above it. Beside says that it may run beside its
// caller or beside one nested in that.
func (g *generator) script(actor int, callers []int, beside bool) int {
	p := g.p
	n := len(p.Scripts)
	p.Scripts = append(p.Scripts, Script{})
	s := Script{Actor: actor, End: Value}
	g.budget--
	held := append(slices.Clone(callers), actor)
	for range g.IntN(5) {
		s.Acts = append(s.Acts, g.act(held, beside)...)
	}
	if g.chance(50) && slices.ContainsFunc(s.Acts, func(a Act) bool { return a.Verb == Go }) {
		s.Acts = append(s.Acts, Act{Verb: Wait})
	}
	switch {
	case g.chance(12):
		s.End = Fail
	case g.chance(4):
		s.End = Panic
	case g.chance(30) && g.budget > 0:
		to := g.next(actor, callers, beside)
		if s.End = Tail; to == actor && g.chance(30) {
			s.End = Release
		}
		s.Next = g.script(to, callers, beside)
	}
	if g.chance(12) {
		s.Again, s.After = 1+g.IntN(2), g.span()
	}
	p.Scripts[n] = s
	return n
}

// act makes an act.
func (g *generator) act(held []int, beside bool) []Act {
	verbs := []Verb{Write, Sync, Call, Call, Call, Once, Go, Go, Wait, Tell, Tell, TellNow, TellOutcome, Remind}
	return g.actOf(verbs[g.IntN(len(verbs))], held, beside)
}

// actOf makes an act with a verb, nothing if it would need a script and there
// are enough, or nobody may be called.
func (g *generator) actOf(verb Verb, held []int, beside bool) []Act {
	a := Act{Verb: verb}
	if !a.has() {
		return []Act{a}
	}
	if g.budget <= 0 {
		return nil
	}
	switch {
	case a.nests():
		a.Pass = a.Verb != Go && g.chance(30)
		to := g.callee(held, beside || a.Verb == Go)
		if to < 0 {
			return nil
		}
		a.Script = g.script(to, held, beside || a.Verb == Go)
	case a.Verb == Remind:
		a.After = g.span()
		a.Script = g.script(held[len(held)-1], nil, false)
	default:
		a.Script = g.script(g.IntN(len(g.p.Actors)), nil, false)
	}
	return []Act{a}
}

// callee picks whom to call: mostly somebody behind all that are held, now and
// then one of those, a re-entry; -1 for nobody. What runs beside something else
// does not call back: two that do may wait for each other.
func (g *generator) callee(held []int, beside bool) int {
	n, top := len(g.p.Actors), slices.Max(held)
	switch {
	case !g.p.Ordered && beside && g.chance(40):
		return held[g.IntN(len(held))]
	case !g.p.Ordered && g.chance(60):
		return g.IntN(n)
	case top < n-1 && (g.chance(70) || beside && g.p.Ordered):
		return top + 1 + g.IntN(n-1-top)
	case beside && g.p.Ordered:
		return -1
	}
	return held[g.IntN(len(held))]
}

// next picks the actor of a tail call, which holds nothing but what its callers
// hold.
func (g *generator) next(actor int, callers []int, beside bool) int {
	if g.chance(40) {
		return actor
	}
	if len(callers) == 0 {
		return g.IntN(len(g.p.Actors))
	}
	if to := g.callee(callers, beside); to >= 0 {
		return to
	}
	return actor
}

// span is some time, and never whole milliseconds: what is due at one moment with
// a tick of the engine's runs beside it, in no order.
func (g *generator) span() time.Duration {
	return time.Duration(g.IntN(3000))*time.Millisecond + time.Duration(1+g.IntN(999))*time.Microsecond
}

var troubles = []Trouble{Death, Death, Death, Death, Suspicion, Suspicion, Suspicion, Suspicion, Crash, Crash, Full, Full, Cancel, Force, Pause}

func (g *generator) failures() {
	p := g.p
	for range g.IntN(4) {
		f := Failure{
			Step:    1 + g.IntN(10+14*len(p.Scripts)),
			Trouble: troubles[g.IntN(len(troubles))],
			Notice:  g.IntN(20), Back: g.IntN(20),
		}
		if g.chance(40) {
			f.Notice, f.Back = 0, 0
		}
		p.Failures = append(p.Failures, f)
	}
	slices.SortFunc(p.Failures, func(x, y Failure) int { return cmp.Compare(x.Step, y.Step) })
}
