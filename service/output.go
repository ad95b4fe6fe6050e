package service

import (
	"context"
	"fmt"

	"github.com/pawl-go/pawl/queue"
)

// Steps of writing, for the traps of tests.
const (
	stepHandled      = "handled"      // nothing is written yet
	stepAcknowledged = "acknowledged" // the inputs count
	stepAppended     = "appended"     // a record is on the output queue
	stepBuried       = "buried"       // a Dead entry is committed
	stepLetter       = "letter"       // its letter is committed
	stepSnapshot     = "snapshot"     // a snapshot is written, under another name
)

func (s *Service) at(step string) error {
	if s.trap == nil {
		return nil
	}
	return s.trap(step)
}

// flush writes the group: first the inputs are acknowledged, then record after
// record is appended.
func (s *Service) flush(ctx context.Context) error {
	defer func() {
		s.group = s.group[:0]
		s.c.cutTo(mark{})
	}()
	if err := s.at(stepHandled); err != nil {
		return err
	}
	if len(s.group) > 0 {
		for _, in := range s.ins {
			if err := in.acknowledge(ctx, in.done); err != nil {
				return err
			}
		}
	}
	if err := s.at(stepAcknowledged); err != nil {
		return err
	}
	for _, r := range s.group {
		if err := s.write(ctx, r); err != nil {
			return err
		}
	}
	return s.movePositions()
}

// write appends a record, and its letter if it has one.
func (s *Service) write(ctx context.Context, r record) error {
	if n := r.to.messages - r.from.messages; n > 0 {
		first, err := s.cfg.Output.Append(ctx, s.c.entries(r.from, r.to)...)
		if err != nil {
			return fmt.Errorf("write the outputs of %s: %w", r.cause, err)
		}
		s.last = first + queue.Index(n-1)
		s.stats.sent.Add(int64(r.outputs))
	}
	if err := s.at(stepAppended); err != nil {
		return err
	}
	if r.letter == nil {
		return nil
	}
	if !s.c.mute {
		if err := s.commit(ctx); err != nil {
			return err
		}
	}
	if err := s.at(stepBuried); err != nil {
		return err
	}
	return s.post(ctx, r.cause, r.letter)
}

// commit waits until everything on the output queue is committed.
func (s *Service) commit(ctx context.Context) error {
	if s.last == 0 {
		return nil
	}
	if err := s.cfg.Output.Committed(ctx, s.last); err != nil {
		return fmt.Errorf("commit output %s: %w", s.last, err)
	}
	return nil
}

// holding is how far the positions of HoldBack may move: to where the inputs
// stood at an output, once that one is flushed.
type holding struct {
	at        queue.Index // of the output; 0: none is awaited
	positions []Hop
}

// openPositions takes the positions of the service's name on its inputs.
func (s *Service) openPositions() error {
	if s.cfg.Start != Named && !s.cfg.HoldBack {
		return nil
	}
	for _, in := range s.ins {
		var err error
		in.pos, err = in.Queue.OpenPosition(s.cfg.Name, queue.PositionOptions{HoldBack: s.cfg.HoldBack})
		if err != nil {
			return fmt.Errorf("open the position on input %d: %w", in.ID, err)
		}
	}
	return nil
}

// movePositions moves the positions to what a start does not need any more.
func (s *Service) movePositions() error {
	switch {
	case s.cfg.Start == Named:
		return s.moveTo(s.positions())
	case !s.cfg.HoldBack || !s.cfg.Stateless: // with a state, its snapshots move them
		return nil
	case s.held.at == 0:
		if len(s.runs) == 0 && s.last != 0 {
			s.held = holding{s.last, s.positions()}
		}
		return nil
	case s.cfg.Output.Queue.Durable() >= s.held.at:
		err := s.moveTo(s.held.positions)
		s.held = holding{}
		return err
	}
	return nil
}

// moveTo sets the positions behind messages of the inputs.
func (s *Service) moveTo(done []Hop) error {
	for _, h := range done {
		in := s.byID[h.Source]
		next := behind(h.Index)
		if in == nil || in.pos == nil || next == in.set {
			continue
		}
		if err := in.pos.Set(next); err != nil {
			return fmt.Errorf("move the position on input %d: %w", in.ID, err)
		}
		in.set = next
	}
	return nil
}
