package service

import (
	"fmt"
	"iter"

	"github.com/pawl-go/pawl/queue"
)

// Entry is an entry of a queue of services, with its place.
type Entry struct {
	Index queue.Index
	Envelope
}

// Messages yields the messages that are on a queue now, from an index on (0: the
// first), without the entries that services keep for themselves; letters of a queue
// of dead letters are among them. The payload is good until the next step. An error
// ends it.
func Messages(q *queue.Queue, from queue.Index) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		for e, err := range q.Entries(from) {
			if err != nil {
				yield(Entry{}, err)
				return
			}
			var f frame
			if err := f.decode(e.Payload); err != nil {
				yield(Entry{Index: e.Index}, fmt.Errorf("entry %s of queue %s: %w", e.Index, q.Dir(), err))
				return
			}
			letter := f.kind == Dead && !f.has(hasOrder)
			if (f.kind == Message || letter) && !yield(Entry{e.Index, f.envelope()}, nil) {
				return
			}
		}
	}
}
