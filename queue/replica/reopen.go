package replica

import (
	"bytes"
	"fmt"

	"github.com/pawl-go/pawl/queue"
)

// takeBackEnd opens the last cycle that has entries again, when it has ended here and
// goes on at the source. That happens when this host began to be the source itself:
// what it appended in a cycle of its own was set aside, and the end of the cycle
// before it stayed. mu is held.
//
// Package queue cuts only before entries, so the last batch is set aside with the
// end, and appended again as it was. A death in between costs this host a batch that
// it may have acknowledged, so until it is there again the promises say that.
func (q *Queue) takeBackEnd() error {
	last := q.mu.q.Last()
	fail := func(err error) error { return fmt.Errorf("open cycle %d again: %w", last.Cycle(), err) }
	p, err := q.lastBatch(last)
	if err != nil {
		return fail(err)
	}
	if err := q.promises.doubt(true); err != nil {
		q.failed(err)
		return fail(err)
	}
	first := p.block.First()
	reason := fmt.Sprintf("cycle %d goes on at the source, and had ended here: its last batch is cut off with its end, and appended again", last.Cycle())
	err = q.takeOut(first, reason, func() error { return q.chain.cut(first - 1) })
	if q.mu.fail != nil {
		return fail(err)
	}
	if err == nil {
		if err = q.mu.q.BeginCycle(p.head); err == nil {
			err = q.mu.q.Apply(p.block)
		}
	}
	if err == nil { // it may have been flushed before
		err = q.mu.q.WaitDurable(q.quit, last)
	}
	if q.mu.q.Last() != last || err != nil && q.mu.q.Err() != nil {
		q.failed(err)
		return fail(err)
	}
	if derr := q.promises.doubt(false); derr != nil {
		q.failed(derr)
		return fail(derr)
	}
	if err != nil {
		return fail(err)
	}
	return nil
}

// lastBatch reads the batch that ends with the last entry.
func (q *Queue) lastBatch(last queue.Index) (piece, error) {
	head, err := q.mu.q.Head(last.Cycle())
	if err != nil {
		return piece{}, err
	}
	r := q.mu.q.NewBlockReader(queue.Place{Index: last})
	defer r.Close()
	b, ok, err := r.TryNext(1)
	if err == nil && (!ok || b.Next() != last+1) {
		err = fmt.Errorf("entry %s: %w", last, queue.ErrNotFound)
	}
	b.Bytes = bytes.Clone(b.Bytes)
	return piece{head: head, block: b}, err
}
