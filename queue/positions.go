package queue

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// PositionInfo describes a position, in use or not.
type PositionInfo struct {
	Name     string    `json:"name"`
	Next     Index     `json:"next"` // first entry that has not been dealt with
	HoldBack bool      `json:"holdBack"`
	Moved    time.Time `json:"moved"` // last set
	InUse    bool      `json:"inUse"`
	Holder   Holder    `json:"holder"`
	// Problem is why the file cannot be read. Such a position holds back
	// everything, for nobody knows what it has not seen.
	Problem string `json:"problem,omitempty"`
}

// Positions lists the positions of the queue by name.
func (q *Queue) Positions() ([]PositionInfo, error) {
	infos, err := positions(q.dir, q.path)
	if err != nil {
		return nil, fmt.Errorf("list positions of queue %s: %w", q.path, err)
	}
	return infos, nil
}

func positions(dir Dir, path string) ([]PositionInfo, error) {
	names, err := dir.List()
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	var infos []PositionInfo
	for _, file := range names {
		name, ok := strings.CutSuffix(file, positionSuffix)
		if !ok || checkName(name) != nil {
			continue
		}
		pi := PositionInfo{Name: name}
		st, err := openPosition(dir, path, file, false)
		switch {
		case isMissing(err):
			continue // removed in the meantime
		case err != nil:
			pi.Problem = err.Error()
		default:
			pi.Next, pi.HoldBack, pi.Moved = st.slot.next, st.header.holdBack, time.Unix(0, st.slot.at)
		}
		held, by, err := dir.Locked(name + positionLock)
		if err != nil {
			return nil, err
		}
		if pi.InUse = held; held {
			pi.Holder = parseHolder(by)
		}
		infos = append(infos, pi)
	}
	return infos, nil
}

// openPosition reads the file of a position, and flushes it first if asked: what
// it says then is what a power cut leaves.
func openPosition(dir Dir, path, file string, flush bool) (positionState, error) {
	f, err := dir.Open(file, false)
	if err != nil {
		return positionState{}, err
	}
	st, err := readPosition(f, path+"/"+file)
	if err == nil && flush {
		err = f.Sync()
	}
	return st, errors.Join(err, f.Close())
}

// heldBack is the lowest index that some position has not dealt with and asks
// to keep.
func (q *Queue) heldBack() (Index, error) {
	names, err := q.dir.List()
	if err != nil {
		return 0, err
	}
	held := Index(math.MaxUint64)
	for _, file := range names {
		if !strings.HasSuffix(file, positionSuffix) {
			continue
		}
		st, err := openPosition(q.dir, q.path, file, true)
		switch {
		case isMissing(err):
			continue
		case err != nil: // nobody knows what it has not seen
			return 0, err
		case st.header.holdBack:
			held = min(held, st.slot.next)
		}
	}
	return held, nil
}

// RemovePosition forgets a position, whatever it holds back. While somebody has
// it open it is a *LockedError; a name that is not there matches ErrNotFound.
func (q *Queue) RemovePosition(name string) error {
	fail := func(err error) error {
		return fmt.Errorf("remove position %q of queue %s: %w", name, q.path, err)
	}
	if err := checkName(name); err != nil {
		return fail(err)
	}
	if q.readOnly && !q.positions {
		return fail(ErrReadOnly)
	}
	lock, err := q.lockName(name)
	if err != nil {
		return fail(err)
	}
	// The file of the lock stays: somebody may be about to lock it.
	err = q.dir.Remove(name + positionSuffix)
	if isMissing(err) {
		err = ErrNotFound
	}
	if err == nil {
		err = q.dir.Sync()
	}
	if err = errors.Join(err, lock.Close()); err != nil {
		return fail(err)
	}
	return nil
}

// beyond says whether a position names a place that a queue with that last entry
// does not have. The start of the next cycle is one that it has.
func beyond(next, last Index) bool {
	if last == 0 {
		return next.Seq() > 0 && next.Cycle() > 0
	}
	return next > last+1 && next != NewIndex(last.Cycle()+1, 0)
}

func (q *Queue) warnBeyond(file string, next Index) {
	q.cfg.Logger.Warn("queue: a position is behind the end and is set back", "path", q.filePath(file), "from", next, "to", q.Last()+1)
}

// setBackPositions sets positions behind the end of the queue to the end, before
// anything is appended under indexes that they claim to have seen.
func (q *Queue) setBackPositions() error {
	names, err := q.dir.List()
	if err != nil {
		return err
	}
	for _, file := range names {
		if !strings.HasSuffix(file, positionSuffix) {
			continue
		}
		st, err := openPosition(q.dir, q.path, file, false)
		if _, bad := errors.AsType[*PositionError](err); bad {
			q.warn("read position", file, err) // whoever opens it hears of it
			continue
		}
		if err != nil {
			return err
		}
		if beyond(st.slot.next, q.Last()) {
			q.warnBeyond(file, st.slot.next)
			if err := q.setBack(file, st); err != nil {
				return err
			}
		}
	}
	return nil
}

func (q *Queue) setBack(file string, st positionState) error {
	f, err := q.dir.Open(file, true)
	if err != nil {
		return err
	}
	// Far ahead in the count: a tailer that has it open and has not noticed yet
	// must not win with its next commit.
	slot := positionSlot{count: st.slot.count + 1<<32, next: q.Last() + 1, at: q.cfg.Now().UnixNano()}
	_, err = f.WriteAt(slot.encode(), slotOffset(st.newest+1))
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}
