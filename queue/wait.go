package queue

import (
	"context"
	"runtime"
	"runtime/debug"
	"time"
)

// How a tailer waits for another process, from hot to cold. It spins on the word
// that the next entry will begin with for as long as that pays; then it lets
// others run between two looks; then it sleeps, twice as long each time; and
// when nothing has come for a second it sleeps until the appender wakes it.
const (
	spinLeast  = 2 * time.Microsecond
	spinMost   = 200 * time.Microsecond
	yields     = 50
	pollFirst  = 20 * time.Microsecond
	pollMost   = time.Millisecond
	coldAfter  = time.Second
	coldLook   = 250 * time.Millisecond // an appender of another version wakes nobody
	idleBefore = 250 * time.Millisecond // the appender's: well before coldAfter
)

// sleeper is a File whose mappings processes can sleep on. Without it tailers of
// other processes look every pollMost.
type sleeper interface {
	// SleepOn returns when somebody has called WakeOn for the same place of the
	// same file, when the four bytes at off are not zero, or after d.
	SleepOn(m []byte, off int64, d time.Duration)
	WakeOn(m []byte, off int64)
}

// spinning learns how long it pays to spin: twice as long each time the whole
// wait was no longer than it may ever spin, half as long when it was.
type spinning time.Duration

func (s *spinning) learn(waited time.Duration) {
	if waited <= spinMost {
		*s = min(max(*s, spinning(spinLeast))*2, spinning(spinMost))
	} else {
		*s = max(*s/2, spinning(spinLeast))
	}
}

// poll waits for another process to append.
func (t *Tailer) poll(ctx context.Context, try func() (bool, error)) error {
	began := time.Now()
	if err := t.spinOn(ctx); err != nil {
		return err
	}
	var timer *time.Timer
	pause, checked := pollFirst, began
	for {
		if ok, err := try(); ok || err != nil {
			t.spin.learn(time.Since(began))
			return err
		}
		if err := t.c.checkLength(); err != nil {
			return t.failed(err)
		}
		if time.Since(checked) >= coldAfter {
			checked = time.Now()
			if err := t.checkReplaced(); err != nil {
				return t.failed(err)
			}
		}
		if time.Since(began) >= coldAfter && t.sleepCold(ctx) {
			if ctx.Err() != nil {
				return t.ended(ctx)
			}
			continue
		}
		if timer == nil {
			timer = time.NewTimer(pause)
			defer timer.Stop()
		} else {
			timer.Reset(pause)
		}
		select {
		case <-timer.C:
			pause = min(pause*2, pollMost)
		case <-ctx.Done():
			return t.ended(ctx)
		}
	}
}

// spinOn is the hot part of a wait.
func (t *Tailer) spinOn(ctx context.Context) error {
	for n := range yields + 1 {
		if t.c.s != nil && t.c.m != nil {
			limit := time.Duration(0)
			if n == 0 && runtime.GOMAXPROCS(0) > 1 {
				limit = max(time.Duration(t.spin), spinLeast)
			}
			there, err := t.c.watch(limit)
			if there || err != nil {
				return err
			}
		} else if n > 0 {
			return nil // there is no cycle to look at yet
		}
		if ctx.Err() != nil {
			return t.ended(ctx)
		}
		runtime.Gosched()
	}
	return nil
}

// watch looks at the word at the cursor until something is there, for so long.
func (c *cursor) watch(limit time.Duration) (there bool, err error) {
	old := debug.SetPanicOnFault(true)
	defer func() {
		debug.SetPanicOnFault(old)
		if r := recover(); r != nil {
			there, err = false, c.fault(r)
		}
	}()
	if uint32(loadWord(c.m, c.off)) != 0 {
		return true, nil
	}
	for began := time.Now(); time.Since(began) < limit; {
		for range 64 {
			if uint32(loadWord(c.m, c.off)) != 0 {
				return true, nil
			}
		}
	}
	return false, nil
}

// sleepCold sleeps until the appender wakes us; false where that is not possible.
func (t *Tailer) sleepCold(ctx context.Context) bool {
	f, ok := t.c.f.(sleeper)
	if !ok || t.c.m == nil {
		return false
	}
	m, off := t.c.m, t.c.off
	awake, woken := make(chan struct{}), make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(woken)
		for { // the first time may be just before we sleep
			f.WakeOn(m, off)
			select {
			case <-awake:
				return
			case <-time.After(pollMost):
			}
		}
	})
	f.SleepOn(m, off, coldLook)
	close(awake)
	if !stop() {
		<-woken // before the mapping can go
	}
	return true
}

// announce wakes the tailers of other processes that sleep at the end of the
// queue, which they do only when nothing has come for a second. So appends are
// watched only once they have paused for a while, and none is delayed when there
// are many.
func (q *Queue) announce() {
	wake := make(chan struct{}, 1)
	timer := time.NewTimer(idleBefore)
	defer timer.Stop()
	seen := q.last.Load()
	for {
		select {
		case <-q.quit:
			return
		case <-timer.C:
		}
		if last := q.last.Load(); last != seen {
			seen = last
		} else if !q.announceNext(wake) {
			return
		}
		timer.Reset(idleBefore)
	}
}

// announceNext waits for the next entry and wakes those who sleep on its place;
// false when the queue closes.
func (q *Queue) announceNext(wake chan struct{}) bool {
	q.waiting.add(wake)
	defer q.waiting.remove(wake)
	q.w.Lock()
	s, off := q.w.pseg, q.w.poff
	f, m, err := s.acquire(func() (File, []byte, error) { return q.openSegment(s) })
	q.w.Unlock()
	if err != nil {
		q.warn("watch cycle", s.name, err)
		return false
	}
	defer q.release(s)
	if uint32(loadWord(m, off)) == 0 {
		select {
		case <-wake:
		case <-q.quit:
			return false
		}
	}
	f.(sleeper).WakeOn(m, off) // see Open
	return true
}
