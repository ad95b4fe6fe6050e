package service

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/pawl-go/pawl/queue"
)

// start brings state and positions to where the service goes on.
func (s *Service) start(ctx context.Context) error {
	err := s.openPositions()
	if err == nil {
		err = s.lastLetter()
	}
	if err != nil {
		return err
	}
	switch s.cfg.Start {
	case LastWritten:
		err = s.startLastWritten(ctx)
	case Named:
		err = s.startNamed(ctx)
	case FromEnd:
		for _, in := range s.ins {
			in.atEnd()
		}
		err = s.startAnew(ctx)
	case FromStart:
		err = s.startAtStart(ctx)
	}
	s.snaps.since = int(s.stats.replayed.Load()) // what was replayed once need not be again
	return err
}

// startAtStart is startAnew with the first inputs that are kept.
func (s *Service) startAtStart(ctx context.Context) error {
	for _, in := range s.ins {
		in.atStart()
	}
	return s.startAnew(ctx)
}

// startAnew begins with an empty state where the inputs stand, and says so on the
// output queue.
func (s *Service) startAnew(ctx context.Context) error {
	for _, in := range s.ins {
		in.open()
	}
	if s.c.mute {
		return nil
	}
	s.begin = 0
	if err := s.writeBegin(ctx); err != nil {
		return err
	}
	s.begin = s.last
	return nil
}

// writeBegin says on the output queue where the inputs stand: at the begin, or
// where those begin that have been added since.
func (s *Service) writeBegin(ctx context.Context) error {
	f := frame{kind: Begin, flags: hasPositions, begin: s.begin, positions: s.positions()}
	i, err := s.cfg.Output.Append(ctx, f.append(nil))
	if err != nil {
		return fmt.Errorf("write the begin: %w", err)
	}
	s.last, s.sinceFull = i, 0
	return s.commit(ctx)
}

// startNamed goes on at the positions. A state, which has a single input, is
// replayed up to there.
func (s *Service) startNamed(ctx context.Context) error {
	for _, in := range s.ins {
		in.set = in.pos.Index()
		in.done = before(in.set)
	}
	if s.cfg.Stateless {
		return s.startAnew(ctx)
	}
	in := s.ins[0]
	through := in.done
	in.done = 0
	snap, err := s.snaps.load(func(sn *snapshot) (string, error) { return sn.within(in.ID, through), nil })
	if err != nil {
		return err
	}
	if err := s.restore(snap); err != nil {
		return err
	}
	in.open()
	for in.done < through {
		m, ok, err := in.next()
		if err != nil {
			return err
		}
		if !ok {
			break // notes, or nothing, lie before the position
		}
		if m.index > through {
			in.ahead = &m
			break
		}
		if err := s.again(in, m); err != nil && s.cfg.DeadLetters.Queue == nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// startLastWritten goes on behind the last record of the output queue.
func (s *Service) startLastWritten(ctx context.Context) error {
	e, err := s.readEnd()
	if err != nil {
		return err
	}
	if e == nil {
		return s.startAtStart(ctx)
	}
	if s.begin = e.full.begin; s.begin == 0 {
		s.begin = e.fullAt
	}
	from, positions := e.fullAt, e.full.positions
	if !s.cfg.Stateless {
		if from, positions, err = s.startOfState(); err != nil {
			return err
		}
	}
	if err := s.placeAt(from, positions); err != nil {
		return err
	}
	s.last = s.cfg.Output.Queue.Last()
	if err := s.replay(ctx, from); err != nil {
		return err
	}
	s.sinceFull = fullEvery // so that the next start finds positions soon
	if err := s.verifyInputs(e); err != nil {
		return err
	}
	if err := s.postMissing(ctx, &e.head); err != nil {
		return err
	}
	return s.welcome(ctx, &e.full)
}

// welcome opens the inputs, and says where those begin that the last entry with
// positions does not name.
func (s *Service) welcome(ctx context.Context, full *frame) error {
	added := false
	for _, in := range s.ins {
		if !slices.ContainsFunc(full.positions, func(h Hop) bool { return h.Source == in.ID }) {
			in.atStart()
			in.open()
			added = true
		} else if s.cfg.Stateless {
			in.open()
		}
	}
	if !added {
		return nil
	}
	return s.writeBegin(ctx)
}

// outputEnd is what the end of the output queue says.
type outputEnd struct {
	head   frame // first entry of the last record
	headAt queue.Index
	full   frame // last one with positions
	fullAt queue.Index
}

// readEnd reads the output queue backwards, to the last entry with positions; nil
// if nothing was written.
func (s *Service) readEnd() (*outputEnd, error) {
	q := s.cfg.Output.Queue
	t := q.NewTailer(behind(q.Last()))
	defer t.Close()
	var e outputEnd
	var seen queue.Index
	for {
		i, p, ok, err := t.TryPrev()
		switch {
		case err != nil:
			return nil, fmt.Errorf("read the output queue backwards: %w", err)
		case !ok && seen != 0:
			return nil, &ForeignError{seen, "no entry before it says where the service began; if retention has deleted that, keep more of the queue"}
		case !ok:
			return nil, nil
		}
		f := &e.full
		if err := f.decode(p); err != nil {
			return nil, &ForeignError{i, err.Error()}
		}
		if e.headAt == 0 && f.has(hasOrder) {
			e.headAt = i
			_ = e.head.decode(bytes.Clone(p)) // it did a moment ago
		}
		if f.has(hasPositions) {
			e.fullAt = i
			return &e, nil
		}
		seen = i
	}
}

// startOfState restores the newest snapshot that fits, and tells from which output
// on the rest is replayed, and where the inputs stood there.
func (s *Service) startOfState() (queue.Index, []Hop, error) {
	snap, err := s.snaps.load(func(sn *snapshot) (string, error) {
		if sn.begin != s.begin {
			return "it is of another begin", nil
		}
		p, err := s.cfg.Output.Queue.Read(sn.output)
		switch {
		case errors.Is(err, queue.ErrNotFound) || errors.Is(err, queue.ErrReleased):
			return "its output is not on the queue", nil
		case err != nil:
			return "", fmt.Errorf("read the output of a snapshot: %w", err)
		case checkOf(p) != sn.check:
			return "its output is another one", nil
		}
		return "", nil
	})
	if err != nil {
		return 0, nil, err
	}
	if snap != nil {
		return snap.output, snap.positions, s.restore(snap)
	}
	p, err := s.cfg.Output.Queue.Read(s.begin)
	if err != nil {
		return 0, nil, fmt.Errorf("read the begin of the output queue, from which the state is replayed (no snapshot fits): %w", err)
	}
	var f frame
	if err := f.decode(p); err != nil || f.kind != Begin || f.begin != 0 {
		return 0, nil, &ForeignError{s.begin, "it is not the begin that later entries name"}
	}
	return s.begin, f.positions, nil
}

// restore makes the state that of a snapshot, if there is one.
func (s *Service) restore(snap *snapshot) error {
	if snap == nil {
		return nil
	}
	if err := s.h.snapshotter.Restore(snap.state); err != nil {
		return &SnapshotError{snap.path, fmt.Sprintf("the handler does not restore it: %v; remove it for a longer replay", err)}
	}
	for _, h := range snap.positions {
		if in := s.byID[h.Source]; in != nil {
			in.done = h.Index
		}
	}
	s.cfg.Logger.Info("state restored", "snapshot", snap.path, "output", snap.output, "positions", snap.positions)
	return nil
}

// placeAt puts the inputs behind the messages that an entry of the output queue
// names.
func (s *Service) placeAt(at queue.Index, positions []Hop) error {
	for _, h := range positions {
		in := s.byID[h.Source]
		if in == nil {
			return &ForeignError{at, fmt.Sprintf("it names input %d, which the service does not have; keep it among the Inputs", h.Source)}
		}
		in.done = h.Index
	}
	return nil
}

// verifyInputs looks whether what was handled last of each input is still there,
// and whether the cause of the last record is the message that it was.
func (s *Service) verifyInputs(e *outputEnd) error {
	for _, in := range s.ins {
		if in.done == 0 {
			continue
		}
		var check *uint32
		if e.headAt != 0 && e.head.cause() == (Hop{in.ID, in.done}) {
			check = &e.head.check
		}
		problem, err := in.verify(check)
		if err != nil {
			return fmt.Errorf("verify input %d: %w", in.ID, err)
		}
		if problem != "" {
			return &LostInputError{Hop{in.ID, in.done}, s.last, problem}
		}
	}
	return nil
}
