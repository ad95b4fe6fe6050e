package queue

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"sync"
)

// PositionOptions are the settings of a Position.
type PositionOptions struct {
	// Start is where a name begins that has no position yet: 0 is the start of
	// the queue, Last()+1 its end. It does not matter later.
	Start Index
	// HoldBack keeps the retention, and ReleaseBefore, from deleting a cycle with
	// entries at or behind the position. It is kept with the position, so it
	// holds while nobody has it open: remove a position that is not needed any
	// more (RemovePosition), or the disk fills up.
	HoldBack bool
}

// Position is a place in a queue that is kept under a name: that of a named
// tailer, or of a copy on another host. It is the index of the first entry that
// has not been dealt with. Its methods may be called concurrently.
type Position struct {
	q    *Queue
	name string
	lock io.Closer
	mu   struct {
		sync.Mutex
		file   File
		header positionHeader
		slot   positionSlot
		slots  int   // written so far: the next one goes to the other place
		failed error // of a flush
	}
}

// OpenPosition opens the position of that name, made if it is missing; a name is
// 1 to 64 letters, digits, dots, dashes and underscores and begins with none of
// the signs. It takes the lock of the name: while somebody has it, here or in
// another process, it is a *LockedError. A file that does not check is a
// *PositionError. On a queue of OpenReadOnly it matches ErrReadOnly (see
// OpenReader).
//
// A position behind the end of the queue, which the queue has after a power cut
// that cost it entries somebody had read already, is set back to the end.
func (q *Queue) OpenPosition(name string, o PositionOptions) (*Position, error) {
	fail := func(err error) (*Position, error) {
		return nil, fmt.Errorf("open position %q of queue %s: %w", name, q.path, err)
	}
	if err := checkName(name); err != nil {
		return fail(err)
	}
	switch {
	case q.closed.Load():
		return fail(ErrClosed)
	case q.readOnly && !q.positions:
		return fail(fmt.Errorf("%w; use OpenReader", ErrReadOnly))
	}
	lock, err := q.lockName(name)
	if err != nil {
		return fail(err)
	}
	p := &Position{q: q, name: name, lock: lock}
	if err := p.load(o); err != nil {
		return fail(errors.Join(err, p.Close()))
	}
	return p, nil
}

func checkName(name string) error {
	ok := len(name) > 0 && len(name) <= 64
	for i, c := range []byte(name) {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		ok = ok && (letter || i > 0 && strings.IndexByte("._-", c) >= 0)
	}
	if !ok {
		return fmt.Errorf("bad name: want 1 to 64 letters, digits, dots, dashes and underscores, and a letter or a digit first")
	}
	return nil
}

// load reads the file, or makes it.
func (p *Position) load(o PositionOptions) error {
	fileName := p.name + positionSuffix
	f, err := p.q.dir.Open(fileName, true)
	if errors.Is(err, fs.ErrNotExist) {
		if err := p.create(o); err != nil {
			return err
		}
		f, err = p.q.dir.Open(fileName, true)
	}
	if err != nil {
		return err
	}
	p.mu.file = f
	st, err := readPosition(f, p.q.filePath(fileName))
	if err != nil {
		return err
	}
	p.mu.header, p.mu.slot, p.mu.slots = st.header, st.slot, st.newest+1
	if last := p.q.Last(); beyond(st.slot.next, last) {
		p.q.warnBeyond(fileName, st.slot.next)
		if err := p.Set(last + 1); err != nil {
			return err
		}
	}
	if st.header.holdBack != o.HoldBack {
		p.mu.header.holdBack = o.HoldBack
		_, err = f.WriteAt(p.mu.header.encode(), 0)
	}
	return err
}

// create makes the file whole under another name first.
func (p *Position) create(o PositionOptions) error {
	now := p.q.cfg.Now().UnixNano()
	b := make([]byte, positionBytes)
	copy(b, positionHeader{holdBack: o.HoldBack, created: now}.encode())
	copy(b[slotOffset(0):], positionSlot{count: 1, next: o.Start, at: now}.encode())
	name := p.name + positionSuffix
	if err := p.q.dir.Remove(name + tempSuffix); err != nil && !isMissing(err) {
		return err
	}
	if err := writeFile(p.q.dir, name+tempSuffix, b); err != nil {
		return full(err, p.q.filePath(name), positionBytes)
	}
	if err := p.q.dir.Rename(name+tempSuffix, name); err != nil {
		return err
	}
	return p.q.dir.Sync()
}

// Index is the index of the first entry that has not been dealt with, 0 at the
// start of the queue.
func (p *Position) Index() Index {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mu.slot.next
}

// Set moves the position, forwards or backwards: next is the index of the first
// entry that has not been dealt with. It survives the death of the process at
// once, and a power cut after Sync, or after the next flush of the operating
// system; until then an older position may come back.
func (p *Position) Set(next Index) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.file == nil {
		return fmt.Errorf("set position %q of queue %s: %w", p.name, p.q.path, ErrClosed)
	}
	if next == p.mu.slot.next {
		return nil
	}
	slot := positionSlot{count: p.mu.slot.count + 1, next: next, at: p.q.cfg.Now().UnixNano()}
	if _, err := p.mu.file.WriteAt(slot.encode(), slotOffset(p.mu.slots)); err != nil {
		return fmt.Errorf("set position %q of queue %s: %w", p.name, p.q.path, err)
	}
	p.mu.slot = slot
	p.mu.slots++
	return nil
}

// Sync makes the position survive a power cut. An error is final: the next Sync
// could succeed and would prove nothing. Close the position and open it again, and
// it says what it is.
func (p *Position) Sync() error {
	p.mu.Lock()
	defer p.mu.Unlock() // held across the flush: Close must not come in between
	err := p.mu.failed
	if p.mu.file == nil {
		err = ErrClosed
	}
	if err == nil {
		err = p.mu.file.Sync()
		p.mu.failed = err
	}
	if err != nil {
		return fmt.Errorf("sync position %q of queue %s: %w", p.name, p.q.path, err)
	}
	return nil
}

// Close gives the name back; the position stays. A second Close does nothing.
func (p *Position) Close() error {
	p.mu.Lock()
	f, lock := p.mu.file, p.lock
	p.mu.file, p.lock = nil, nil
	p.mu.Unlock()
	var err error
	if f != nil {
		err = f.Close()
	}
	if lock != nil {
		err = errors.Join(err, lock.Close())
	}
	return err
}

// lockName takes the lock of a name.
func (q *Queue) lockName(name string) (io.Closer, error) {
	return takeLock(q.dir, name+positionLock, q.filePath(name+positionSuffix), q.cfg.Now())
}
