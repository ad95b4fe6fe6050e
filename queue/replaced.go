package queue

// forget drops a cycle of a read-only queue whose file is not the one that it
// knew; the next look finds the new one.
func (q *Queue) forget(s *segment) {
	if !q.readOnly {
		return
	}
	q.set.Lock()
	if q.set.segs[s.cycle] == s {
		delete(q.set.segs, s.cycle)
	}
	q.set.Unlock()
}

// checkReplaced finds out what a tailer of another process never sees in its
// mapping: that the cycle it waits in has been replaced, because entries of it
// were set aside. One that has read nothing of it goes on in the new one.
func (t *Tailer) checkReplaced() error {
	s := t.c.s
	if s == nil {
		return nil
	}
	o, f, _, err := openCycle(t.q.dir, t.q.path, s.cycle, false)
	switch {
	case err == nil:
		if err := f.Close(); err != nil {
			return err
		}
		if o.salt == s.salt && o.cuts == s.cuts {
			return nil
		}
	case !isMissing(err):
		return err
	case s.cycle < t.q.firstCycle():
		return nil // released: it is read to its end
	}
	unread := t.c.off == dataStart
	t.leave()
	t.q.forget(s)
	t.q.letGo(s)
	if unread {
		return nil
	}
	return ErrSetAside
}
