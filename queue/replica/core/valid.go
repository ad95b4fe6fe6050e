package core

import "fmt"

// valid checks the invariants of Replica, by their numbers.
func (r *Replica) valid() error {
	last := r.h.last()
	broken := func(n int, format string, args ...any) error {
		return fmt.Errorf("invariant %d: %s", n, fmt.Sprintf(format, args...))
	}
	switch {
	case r.hard.Promised.Less(r.h.mark().Epoch):
		return broken(1, "last epoch %v, promised %v", r.h.mark().Epoch, r.hard.Promised)
	case r.hard.Promised.Less(r.written.Promised), r.seq < r.done:
		return broken(2, "written %v, promised %v", r.written.Promised, r.hard.Promised)
	case r.counted > r.released, r.released > last, r.source == nil && r.counted != r.released:
		return broken(5, "counted %v, released %v, last %v", r.counted, r.released, last)
	case r.flushed > last:
		return broken(5, "flushed %v, last %v", r.flushed, last)
	}
	if s := r.source; s != nil {
		switch {
		case s.epoch != r.hard.Promised, s.epoch.Host != r.cfg.Self, r.written.Promised.Less(s.epoch):
			return broken(3, "source in %v, promised %v, written %v", s.epoch, r.hard.Promised, r.written.Promised)
		case s.start != 0 && r.h.mark().Epoch != s.epoch, s.start == 0 && !r.h.mark().Epoch.Less(s.epoch):
			return broken(3, "source in %v, last epoch %v", s.epoch, r.h.mark().Epoch)
		case r.counted != s.before && r.counted < s.start:
			return broken(4, "counts up to %v before the epoch's entry %v", r.counted, s.start)
		case s.start == 0 && !s.locked:
			return broken(4, "unlocked before the epoch is open")
		case r.follow != nil:
			return broken(8, "the source follows host %d", r.follow.peer)
		case r.campaign != nil:
			return broken(3, "the source campaigns")
		}
	}
	for _, p := range r.peers {
		f := p.feed
		if f == nil {
			continue
		}
		switch {
		case f.flushed > f.appended, f.appended > f.received, f.received > f.sent, f.sent > last:
			return broken(7, "host %d: flushed %v, appended %v, received %v, sent %v, last %v", p.id, f.flushed, f.appended, f.received, f.sent, last)
		case !f.donor && r.source == nil:
			return broken(8, "feeds host %d and is not the source", p.id)
		case f.donor && (r.hard.Promised != f.epoch || f.epoch.Host != p.id):
			return broken(8, "donor for host %d in %v, promised %v", p.id, f.epoch, r.hard.Promised)
		}
	}
	if fo := r.follow; fo != nil && (fo.epoch != r.hard.Promised || fo.stage > followPromising && r.written.Promised.Less(fo.epoch)) {
		return broken(9, "follows in %v, promised %v, written %v", fo.epoch, r.hard.Promised, r.written.Promised)
	}
	if r.changing.kind != changeNone && r.follow == nil && r.source == nil && !r.closing {
		return broken(10, "a change of the queue without a follower or a source")
	}
	return nil
}
