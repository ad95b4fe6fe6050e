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

// stillThere says whether the file of a cycle is the one that was opened; a
// cycle that was released counts as such, for it is read to its end.
func (q *Queue) stillThere(s *segment) (bool, error) {
	o, f, _, err := openCycle(q.dir, q.path, s.cycle, false)
	switch {
	case err == nil:
		return o.salt == s.salt && o.cuts == s.cuts, f.Close()
	case isMissing(err):
		return s.cycle < q.firstCycle(), nil
	}
	return false, err
}

// checkReplaced finds out what a tailer of another process never sees in its
// mapping: that the cycle it waits in, or has read to its end, has been replaced,
// because entries of it were set aside. One that has read nothing of it goes on in the new one.
func (t *Tailer) checkReplaced() error {
	s := t.c.s
	if s == nil {
		return t.checkLeft()
	}
	if there, err := t.q.stillThere(s); err != nil || there {
		return err
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

// checkLeft is the same for the cycle that the tailer has read to its end, before
// it reads the next one.
func (t *Tailer) checkLeft() error {
	s := t.left
	if s == nil || !t.q.readOnly {
		return nil
	}
	there, err := t.q.stillThere(s)
	if err == nil && !there {
		t.q.forget(s)
		t.q.letGo(s)
		err = ErrSetAside
	}
	return err
}
