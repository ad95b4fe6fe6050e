package program

import (
	"slices"

	"github.com/pawl-go/pawl/queue"
)

// Shrink makes a program smaller as long as fails says that it still fails, for
// at most so many tries, and returns the smallest found. Each smaller program
// is tried with a few schedules: what is left out changes the one that failed.
func Shrink(p *Program, tries int, fails func(*Program) bool) *Program {
	s := &shrinker{p: p, tries: tries, fails: fails}
	for s.tries > 0 && s.pass() {
	}
	return s.p
}

const schedulesPerTry = 3

type shrinker struct {
	p     *Program
	tries int
	fails func(*Program) bool
}

// try keeps a change if the program still fails with it.
func (s *shrinker) try(change func(p *Program)) bool {
	for i := range uint64(schedulesPerTry) {
		if s.tries--; s.tries < 0 {
			return false
		}
		smaller := s.p.clone()
		change(smaller)
		smaller.Seed += i
		if s.fails(smaller) {
			s.p = smaller
			return true
		}
	}
	return false
}

// pass tries every change once, the large ones first.
func (s *shrinker) pass() (did bool) {
	did = s.clients() || did
	did = s.failures() || did
	did = s.scripts() || did
	return s.world() || did
}

func (s *shrinker) clients() (did bool) {
	for i := len(s.p.Clients) - 1; i >= 0; i-- {
		if len(s.p.Clients) > 1 && s.try(func(p *Program) { p.Clients = slices.Delete(p.Clients, i, i+1) }) {
			did = true
			continue
		}
		for n := len(s.p.Clients[i]) - 1; n >= 0; n-- {
			if len(s.p.Clients[i]) > 1 && s.try(func(p *Program) { p.Clients[i] = slices.Delete(p.Clients[i], n, n+1) }) {
				did = true
				continue
			}
			if s.p.Clients[i][n].Key != "" && s.try(func(p *Program) { p.Clients[i][n].Key = "" }) {
				did = true
			}
		}
	}
	return did
}

func (s *shrinker) failures() (did bool) {
	if s.p.LastCrash && s.try(func(p *Program) { p.LastCrash = false }) {
		did = true
	}
	for i := len(s.p.Failures) - 1; i >= 0; i-- {
		if s.try(func(p *Program) { p.Failures = slices.Delete(p.Failures, i, i+1) }) {
			did = true
			continue
		}
		f := s.p.Failures[i]
		if f.Notice+f.Back > 0 && s.try(func(p *Program) { p.Failures[i].Notice, p.Failures[i].Back = 0, 0 }) {
			did = true
		}
	}
	return did
}

// scripts leaves out acts, and makes ends plain. Only what is run is looked at.
func (s *shrinker) scripts() (did bool) {
	for _, n := range s.p.reachable() {
		for i := len(s.p.Scripts[n].Acts) - 1; i >= 0; i-- {
			if s.try(func(p *Program) { p.Scripts[n].Acts = slices.Delete(p.Scripts[n].Acts, i, i+1) }) {
				did = true
				continue
			}
			if s.p.Scripts[n].Acts[i].Pass && s.try(func(p *Program) { p.Scripts[n].Acts[i].Pass = false }) {
				did = true
			}
		}
		if s.p.Scripts[n].End != Value && s.try(func(p *Program) { p.Scripts[n].End = Value }) {
			did = true
		}
		if s.p.Scripts[n].Again > 0 && s.try(func(p *Program) { p.Scripts[n].Again = 0 }) {
			did = true
		}
	}
	return did
}

func (s *shrinker) world() (did bool) {
	for i := range s.p.Types {
		if t := s.p.Types[i]; (t.Pass || t.Strict) && s.try(func(p *Program) { p.Types[i].Pass, p.Types[i].Strict = false, false }) {
			did = true
		}
	}
	for i := len(s.p.Components) - 1; i > 0; i-- {
		if s.try(func(p *Program) {
			moved := append(p.Components[0], p.Components[i]...)
			slices.Sort(moved)
			p.Components[0] = slices.Compact(moved)
			p.Components = slices.Delete(p.Components, i, i+1)
		}) {
			did = true
		}
	}
	if s.p.Durability == queue.Disk && s.try(func(p *Program) { p.Durability = queue.Process }) {
		did = true
	}
	return did
}

// reachable lists the scripts that are run, parents first.
func (p *Program) reachable() []int {
	var list []int
	var visit func(n int)
	visit = func(n int) {
		list = append(list, n)
		for _, a := range p.Scripts[n].Acts {
			if a.has() {
				visit(a.Script)
			}
		}
		if p.Scripts[n].tails() {
			visit(p.Scripts[n].Next)
		}
	}
	for _, c := range p.Clients {
		for _, r := range c {
			visit(r.Script)
		}
	}
	return list
}

func (p *Program) clone() *Program {
	c := *p
	c.Types = slices.Clone(p.Types)
	c.Actors = slices.Clone(p.Actors)
	c.Failures = slices.Clone(p.Failures)
	c.Components, c.Clients, c.Scripts = nil, nil, slices.Clone(p.Scripts)
	for _, hosts := range p.Components {
		c.Components = append(c.Components, slices.Clone(hosts))
	}
	for _, calls := range p.Clients {
		c.Clients = append(c.Clients, slices.Clone(calls))
	}
	for i := range c.Scripts {
		c.Scripts[i].Acts = slices.Clone(p.Scripts[i].Acts)
	}
	return &c
}
