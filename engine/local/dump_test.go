package local

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pawl-go/pawl/engine"
)

// dump describes all that is on record, for comparisons.
func (e *Engine) dump() string {
	e.mu.Lock()
	f := e.mu.f
	var b strings.Builder
	fmt.Fprintf(&b, "last %v epoch %d app %q places %d sessions %d lastSession %d\n", f.last, f.epoch, f.app, f.places, len(f.sessions), f.lastSession)
	ps := slices.Collect(maps.Values(f.reqs))
	inOrder(ps)
	actors := map[engine.Actor]bool{}
	for a := range f.actors.All {
		actors[a.Actor()] = true
	}
	for id := range f.paused {
		actors[id] = true
	}
	for _, p := range ps {
		r := p.req
		fmt.Fprintf(&b, "%d %v at %v asked %v step %d %s.%s(%q) kind %d flags %d waiter %v depth %d by", p.status, r.ID, p.at, p.asked, r.Step,
			r.Actor, r.Method, r.Payload, r.Kind, requestFlags(r, false), r.Waiter, r.Depth)
		for c := r.Caller; c != nil; c = c.Caller {
			fmt.Fprintf(&b, " %v %v", c.ID, c.Actor)
		}
		fmt.Fprintf(&b, " attempts %d lost %d begun %v print %x due %v created %v", p.attempts, p.lost, p.begun, p.finger, nanos(r.NotBefore), nanos(r.Created))
		for _, k := range p.keeps {
			fmt.Fprintf(&b, " keeps %v %v %s", k.id, k.at, show(k.o))
		}
		if p.ending != nil {
			fmt.Fprintf(&b, " ending %s", show(p.ending))
		}
		if p.end != nil {
			fmt.Fprintf(&b, " end %s %d", show(p.end.o), nanos(p.end.ended))
		}
		fmt.Fprintf(&b, " holds %v\n", p.actor != nil && p.actor.holder == p)
	}
	for _, of := range f.reminders {
		for _, r := range of {
			actors[r.Actor] = true
		}
	}
	ids := slices.SortedFunc(maps.Keys(actors), func(x, y engine.Actor) int { return cmp.Compare(x.String(), y.String()) })
	for _, id := range ids {
		for _, name := range slices.Sorted(maps.Keys(f.reminders[id])) {
			r := f.reminders[id][name]
			fmt.Fprintf(&b, "reminder %s %s generation %v %s(%q) due %d every %v misfire %d\n", id, name, r.generation, r.Method, r.Payload, nanos(r.Due), r.Every, r.Misfire)
		}
		if f.paused[id] {
			fmt.Fprintf(&b, "paused %s\n", id)
		}
	}
	if err := f.valid(); err != nil {
		fmt.Fprintf(&b, "INVALID: %v\n", err)
	}
	e.mu.Unlock()
	e.dumpState(&b)
	return b.String()
}

// testTypes and testMaps are what tests use.
var (
	testTypes = []string{"A", "B", "C"}
	testMaps  = []string{"m", "n"}
)

func (e *Engine) dumpState(b *strings.Builder) {
	o := operator{e}
	for _, typ := range testTypes {
		as, err := o.Actors(bg, typ, "", 1000)
		if err != nil {
			fmt.Fprintf(b, "actors: %v\n", err)
		}
		for _, a := range as {
			cells, err := e.load(a)
			if len(cells) == 0 && e.buried(a) {
				continue
			}
			fmt.Fprintf(b, "state %s:", a)
			for _, c := range cells {
				fmt.Fprintf(b, " %s=%q", c.Cell, c.Value)
			}
			for _, m := range testMaps {
				entries, err2 := e.scan(a, m, "", 1000)
				for _, c := range entries {
					fmt.Fprintf(b, " %s[%s]=%q", m, c.Entry, c.Value)
				}
				if err = cmp.Or(err, err2); err != nil {
					fmt.Fprintf(b, " %v", err)
				}
			}
			fmt.Fprintln(b)
		}
	}
}

// buried reports whether an actor is listed only for the code of what was ended by force,
// which ends with this process.
func (e *Engine) buried(id engine.Actor) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	a := e.mu.f.actors.Get(id)
	if a == nil || a.line.Len() == 0 || a.changes != nil {
		return false
	}
	for p := range a.line.All {
		if p.status != ended {
			return false
		}
	}
	return true
}

func show(o *engine.Outcome) string {
	switch {
	case o == nil:
		return "none"
	case o.Failure != nil:
		return "!" + o.Failure.Code + " " + o.Failure.Message
	}
	return fmt.Sprintf("%q", o.Value)
}

// valid checks the invariants of the flow.
func (f *flow) valid() error {
	var count [statuses]int
	for id, p := range f.reqs {
		count[p.status]++
		switch {
		case p.req.ID != id || p.status >= ended:
			return fmt.Errorf("F1: %v stands under %v, status %d", p.req.ID, id, p.status)
		case p.status == inFlow && f.actors.Get(p.req.Actor) != p.actor:
			return fmt.Errorf("F6: %v is in the flow, the entry of its actor is not known", id)
		case p.status != inFlow && p.parent != nil:
			return fmt.Errorf("F3: %v is not in the flow and has a parent", id)
		}
		if c := p.req.Caller; c != nil && p.status == inFlow {
			q := f.reqs[c.ID]
			if in := q != nil && q.status == inFlow; in != (p.parent != nil) {
				return fmt.Errorf("F3: %v is called by %v: parent %v", id, c.ID, p.parent)
			}
		}
		if p.host != nil && p.host != p.actor.host {
			return fmt.Errorf("F4: %v is at %s, its actor at another", id, p.host.Name)
		}
		for c := p.child; c != nil; c = c.older {
			if c.parent != p {
				return fmt.Errorf("F3: %v is a child of %v and does not know", c.req.ID, id)
			}
		}
	}
	if count != f.count {
		return fmt.Errorf("F1: count %v, is %v", f.count, count)
	}
	return f.validLines()
}

func (f *flow) validLines() error {
	for a := range f.actors.All {
		id := a.Actor()
		var places []uint64
		for p := range a.line.All {
			ok := p.status == inFlow || p.status == parked && a.holder == p || p.status == ended && f.tombs[p.req.ID] == p
			if !ok || p.actor != a {
				return fmt.Errorf("F2: %v stands in the line of %v with status %d", p.req.ID, id, p.status)
			}
			places = append(places, p.place)
		}
		if len(slices.Compact(slices.Sorted(slices.Values(places)))) != len(places) {
			return fmt.Errorf("F5: places of %v: %v", id, places)
		}
		if a.host == nil && a.line.Len() == 0 && a.changes == nil {
			return fmt.Errorf("F6: entry of %v", id)
		}
	}
	for i, it := range f.due.items {
		ref := 0
		if it.tell != nil {
			ref = it.tell.heap
		} else {
			ref = it.r.heap
		}
		if ref != i+1 {
			return fmt.Errorf("due %d is referred to as %d", i, ref)
		}
	}
	return nil
}

// dumpClosed is dump for an engine that was stopped.
func (e *Engine) dumpClosed() string {
	e.mu.Lock()
	e.mu.closing = false
	e.mu.Unlock()
	return e.dump()
}
