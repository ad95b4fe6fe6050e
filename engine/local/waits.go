package local

import (
	"slices"

	"github.com/pawl-go/pawl/engine"
)

// adopt links p to the invocation that waits for it.
func (f *flow) adopt(p *pending) {
	id := p.req.Waiter
	if p.req.Caller != nil {
		id = p.req.Caller.ID
	}
	if id.IsZero() {
		return
	}
	c := f.reqs[id]
	if c == nil || c.status != inFlow {
		return
	}
	c.called = true
	p.parent, p.older = c, c.child
	if c.child != nil {
		c.child.next = p
	}
	c.child = p
}

// disown unlinks p from the invocation that waits for it.
func (p *pending) disown() {
	c := p.parent
	if c == nil {
		return
	}
	if p.next != nil {
		p.next.older = p.older
	} else {
		c.child = p.older
	}
	if p.older != nil {
		p.older.next = p.next
	}
	p.parent, p.next, p.older = nil, nil, nil
}

// release unlinks the children of p. Detached only: those that p waited for
// outside of any nesting. Their rows change: they have to say who called, once
// that is not in the flow any more.
func (f *flow) release(p *pending, detachedOnly bool) {
	for c := p.child; c != nil; {
		older := c.older
		if !detachedOnly || !c.nested() {
			f.rows.touch(c)
			c.disown()
		}
		c = older
	}
}

// children yields the callees of p that are in the flow, the newest first.
func (p *pending) children(yield func(*pending) bool) {
	for c := p.child; c != nil; c = c.older {
		if c.nested() && !yield(c) {
			return
		}
	}
}

// answer tells who waits for p: its caller's component, and those outside.
func (f *flow) answer(p, parent *pending, r engine.Response) {
	var told *member
	if parent != nil && p.nested() {
		if told = parent.host; told != nil {
			told.respond(r)
		}
	}
	if p.waiter == nil {
		return
	}
	if p.waiter != told {
		p.waiter.respond(r)
	}
	for _, m := range p.waiters {
		if m != told {
			m.respond(r)
		}
	}
	p.waiter, p.waiters = nil, nil
}

// wait notes that m waits for p outside of the flow.
func (p *pending) wait(m *member) {
	if p.waiter == nil || p.waiter.gone {
		p.waiter = m
	}
	if p.waiter == m {
		return
	}
	if !slices.Contains(p.waiters, m) {
		p.waiters = append(p.waiters, m)
	}
}

// unwait ends what wait began.
func (p *pending) unwait(m *member) {
	for i, w := range p.waiters {
		if w == m {
			p.waiters = append(p.waiters[:i], p.waiters[i+1:]...)
			return
		}
	}
	if p.waiter == m {
		p.waiter = nil
		if n := len(p.waiters); n > 0 {
			p.waiter, p.waiters = p.waiters[n-1], p.waiters[:n-1]
		}
	}
}
