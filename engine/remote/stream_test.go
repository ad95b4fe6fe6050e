package remote

import (
	"context"
	"testing"

	"github.com/pawl-go/pawl/engine/remote/wire"
)

// TestNothingIsPostedAfterTheEnd: a session that has ended sends nothing more, though
// its connection is closed a little later. What ran in it returns at its end, and
// such a result must not be taken for an outcome.
func TestNothingIsPostedAfterTheEnd(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := &session{c: &Client{sessions: map[uint64]*session{}}, fenced: make(chan struct{}), ctx: ctx, cancel: cancel}
	s.stream.wake = make(chan struct{}, 1)
	s.stream.post(wire.KindCall, nil, []byte("before"), 0)
	s.end()
	s.stream.post(wire.KindCall, nil, []byte("after"), 0)
	m, ok := s.stream.pick()
	if !ok || string(m.body) != "before" {
		t.Errorf("picked %q, %v: what was posted before the end is lost", m.body, ok)
	}
	if m, ok := s.stream.pick(); ok {
		t.Errorf("picked %q, posted after the end", m.body)
	}
}

// TestWindow: no more is sent than may be on its way, and more once some of it is
// acknowledged; over another connection it begins anew.
func TestWindow(t *testing.T) {
	const size, fit = 1 << 20, window >> 20
	s := &stream{wake: make(chan struct{}, 1)}
	for range 3 * fit {
		s.post(wire.KindCall, nil, make([]byte, size), 0)
	}
	send := func() (n int) {
		for {
			m, ok := s.pick()
			if !ok {
				return n
			}
			if _, err := s.encoded(m); err != nil {
				t.Fatal(err)
			}
			n++
		}
	}
	if n := send(); n != fit {
		t.Errorf("%d were sent, want %d", n, fit)
	}
	if err := s.acknowledge(3); err != nil {
		t.Fatal(err)
	}
	if n := send(); n != 3 {
		t.Errorf("%d were sent after 3 were acknowledged", n)
	}
	s.again()
	if n := send(); n != fit {
		t.Errorf("%d were sent over another connection, want %d", n, fit)
	}
}
