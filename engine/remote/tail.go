package remote

import (
	"context"
	"io"
	"time"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/engine/remote/wire"
)

// tail reads the journal of the server, part by part: it asks for the next one
// when it has given out the last, so that who is slow holds nobody up. The
// server keeps nothing of it in between.
type tail struct {
	s      *session
	filter engine.EventFilter
	at     engine.Position // of what was given out
	next   []engine.Event  // not given out yet,
	nextAt engine.Position // and how far it reads
	err    error           // final
}

// tailWait is how long the server waits for an event before it says how far it
// has read.
const tailWait = 5 * time.Second

// Tail implements engine.Operator.
func (o operator) Tail(ctx context.Context, from engine.Position, f engine.EventFilter) (engine.Tail, error) {
	t := &tail{s: o.s, filter: f}
	if err := t.read(ctx, from, 0); err != nil {
		return nil, err
	}
	if len(t.next) == 0 {
		t.at = t.nextAt
	} else {
		t.at = t.next[0].At - 1
	}
	return t, nil
}

// At implements engine.Tail.
func (t *tail) At() engine.Position { return t.at }

// Close implements engine.Tail.
func (t *tail) Close() {}

// Next implements engine.Tail.
func (t *tail) Next(ctx context.Context) ([]engine.Event, error) {
	for {
		if events := t.next; len(events) > 0 {
			t.next, t.at = nil, t.nextAt
			return events, nil
		}
		if u := t.filter.Until; t.err == nil && u != 0 && t.at >= u {
			t.err = io.EOF
		}
		if t.err != nil {
			return nil, t.err
		}
		if err := t.read(ctx, t.at+1, tailWait); err != nil {
			if ctx.Err() == nil {
				t.err = err
			}
			return nil, err
		}
		if len(t.next) == 0 {
			t.at = t.nextAt
		}
	}
}

// read asks for the next part.
func (t *tail) read(ctx context.Context, from engine.Position, wait time.Duration) error {
	r, err := t.s.ask(ctx, &wire.Call{Op: wire.OpTail, At: from, Events: &t.filter, Wait: int64(wait)})
	if err != nil {
		return err
	}
	t.next, t.nextAt = r.Events, r.At
	return nil
}
