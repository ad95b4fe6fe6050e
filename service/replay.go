package service

import (
	"bytes"
	"context"
	"fmt"

	"github.com/pawl-go/pawl/queue"
)

// replayer feeds the inputs to the handler in the order that the output queue
// says, and compares what comes out. With a stateless handler it only counts.
type replayer struct {
	s     *Service
	at    queue.Index // entry of the output queue
	f     frame
	made  [][]byte // entries that the handler has made again for the record
	seen  int      // of them, on the output queue
	quiet bool     // made is not known: stateless, or the record is no message
	frame frame    // of one that was made
}

// replay walks the output queue from behind an entry to its end.
func (s *Service) replay(ctx context.Context, from queue.Index) error {
	if !s.cfg.Stateless {
		for _, in := range s.ins {
			in.open()
		}
	}
	t := s.cfg.Output.Queue.NewTailer(behind(from))
	defer t.Close()
	r := &replayer{s: s, at: from, quiet: true}
	for ctx.Err() == nil {
		i, p, ok, err := t.TryNext()
		if err != nil {
			return fmt.Errorf("replay the output queue: %w", err)
		}
		if !ok {
			err := r.end()
			s.c.cutTo(mark{})
			return err
		}
		if err := r.entry(i, p); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// entry takes one entry of the output queue.
func (r *replayer) entry(i queue.Index, p []byte) error {
	f := &r.f
	if err := f.decode(p); err != nil {
		return &ForeignError{i, err.Error()}
	}
	switch {
	case f.has(hasOrder):
		if err := r.end(); err != nil {
			return err
		}
		r.at = i
		if err := r.record(); err != nil {
			return err
		}
	case f.has(hasOrdinal):
		r.at = i
	case f.kind == Begin:
		return r.added(i)
	default:
		return &ForeignError{i, "it was published: an output queue is written by its service only"}
	}
	return r.compare()
}

// added puts the inputs that were added at this entry where they began.
func (r *replayer) added(i queue.Index) error {
	s := r.s
	if r.f.begin != s.begin {
		return &ForeignError{i, "it is a begin that later entries do not name"}
	}
	if err := r.end(); err != nil {
		return err
	}
	for _, h := range r.f.positions {
		in := s.byID[h.Source]
		if in == nil {
			return &ForeignError{i, fmt.Sprintf("it names input %d, which the service does not have", h.Source)}
		}
		if h.Index <= in.done {
			continue
		}
		if in.done != 0 {
			return &ForeignError{i, fmt.Sprintf("input %d has come to %s there, and to %s by the entries before", h.Source, h.Index, in.done)}
		}
		if in.done = h.Index; !s.cfg.Stateless {
			in.open()
		}
	}
	return nil
}

// record handles the inputs up to the cause of a record.
func (r *replayer) record() error {
	cause := r.f.cause()
	for _, run := range r.f.runs {
		if err := r.advance(run, false); err != nil {
			return err
		}
	}
	return r.advance(cause, true)
}

// advance handles an input's messages through an index. What the last one makes is
// kept, if it is a cause.
func (r *replayer) advance(through Hop, cause bool) error {
	s := r.s
	in := s.byID[through.Source]
	if in == nil {
		return &ForeignError{r.at, fmt.Sprintf("it names input %d, which the service does not have", through.Source)}
	}
	if through.Index <= in.done {
		return &ForeignError{r.at, fmt.Sprintf("it names input %s, which was handled before", through)}
	}
	if s.cfg.Stateless {
		in.done = through.Index
		return nil
	}
	for in.done < through.Index {
		m, ok, err := in.next()
		if err != nil {
			return err
		}
		if !ok || m.index > through.Index {
			return &LostInputError{through, r.at, fmt.Sprintf("the queue goes to %s and does not have it", in.Queue.Last())}
		}
		last := cause && m.index == through.Index
		if last && checkOf(m.entry) != r.f.check {
			return &LostInputError{through, r.at, "there is another message in its place"}
		}
		if err := r.handle(in, m, last); err != nil {
			return err
		}
	}
	return nil
}

// handle runs the handler again on an input.
func (r *replayer) handle(in *input, m message, cause bool) error {
	s := r.s
	s.c.cutTo(mark{})
	err := s.again(in, m)
	switch dead := cause && r.f.kind == Dead; {
	case err != nil && !dead:
		return err
	case err == nil && dead:
		return r.diverged("it went to the dead letters, and does not fail now")
	case !cause && s.c.mark() != mark{} && !s.cfg.TrustReplay:
		return &DivergedError{s.c.cause, r.at, "it sends something, and did not"}
	}
	if cause {
		r.made, r.seen = s.c.entries(mark{}, s.c.mark()), 0
		r.quiet = r.f.kind == Dead || s.cfg.TrustReplay
	}
	return nil
}

// again handles an input of which the outputs are on the queue.
func (s *Service) again(in *input, m message) error {
	s.c.replaying = true
	defer func() { s.c.replaying = false }()
	s.prepare(in, m)
	s.stats.replayed.Add(1)
	return s.handle(in, m)
}

// compare holds an entry to what the handler has made in its place.
func (r *replayer) compare() error {
	if r.quiet || r.f.kind == Order {
		return nil
	}
	if r.seen >= len(r.made) {
		return r.diverged("it is not sent now")
	}
	if err := r.frame.decode(r.made[r.seen]); err != nil {
		return r.diverged(err.Error())
	}
	r.seen++
	a, b := &r.f, &r.frame
	switch {
	case a.cause() != b.cause() || a.ordinal != b.ordinal:
		return r.diverged("it does not follow the one before")
	case !bytes.Equal(a.typ, b.typ):
		return r.diverged(fmt.Sprintf("it is a %q, and a %q is sent now", a.typ, b.typ))
	case !bytes.Equal(a.payload, b.payload):
		return r.diverged(fmt.Sprintf("the payload differs: %q, and now %q", a.payload, b.payload))
	}
	return nil
}

// end looks whether everything that the handler has made for a record is there.
func (r *replayer) end() error {
	if !r.quiet && r.seen < len(r.made) {
		return r.diverged(fmt.Sprintf("%d messages are sent now, and %d are there", len(r.made), r.seen))
	}
	r.quiet = true
	return nil
}

func (r *replayer) diverged(reason string) error {
	return &DivergedError{r.s.c.cause, r.at, reason}
}
