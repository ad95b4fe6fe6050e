package runtime

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/pawl-go/pawl/engine"
)

func anyBegins(*entry) bool { return true }

func newEntry(id uint64, caller *engine.Frame) *entry {
	return &entry{d: engine.Delivery{Request: &engine.Request{
		Frame: engine.Frame{ID: engine.ID{Hi: 1, Lo: id}, Caller: caller}, Step: 1,
	}}}
}

func (m *mailbox) wantNext(t *testing.T, want *entry, resumed bool) {
	t.Helper()
	if e, r := m.next(anyBegins); e != want || r != resumed {
		t.Fatalf("next gave %v (resumed %v), want %v (resumed %v)", e, r, want, resumed)
	}
}

func TestNextBeginsTheOldest(t *testing.T) {
	var m mailbox
	one, two := newEntry(1, nil), newEntry(2, nil)
	m.line.Add(one)
	m.line.Add(two)
	m.wantNext(t, one, false)
	m.wantNext(t, nil, false) // the turn is taken
	m.yield(one)
	m.wantNext(t, nil, false) // one waits, and keeps the lock
	if !m.retake(one) {
		t.Fatal("nobody else has the turn")
	}
	m.yield(one)
	m.line.Remove(one)
	m.wantNext(t, two, false)
}

func TestCallbackRunsInTheTurnOfItsAncestor(t *testing.T) {
	var m mailbox
	outer, other := newEntry(1, nil), newEntry(2, nil)
	m.line.Add(outer)
	m.wantNext(t, outer, false)
	m.line.Add(other)
	back := newEntry(3, outer.Link())
	m.line.Add(back)
	m.wantNext(t, nil, false) // outer runs
	m.yield(outer)
	m.wantNext(t, back, false)
	if back.under != outer {
		t.Fatal("outer is below the callback")
	}
	m.yield(back) // the callback waits for a call of its own
	if m.retake(outer) {
		t.Fatal("the rule return: not while a callback has begun")
	}
	outer.wants = true
	m.wantNext(t, nil, false)
	m.line.Remove(back)
	m.wantNext(t, outer, true)
}

func TestRetryWaitsForItsCalleesButTheirCallbacksRun(t *testing.T) {
	var m mailbox
	outer := newEntry(1, nil)
	outer.await = 1
	m.line.Add(outer)
	m.wantNext(t, nil, false)
	back := newEntry(2, outer.Link())
	m.line.Add(back)
	m.wantNext(t, back, false)
	m.yield(back)
	m.line.Remove(back)
	m.wantNext(t, nil, false)
	outer.await = 0
	m.wantNext(t, outer, false)
}

// TestInvariants runs random mailboxes and checks M1 to M4.
func TestInvariants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var m mailbox
		var all []*entry
		next := uint64(0)
		for range rapid.IntRange(1, 80).Draw(t, "steps") {
			switch rapid.IntRange(0, 5).Draw(t, "what") {
			case 0:
				next++
				e := newEntry(next, nil)
				e.await = rapid.IntRange(0, 1).Draw(t, "await")
				m.line.Add(e)
				all = append(all, e)
			case 1:
				if m.turn == nil && len(all) > 0 {
					for h := range m.line.Held {
						if h.begun && rapid.Bool().Draw(t, "calls back") {
							next++
							e := newEntry(next, h.Link())
							m.line.Add(e)
							all = append(all, e)
							break
						}
					}
				}
			case 2:
				if m.turn != nil {
					m.yield(m.turn)
				}
			case 3: // the running one ends, if nothing of it is left
				if e := m.turn; e != nil {
					if top, _ := m.line.Top(); top == e {
						m.yield(e)
						e.begun = false
						m.line.Remove(e)
					}
				}
			case 4:
				for h := range m.line.Held {
					if h.begun && h != m.turn {
						h.wants = !m.retake(h)
						break
					}
				}
			case 5:
				for _, e := range all {
					e.await = 0
				}
			}
			if e, resumed := m.next(anyBegins); e != nil && !resumed && (e.await > 0 || e.paused) {
				t.Fatal("M4: claimed although held back")
			}
			checkMailbox(t, &m, all)
		}
	})
}

func checkMailbox(t *rapid.T, m *mailbox, all []*entry) {
	for _, e := range all {
		if e.begun && !m.line.Holds(e) {
			t.Fatal("M1: begun, and not in the chain")
		}
	}
	if m.turn != nil && !m.turn.begun {
		t.Fatal("M2: the turn is with one that has not begun")
	}
	above := false
	for h := range m.line.Held {
		if above && h.begun {
			t.Fatal("M3: one has the turn under one that has begun")
		}
		above = above || h == m.turn
	}
}
