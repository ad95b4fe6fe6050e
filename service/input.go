package service

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"

	"github.com/pawl-go/pawl/queue"
)

// message is an entry of an input.
type message struct {
	index queue.Index
	entry []byte // good until the next one of its input
	lost  error  // the entry is gone: Repair has given it up
}

// input is an Input with its place.
type input struct {
	Input
	t     *queue.Tailer
	done  queue.Index // last handled; 0: none
	acked queue.Index // known to be acknowledged
	ahead *message    // read and not taken

	pos *queue.Position // nil: none is kept
	set queue.Index     // that pos was set to
}

// behind is the index at which to go on behind i.
func behind(i queue.Index) queue.Index {
	if i == 0 {
		return 0 // not 1: that is behind the first entry of a queue that begins so
	}
	return i + 1
}

// before is the index before i, that of an entry or not, so that behind leads to i
// exactly: if that is gone, reading fails, and does not begin with what is left.
func before(i queue.Index) queue.Index { return max(i, 1) - 1 }

// imagined says whether an index is one that before has made, of no entry.
func imagined(i queue.Index) bool { return i == 0 || i.Seq() == math.MaxUint32 }

// atStart puts the input before the first entry that is kept, or that will come. It
// is 0 where that is not known: on an empty queue that another process writes.
func (in *input) atStart() {
	if in.done = before(in.Queue.First()); in.done == 0 {
		in.atEnd()
	}
}

// atEnd puts the input behind the last entry.
func (in *input) atEnd() {
	if in.done = in.Queue.Last(); in.done == 0 {
		if next := in.Queue.Place().Index; next.Cycle() > 0 {
			in.done = before(next)
		}
	}
}

// open begins to read behind done.
func (in *input) open() {
	if in.t != nil {
		in.t.Close()
	}
	in.t = in.Queue.NewTailer(behind(in.done))
}

func (in *input) close() error {
	if in.t != nil {
		in.t.Close()
	}
	if in.pos != nil {
		return in.pos.Close()
	}
	return nil
}

// next takes the next message if there is one.
func (in *input) next() (message, bool, error) {
	if m := in.ahead; m != nil {
		in.ahead = nil
		return *m, true, nil
	}
	i, p, ok, err := in.t.TryNext()
	if err != nil {
		m, err := in.trouble(err)
		return m, err == nil, err
	}
	return message{index: i, entry: p}, ok, nil
}

// look waits for the next message and keeps it for next.
func (in *input) look(ctx context.Context) error {
	i, p, err := in.t.Next(ctx)
	m := message{index: i, entry: p}
	if err != nil {
		if m, err = in.trouble(err); err != nil {
			return err
		}
	}
	in.ahead = &m
	return nil
}

// trouble makes a message of an entry that is lost, and an error of the rest.
func (in *input) trouble(err error) (message, error) {
	if lost, ok := errors.AsType[*queue.LostError](err); ok {
		return message{index: lost.Index, lost: lost}, nil
	}
	if errors.Is(err, queue.ErrReleased) {
		err = fmt.Errorf("%w; set HoldBack to keep what is not handled; all that is kept is behind it, and FromStart handles that", err)
	}
	return message{}, fmt.Errorf("read input %d behind %s: %w", in.ID, in.done, err)
}

// acknowledge waits until all that was handled counts.
func (in *input) acknowledge(ctx context.Context, i queue.Index) error {
	if in.Acknowledged == nil || i <= in.acked || imagined(i) {
		return nil
	}
	if err := in.Acknowledged(ctx, i); err != nil {
		return fmt.Errorf("wait until input %d is acknowledged to %s: %w", in.ID, i, err)
	}
	in.acked = i
	return nil
}

// verify looks whether the last handled entry is still there, as the message with
// this check, where one is given.
func (in *input) verify(check *uint32) (problem string, err error) {
	if imagined(in.done) {
		return "", nil
	}
	p, err := in.Queue.Read(in.done)
	if _, lost := errors.AsType[*queue.LostError](err); lost || errors.Is(err, queue.ErrReleased) {
		return "", nil
	}
	if errors.Is(err, queue.ErrNotFound) {
		if at, _, noteErr := in.Queue.LastNote(in.done); noteErr == nil && at == in.done {
			return "", nil // the end that FromEnd has seen was a note
		}
		return fmt.Sprintf("the queue ends at %s", in.Queue.Last()), nil
	}
	if err == nil && check != nil && checkOf(p) != *check {
		return "there is another message in its place", nil
	}
	return "", err
}

// await waits until one of the inputs has a message.
func await(ctx context.Context, ins []*input) error {
	if len(ins) == 1 {
		return ins[0].look(ctx)
	}
	first, cancel := context.WithCancel(ctx)
	defer cancel()
	errs := make([]error, len(ins))
	var group sync.WaitGroup
	for k, in := range ins {
		group.Go(func() {
			if errs[k] = in.look(first); errs[k] == nil || first.Err() == nil {
				cancel()
			}
		})
	}
	group.Wait()
	for _, err := range errs {
		if err != nil && (ctx.Err() != nil || !errors.Is(err, context.Canceled)) {
			return err
		}
	}
	return nil
}
