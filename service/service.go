package service

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"reflect"
	"sync/atomic"

	"github.com/pawl-go/pawl/queue"
)

// Service is a handler with its queues. Run runs it, once.
type Service struct {
	cfg  Config
	h    *Handler
	c    *Context
	ins  []*input // in the order of the configuration
	byID map[uint32]*input

	// What the next record must say.
	runs      []Hop // handled since the last record; the last one may go on
	untold    int   // inputs in runs
	sinceFull int   // records since one with positions
	full      bool  // the next record has positions

	begin queue.Index // of the Begin that counts
	last  queue.Index // entry of the last record on the output queue
	group []record    // to be written; their messages are in the arena

	snaps  snapshots
	held   holding
	letter Hop // cause of the last dead letter

	ran   atomic.Bool
	stats struct{ replayed, handled, sent, dead, live atomic.Int64 }

	// trap, in tests, is called at the steps of writing; an error ends the service
	// there, as a crash would.
	trap func(step string) error
}

// record is what one input leaves.
type record struct {
	from, to mark // its entries in the arena
	outputs  int  // messages among them
	letter   []byte
	cause    Hop // of the letter
}

// Stats counts what a service has done since it was made.
type Stats struct {
	Replayed int64 // inputs, with outputs suppressed
	Handled  int64 // inputs, live
	Sent     int64 // messages written
	Dead     int64 // inputs that went to the dead letters
	Live     bool  // the start is over
}

// New makes a service of a handler; Run starts it. A handler belongs to one
// service. The error is a *ConfigError.
func New(cfg Config, h *Handler) (*Service, error) {
	if h == nil {
		return nil, &ConfigError{"handler", "is nil: make one with Handle"}
	}
	if err := cfg.validate(h); err != nil {
		return nil, err
	}
	s := &Service{cfg: cfg, h: h, byID: map[uint32]*input{}}
	s.c = &Context{codec: cfg.Codec, names: &typeNames{}, mute: cfg.Output.Queue == nil}
	s.c.self = reflect.ValueOf(s.c)
	s.snaps = snapshots{cfg: cfg.Snapshots, name: cfg.Name, log: cfg.Logger}
	for _, in := range cfg.Inputs {
		s.ins = append(s.ins, &input{Input: in})
		s.byID[in.ID] = s.ins[len(s.ins)-1]
	}
	return s, nil
}

// Stats may be called at any time.
func (s *Service) Stats() Stats {
	st := &s.stats
	return Stats{st.replayed.Load(), st.handled.Load(), st.sent.Load(), st.dead.Load(), st.live.Load() > 0}
}

// Run starts the service where Config.Start says, replays what the state needs, and
// handles inputs until ctx ends; then it returns nil. Any other end is an error:
//
//   - a *HandlerError: a handler failed, and there is no queue for dead letters;
//   - a *LostInputError, *DivergedError or *ForeignError: the output queue and the
//     inputs, or the handler, do not belong together;
//   - an error of a queue, wrapped: of reading an input, of its acknowledgement, of
//     appending.
//
// After any end all that counts is on the queues: a new service with a new handler
// goes on from there. A second call returns ErrRan.
func (s *Service) Run(ctx context.Context) error {
	err := s.open(ctx)
	for err == nil {
		var n int
		if n, err = s.step(ctx); err == nil && n == 0 {
			err = await(ctx, s.ins)
		}
	}
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		err = nil
	}
	if err != nil {
		err = fmt.Errorf("service %s: %w", s.cfg.Name, err)
	}
	return errors.Join(err, s.close())
}

// open starts the service up to its first live input.
func (s *Service) open(ctx context.Context) error {
	if !s.ran.CompareAndSwap(false, true) {
		return ErrRan
	}
	s.c.ctx = ctx
	if err := s.start(ctx); err != nil {
		return err
	}
	s.stats.live.Store(1)
	s.cfg.Logger.Info("service is live", "start", s.cfg.Start, "replayed", s.stats.replayed.Load(), "positions", s.positions())
	return nil
}

func (s *Service) close() error {
	var errs []error
	for _, in := range s.ins {
		errs = append(errs, in.close())
	}
	return errors.Join(errs...)
}

// step handles the inputs that are there, some of each, and writes what they have
// sent. It returns how many there were.
func (s *Service) step(ctx context.Context) (int, error) {
	n := 0
	for _, in := range s.ins {
		for range burst {
			m, ok, err := in.next()
			if err == nil && ok {
				n++
				err = s.take(ctx, in, m)
			}
			if err != nil {
				// What was handled before is written; only then does it end.
				return n, errors.Join(err, s.flush(ctx))
			}
			if !ok || len(s.c.arena) > groupBytes {
				break
			}
		}
	}
	if n == 0 {
		return 0, nil
	}
	if err := s.flush(ctx); err != nil {
		return n, err
	}
	return n, s.snapshotIfDue(ctx)
}

// take handles one live input.
func (s *Service) take(ctx context.Context, in *input, m message) error {
	if s.c.mute { // effects are outside: they come after the acknowledgement too
		if err := in.acknowledge(ctx, m.index); err != nil {
			return err
		}
	}
	var letter []byte
	before, from := in.done, s.c.mark()
	s.prepare(in, m)
	if err := s.handle(in, m); err != nil {
		s.c.cutTo(from)
		if s.cfg.DeadLetters.Queue == nil {
			in.done = before
			return err
		}
		letter = s.bury(err, m)
	}
	s.told(in, from, letter)
	s.stats.handled.Add(1)
	return nil
}

// handle runs the handler on a message; outputs are in the arena. The error is a
// *HandlerError.
func (s *Service) handle(in *input, m message) error {
	err := m.lost
	if err == nil {
		err = s.decode(in, m)
	}
	if err == nil && s.c.in.kind == Message {
		err = s.h.call(s.c, s.cfg.SkipUnknown)
	}
	if err != nil {
		return &HandlerError{Input: s.c.cause, Type: string(s.c.in.typ), Err: err}
	}
	return nil
}

// decode makes the message of an entry the input of the context.
func (s *Service) decode(in *input, m message) error {
	c := s.c
	var err error
	if in.Type != "" {
		c.in = frame{typ: []byte(in.Type), payload: m.entry, history: c.in.history[:0]}
	} else {
		if err = c.in.decode(m.entry); err != nil {
			c.in = frame{}
		}
	}
	c.begin(Hop{in.ID, m.index})
	return err
}

// prepare makes the input the last handled one, and says what its record would
// say of the order.
func (s *Service) prepare(in *input, m message) {
	in.done = m.index
	s.c.in = frame{history: s.c.in.history[:0]}
	s.c.begin(Hop{in.ID, m.index})
	f := &s.c.out
	f.check = checkOf(m.entry)
	f.runs = append(f.runs[:0], s.runs...)
	if n := len(f.runs); n > 0 && f.runs[n-1].Source == in.ID {
		f.runs = f.runs[:n-1]
	}
	if s.full = s.sinceFull >= fullEvery; s.full {
		f.begin, f.positions = s.begin, s.positions()
	}
	s.opens(Message)
}

// opens makes the next frame the first of a record.
func (s *Service) opens(k Kind) {
	f := &s.c.out
	f.kind, f.flags, f.ordinal = k, hasOrder, 0
	if s.full {
		f.flags |= hasPositions
	}
}

// told ends the handling of an input: what it has left becomes a record, or it is
// noted for the next one.
func (s *Service) told(in *input, from mark, letter []byte) {
	s.follow(in)
	if s.c.mark() == from && !s.c.mute && (len(s.runs) >= orderRuns || s.untold >= orderInputs) {
		s.order()
	}
	if s.c.mark() != from || letter != nil {
		s.add(record{from: from, to: s.c.mark(), outputs: s.c.sent, letter: letter, cause: s.c.cause})
	}
}

// follow adds the input's last handled message to the runs.
func (s *Service) follow(in *input) {
	s.untold++
	s.snaps.since++
	if n := len(s.runs); n > 0 && s.runs[n-1].Source == in.ID {
		s.runs[n-1].Index = in.done
		return
	}
	s.runs = append(s.runs, Hop{in.ID, in.done})
}

// order puts an entry into the arena that says how far the service has come. The
// context is that of the last input handled.
func (s *Service) order() {
	s.opens(Order)
	f := &s.c.out
	f.time, f.typ, f.reason, f.history = 0, nil, nil, f.history[:1]
	s.c.put(nil)
}

// add puts a record into the group; its entries are in the arena.
func (s *Service) add(r record) {
	s.group = append(s.group, r)
	s.runs, s.untold = s.runs[:0], 0
	s.sinceFull++
	if s.full {
		s.sinceFull, s.full = 0, false
	}
}

// positions lists the last handled message of each input.
func (s *Service) positions() []Hop {
	hs := make([]Hop, len(s.ins))
	for k, in := range s.ins {
		hs[k] = Hop{in.ID, in.done}
	}
	return hs
}

func checkOf(p []byte) uint32 { return crc32.Checksum(p, castagnoli) }
