package local

import (
	"testing"

	"github.com/pawl-go/pawl/engine"
)

func TestMailboxLimit(t *testing.T) {
	w := prepareWorld(t, "durability=process&cycle=64KiB")
	w.opts.Mailbox = 3
	w.open()
	defer w.h.Close()
	s, _ := w.join("c", "A")
	first := call(s, "A", "1")
	w.send(s, engine.Attempt{}, first)
	for range 2 {
		w.send(s, engine.Attempt{}, tell(s, "A", "1"))
	}
	_, err := s.Send(engine.Attempt{}, &engine.Effects{Requests: []*engine.Request{call(s, "A", "1")}})
	if engine.CodeOf(err) != engine.ErrOverloaded {
		t.Errorf("over the limit: %v", err)
	}
	w.send(s, engine.Attempt{}, call(s, "A", "2"))
	// What comes from a method is never refused.
	w.send(s, attempt(first, 1), nested(s, first, "A", "1"), tell(s, "A", "1"))
	w.finish(s, attempt(first, 1), nil, &engine.Outcome{Tail: first.Tail(first.Actor, "next", nil, false)})
}

func TestPendingLimit(t *testing.T) {
	w := prepareWorld(t, "durability=process&cycle=64KiB")
	w.opts.Pending = 2
	w.open()
	defer w.h.Close()
	s, _ := w.join("c", "A")
	first := call(s, "A", "1")
	w.send(s, engine.Attempt{}, first)
	w.send(s, engine.Attempt{}, call(s, "A", "2"))
	_, err := s.Send(engine.Attempt{}, &engine.Effects{Requests: []*engine.Request{call(s, "A", "3")}})
	if engine.CodeOf(err) != engine.ErrOverloaded {
		t.Errorf("over the limit: %v", err)
	}
	w.finish(s, attempt(first, 1), nil, value(""))
	w.send(s, engine.Attempt{}, call(s, "A", "3"))
}

func TestTooLargeIsRefusedAndNothingRecorded(t *testing.T) {
	w := newWorld(t, "durability=process&cycle=64KiB")
	s, p := w.join("c", "A")
	r := call(s, "A", "1")
	r.Payload = make([]byte, 100<<10)
	last := s.Last()
	_, err := s.Send(engine.Attempt{}, &engine.Effects{Requests: []*engine.Request{r}})
	if engine.CodeOf(err) != engine.ErrTooLarge || s.Last() != last || len(p.delivered()) > 0 {
		t.Errorf("%v, last %v was %v", err, s.Last(), last)
	}
}
