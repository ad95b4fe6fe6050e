package walk

import (
	"errors"
	"fmt"
	"hash/maphash"
	"strconv"
	"time"

	"github.com/pawl-go/pawl/spec"
	"github.com/pawl-go/pawl/spec/journal"
	"github.com/pawl-go/pawl/spec/program"
)

// Config says what to walk.
type Config struct {
	Program  *program.Program
	Failures int          // at most so many on a path
	Mutants  spec.Mutants // rules broken on purpose
	// Journal, if set, has the second machine walk the program: each path also
	// with commits and, as failures, with crashes.
	Journal *Journal

	MaxStates int           // 0: 5,000,000
	Timeout   time.Duration // 0: 10 minutes
	// NoReduction takes every order of steps that commute. It is slow, and
	// there to show that the reduction loses nothing.
	NoReduction bool
	// Progress, if set, is called about every five seconds with how far it got.
	Progress func(Report)
	// Clock gives the time; nil stands for time.Now.
	Clock func() time.Time
}

// validate fills in the defaults.
func (c *Config) validate() {
	if c.MaxStates == 0 {
		c.MaxStates = 5_000_000
	}
	if c.Timeout == 0 {
		c.Timeout = 10 * time.Minute
	}
	if c.Clock == nil {
		c.Clock = time.Now
	}
}

// Journal says how the second machine (package journal) walks a program.
type Journal struct {
	Outside []spec.Actor // hosted in other processes than the engine's
	Mutants journal.Mutants
}

// edge is a step between two nodes, by the choice of that number.
type edge struct {
	from, to int32
	choice   uint16
}

// walker is a walk under way.
type walker struct {
	cfg   Config
	start time.Time
	seed  [2]maphash.Seed
	seen  map[[2]uint64]int32
	tree  []edge // how each node was reached first; the root has from = -1
	edges []edge
	ends  []int32 // final nodes
	next  []*node // nodes to expand, in the order of their numbers
	key   []byte
	ticks int
	last  time.Time
}

// Walk takes every path of a program, breadth first, so that what it finds is
// a shortest one.
func Walk(cfg Config) Report {
	w := newWalker(cfg)
	r := w.walk()
	r.Seconds = w.cfg.Clock().Sub(w.start).Seconds()
	return r
}

func newWalker(cfg Config) *walker {
	cfg.validate()
	now := cfg.Clock()
	return &walker{
		cfg: cfg, start: now, last: now,
		seed: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()},
		seen: map[[2]uint64]int32{},
	}
}

func (w *walker) walk() Report {
	w.visit(w.root(), edge{from: -1})
	for at := int32(0); len(w.next) > 0; at++ {
		n := w.next[0]
		w.next[0], w.next = nil, w.next[1:]
		if wrong := w.expand(at, n); wrong != nil {
			return w.refuted(at, wrong)
		}
		if v := w.exhausted(); v != "" {
			return w.report(v)
		}
	}
	return w.concluded()
}

// wrong is what a walk has found: the choice that led to it, none for a final
// node, and what is wrong.
type wrong struct {
	choice *choice
	err    error
}

// expand takes every choice of a node. A single choice that commutes with all
// others stands for them.
func (w *walker) expand(at int32, n *node) *wrong {
	cs := w.choices(n)
	if len(cs) > 0 && !w.cfg.NoReduction {
		if done, wr := w.alone(at, n, cs); done {
			return wr
		}
	}
	spare, moved, wr := w.takeAll(at, n, nil, cs, 0)
	switch {
	case wr != nil:
		return wr
	case !moved:
		w.ends = append(w.ends, at)
		if err := w.final(n); err != nil {
			return &wrong{nil, err}
		}
	}
	_, _, wr = w.takeAll(at, n, spare, failures(nil, n), len(cs))
	return wr
}

// alone takes the first choice that may be taken alone. It reports whether
// there was one.
func (w *walker) alone(at int32, n *node, cs []choice) (bool, *wrong) {
	for c := range cs {
		if !cs[c].alone && !cs[c].try {
			continue
		}
		next := n.clone()
		err := next.take(&cs[c])
		if _, refused := errors.AsType[*spec.Refusal](err); refused {
			if !cs[c].try {
				continue
			}
			// The zombie has learned that it is one.
			w.visit(gone(n, &cs[c]), edge{at, 0, uint16(c)})
			return true, nil
		}
		switch {
		case err != nil:
			return true, &wrong{&cs[c], err}
		case cs[c].alone:
			w.visit(next, edge{at, 0, uint16(c)})
			return true, nil
		}
	}
	return false, nil
}

// takeAll takes each choice. It reports whether one was not refused.
func (w *walker) takeAll(at int32, n, spare *node, cs []choice, first int) (*node, bool, *wrong) {
	moved := false
	for c := range cs {
		if spare == nil {
			spare = n.clone()
		}
		err := spare.take(&cs[c])
		if _, refused := errors.AsType[*spec.Refusal](err); refused {
			if cs[c].try {
				w.visit(gone(n, &cs[c]), edge{at, 0, uint16(first + c)})
				moved = true
			}
			continue
		}
		if err != nil {
			return nil, true, &wrong{&cs[c], err}
		}
		w.visit(spare, edge{at, 0, uint16(first + c)})
		spare, moved = nil, true
	}
	return spare, moved, nil
}

// gone is a node without the zombie that has tried something.
func gone(n *node, c *choice) *node {
	next := n.clone()
	c.event = spec.Event{Rule: spec.RuleGone, By: c.event.By}
	if err := next.do(&c.event); err != nil {
		panic(fmt.Sprintf("walk: a zombie cannot leave: %v", err))
	}
	return next
}

// visit numbers a node that is new, and notes the step to it.
func (w *walker) visit(n *node, e edge) {
	w.key = n.appendKey(w.key[:0])
	key := [2]uint64{maphash.Bytes(w.seed[0], w.key), maphash.Bytes(w.seed[1], w.key)}
	to, known := w.seen[key]
	if !known {
		to = int32(len(w.tree))
		w.seen[key] = to
		w.tree = append(w.tree, edge{e.from, to, e.choice})
		w.next = append(w.next, n)
	}
	if e.from >= 0 {
		e.to = to
		w.edges = append(w.edges, e)
	}
}

// final judges a node from which only failures lead on.
func (w *walker) final(n *node) error {
	if detail := spec.Settled(n.world.State); detail != "" {
		return fmt.Errorf("property 1 (retry): %s", detail)
	}
	if check := w.cfg.Program.Check; check != nil {
		if detail := check(program.Final{Program: w.cfg.Program, World: n.world}); detail != "" {
			return fmt.Errorf("the program's own check: %s", detail)
		}
	}
	return nil
}

// exhausted says whether a bound is reached.
func (w *walker) exhausted() Verdict {
	if len(w.tree) > w.cfg.MaxStates {
		return TooLarge
	}
	if w.ticks++; w.ticks%256 != 0 {
		return ""
	}
	now := w.cfg.Clock()
	if now.Sub(w.start) > w.cfg.Timeout {
		return TimedOut
	}
	if w.cfg.Progress != nil && now.Sub(w.last) > 5*time.Second {
		w.last = now
		r := w.report(Running)
		r.Seconds = now.Sub(w.start).Seconds()
		w.cfg.Progress(r)
	}
	return ""
}

func digits(n int) string { return strconv.Itoa(n) }
