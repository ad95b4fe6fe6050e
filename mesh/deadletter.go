package mesh

import (
	"context"
	"errors"
	"sync"
	"time"
)

// DeadLetter is a message, or several of one kind, that was not handled.
type DeadLetter struct {
	Reason Reason
	Target AnyAddress // whom it was for; of lost ones only the node is known
	From   string     // the node that sent it
	Type   string     // the message's type, if known
	Call   bool       // somebody waited for a reply, and has been told
	Count  uint64     // how many
	// Reported: another node has refused them and says so in summary; they were
	// casts of this node.
	Reported bool
}

// deadLetters hands dead letters to who wants them, and writes to the log now and then.
type deadLetters struct {
	mu   sync.Mutex
	subs map[*DeadLetters]struct{}

	quietUntil time.Time // no line in the log before
	unlogged   uint64
}

// DeadLetters is a subscription to what was not handled; see [Node.DeadLetters].
type DeadLetters struct {
	node   *Node
	letter chan DeadLetter
	missed uint64 // guarded by node.dead.mu
}

// DeadLetters returns the stream of what is refused or dropped on this node from
// now on, and of what other nodes say they have refused of it. size letters are
// kept for a slow reader; what comes then is only counted. Close it.
func (n *Node) DeadLetters(size int) *DeadLetters {
	d := &DeadLetters{node: n, letter: make(chan DeadLetter, max(size, 1))}
	n.dead.mu.Lock()
	defer n.dead.mu.Unlock()
	if n.dead.subs == nil {
		n.dead.subs = map[*DeadLetters]struct{}{}
	}
	n.dead.subs[d] = struct{}{}
	return d
}

// Next waits for the next letter. It fails when ctx ends.
func (d *DeadLetters) Next(ctx context.Context) (DeadLetter, error) {
	select {
	case l := <-d.letter:
		return l, nil
	case <-ctx.Done():
		return DeadLetter{}, ctx.Err()
	}
}

// Missed returns how many letters found no place.
func (d *DeadLetters) Missed() uint64 {
	d.node.dead.mu.Lock()
	defer d.node.dead.mu.Unlock()
	return d.missed
}

// Close ends the subscription.
func (d *DeadLetters) Close() {
	d.node.dead.mu.Lock()
	defer d.node.dead.mu.Unlock()
	delete(d.node.dead.subs, d)
}

// logEvery is how often a node says in the log that messages are lost.
const logEvery = 5 * time.Second

// drop counts messages that were sent and are not handled, by this node.
func (n *Node) drop(r Reason, l DeadLetter) {
	n.counts.dropped.add(r, l.Count)
	l.Reason = r
	n.bury(l)
}

// refuse counts a message that has reached this node and is not taken.
func (n *Node) refuse(code RemoteCode, l DeadLetter) {
	n.counts.refused.add(Reason(code), l.Count)
	l.Reason = Reason(code)
	n.bury(l)
}

// logFailure says that an actor has failed, with its stack if it panicked.
func (n *Node) logFailure(actor string, e Exit, err error) {
	args := []any{"actor", actor, "reason", e.Reason, "err", e.Detail, "restarting", e.Restarting}
	if p, ok := errors.AsType[*panicError](err); ok {
		args = append(args, "stack", string(p.stack))
	}
	n.log.Error("actor failed", args...)
}

// bury publishes a letter.
func (n *Node) bury(l DeadLetter) {
	d := &n.dead
	d.mu.Lock()
	for s := range d.subs {
		select {
		case s.letter <- l:
		default:
			s.missed += l.Count
		}
	}
	d.unlogged += l.Count
	now := time.Now()
	if now.Before(d.quietUntil) {
		d.mu.Unlock()
		return
	}
	count := d.unlogged
	d.unlogged = 0
	d.quietUntil = now.Add(logEvery)
	d.mu.Unlock()
	n.log.Warn("messages were not handled", "count", count, "last_reason", l.Reason, "last_target", l.Target.String(), "last_from", l.From)
}
