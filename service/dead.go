package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/pawl-go/pawl/queue"
)

const maxReason = 1 << 10 // bytes of a reason that are kept

// bury puts a Dead entry for the input of the context into the arena, and gives
// the letter for it: the message as it came, with the reason.
func (s *Service) bury(err error, m message) (letter []byte) {
	reason := err.Error()
	if len(reason) > maxReason {
		reason = strings.ToValidUTF8(reason[:maxReason], "")
	}
	f := &s.c.out
	s.opens(Dead)
	f.time, f.typ, f.reason = 0, nil, []byte(cmp.Or(reason, "it failed without a word"))
	if !s.c.mute {
		s.c.put(nil)
	}
	s.cfg.Logger.Warn("input goes to the dead letters", "input", s.c.cause, "error", err)
	return s.letterFor(m.entry, f.reason)
}

// letterFor writes the letter for the input of the context. An entry that could
// not be taken apart, or has no type, is its own payload.
func (s *Service) letterFor(entry, reason []byte) []byte {
	in := &s.c.in
	l := frame{kind: Dead, time: in.time, history: s.c.out.history, typ: in.typ, reason: reason}
	payload := in.payload
	if len(in.typ) == 0 {
		payload = entry
	}
	return append(l.append(nil), payload...)
}

// post appends a letter, unless it is there already, and commits it.
func (s *Service) post(ctx context.Context, cause Hop, letter []byte) error {
	if s.letter == cause {
		return nil
	}
	i, err := s.cfg.DeadLetters.Append(ctx, letter)
	if err == nil {
		err = s.cfg.DeadLetters.Committed(ctx, i)
	}
	if err != nil {
		return fmt.Errorf("write the dead letter of %s: %w", cause, err)
	}
	s.letter = cause
	s.stats.dead.Add(1)
	return s.at(stepLetter)
}

// lastLetter reads the queue of dead letters backwards to its last one.
func (s *Service) lastLetter() error {
	q := s.cfg.DeadLetters.Queue
	if q == nil {
		return nil
	}
	t := q.NewTailer(behind(q.Last()))
	defer t.Close()
	i, p, ok, err := t.TryPrev()
	if err != nil || !ok {
		return err
	}
	var f frame
	if err := f.decode(p); err != nil || f.kind != Dead || s.byID[f.cause().Source] == nil {
		return fmt.Errorf("dead letter %s: %w: a queue of dead letters belongs to one service", i, ErrLetter)
	}
	s.letter = f.cause()
	return nil
}

// postMissing writes the letter of the last record, if that is a Dead entry whose
// letter a crash has cost: no earlier one can lack its own.
func (s *Service) postMissing(ctx context.Context, f *frame) error {
	if f.kind != Dead || s.letter == f.cause() { // a queue without a record has the zero frame
		return nil
	}
	cause := f.cause()
	in := s.byID[cause.Source]
	if in == nil || s.cfg.DeadLetters.Queue == nil {
		return &ConfigError{"DeadLetters", fmt.Sprintf("must be set: the letter of input %s may still be to be written", cause)}
	}
	entry, err := in.Queue.Read(cause.Index)
	if _, lost := errors.AsType[*queue.LostError](err); err != nil && !lost {
		return fmt.Errorf("read input %s for its dead letter: %w", cause, err)
	}
	if err := s.commit(ctx); err != nil {
		return err
	}
	_ = s.decode(in, message{index: cause.Index, entry: entry}) // what is no message is a letter all the same
	return s.post(ctx, cause, s.letterFor(entry, f.reason))
}
