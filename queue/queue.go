package queue

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Queue is an open queue. All methods may be called concurrently.
//
// Invariants (a change must keep them; see the tests of the same names):
//
//  1. Published entries are whole and in order: an entry's first word is stored
//     after the rest of it and after the words of all entries before it.
//  2. durable <= last, and both only rise.
//  3. A segment's flushed mark is above 0 only when all segments before it are
//     flushed to their end.
//  4. The reserving cursor (w.seg, w.off) is at or ahead of the publishing
//     cursor (w.pseg, w.poff); they are equal when no slot is open.
//
// Locks are taken in the order releasing, prep.mu, w, set, builder, segment.mu;
// flush.mu, opened, teller and waiting are leaves. Those that are held across I/O
// say so: releasing, touching, prep.mu, builder, segment.mu.
type Queue struct {
	dir      Dir
	path     string
	cfg      Config
	readOnly bool
	// positions: a read-only queue whose tailers may have names.
	positions bool
	lock      io.Closer
	recovery  *Recovery

	last    atomic.Uint64 // Index published
	durable atomic.Uint64 // Index flushed
	failed  atomic.Pointer[FlushError]
	closed  atomic.Bool

	w     writer
	flush flusher
	prep  preparer
	// releasing is held while cycles are deleted, one after the other.
	releasing sync.Mutex
	// touching is held by the helper while it flushes what it has touched.
	touching sync.Mutex

	set struct {
		sync.RWMutex
		segs  map[uint32]*segment
		first uint32 // lowest cycle kept; 0: none
		top   uint32 // highest cycle
	}

	opened struct { // cycles opened for readers, in that order
		sync.Mutex
		list []*segment
	}

	waiting tailWaiters
	reader  follower // what a read-only queue has seen of the end
	teller  fileTeller

	kick    chan struct{} // wakes the helper; one slot: a kick is never lost and never queued twice
	tending chan struct{} // wakes tend; the same
	quit    chan struct{}
	owned   sync.WaitGroup
	ending  sync.Once
}

// Open opens the queue in dir for appending, made if it is missing, and takes
// its lock: *LockedError names the holder when there is one already. It first
// recovers: entries behind the first one that is not whole are set aside (see
// Recovered), unless that one was known to be flushed, which is a
// *CorruptError and changes nothing.
func Open(dir string, cfg Config) (*Queue, error) {
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("open queue %s: %w", dir, err)
	}
	q := newQueue(dir, cfg)
	d, err := openDir(cfg.FS, dir, true, cfg.AnyFileSystem)
	if err != nil {
		return nil, fmt.Errorf("open queue %s: %w", dir, err)
	}
	q.dir = d
	if err := q.openForAppend(); err != nil {
		q.closed.Store(true)
		q.releaseOwn()
		q.dropAll()
		if q.lock != nil {
			err = errors.Join(err, q.lock.Close())
		}
		return nil, errors.Join(fmt.Errorf("open queue %s: %w", dir, err), d.Close())
	}
	q.owned.Go(q.help)
	q.owned.Go(q.flushBehind)
	if _, ok := q.w.seg.mu.file.(sleeper); ok {
		q.owned.Go(q.announce)
	}
	if cfg.RollEvery > 0 || cfg.Retain != (Retention{}) {
		q.owned.Go(q.tend)
	}
	if cfg.OnFile != nil {
		q.owned.Go(q.tellFiles)
	}
	q.kickHelper()
	return q, nil
}

// OpenReadOnly opens the queue in dir, which must exist, for reading. It writes
// nothing and takes no lock: any number of processes may do so while another
// one appends. What lies behind a torn tail is not seen; nothing is repaired.
func OpenReadOnly(dir string, cfg Config) (*Queue, error) { return openReader(dir, cfg, false) }

// OpenReader is OpenReadOnly for a process whose tailers have names: their
// positions (see OpenPosition) are the only files that it writes.
func OpenReader(dir string, cfg Config) (*Queue, error) { return openReader(dir, cfg, true) }

func openReader(dir string, cfg Config, positions bool) (*Queue, error) {
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("open queue %s: %w", dir, err)
	}
	q := newQueue(dir, cfg)
	q.readOnly, q.positions = true, positions
	d, err := openDir(cfg.FS, dir, false, cfg.AnyFileSystem)
	if err != nil {
		return nil, fmt.Errorf("open queue %s: %w", dir, err)
	}
	q.dir = d
	if err := q.rescan(); err != nil {
		return nil, errors.Join(fmt.Errorf("open queue %s: %w", dir, err), d.Close())
	}
	if cfg.OnFile != nil {
		q.owned.Go(q.tellFiles)
	}
	return q, nil
}

func newQueue(dir string, cfg Config) *Queue {
	q := &Queue{path: dir, cfg: cfg, kick: make(chan struct{}, 1), tending: make(chan struct{}, 1), quit: make(chan struct{})}
	q.teller.kick = make(chan struct{}, 1)
	q.set.segs = make(map[uint32]*segment)
	q.w.maxEntry = MaxEntry(cfg.CycleBytes)
	return q
}

func (q *Queue) openForAppend() error {
	lock, err := lockQueue(q.dir, q.path, q.cfg.Now())
	if err != nil {
		return err
	}
	q.lock = lock
	return q.recover()
}

// lockQueue takes the lock of whoever appends.
func lockQueue(dir Dir, path string, now time.Time) (io.Closer, error) {
	return takeLock(dir, lockName, path, now)
}

// takeLock takes a lock; what names the thing that is locked in the error.
func takeLock(dir Dir, name, what string, now time.Time) (io.Closer, error) {
	holder, err := json.Marshal(self(now))
	if err != nil {
		return nil, fmt.Errorf("describe holder: %w", err)
	}
	lock, heldBy, err := dir.Lock(name, holder)
	if err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	if lock == nil {
		return nil, &LockedError{Dir: what, Holder: parseHolder(heldBy)}
	}
	return lock, nil
}

func self(now time.Time) Holder {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown host"
	}
	return Holder{PID: os.Getpid(), Host: host, Command: strings.Join(os.Args, " "), Since: now.Truncate(time.Millisecond)}
}

func parseHolder(b []byte) Holder {
	var h Holder
	if err := json.Unmarshal(b, &h); err != nil {
		return Holder{} // read while it is being written
	}
	return h
}

// Dir is the directory of the queue, as it was given.
func (q *Queue) Dir() string { return q.path }

// Recovered tells what Open set aside, nil when the queue was whole.
func (q *Queue) Recovered() *Recovery { return q.recovery }

// Last is the index of the last entry that readers may see, 0 when there is
// none. On a queue that is open for reading it looks at the files.
func (q *Queue) Last() Index {
	if q.readOnly {
		return q.reader.last(q)
	}
	return Index(q.last.Load())
}

// Durable is the index of the last entry known to be flushed, 0 when there is
// none, and always 0 on a queue that is open for reading, which cannot know.
func (q *Queue) Durable() Index { return Index(q.durable.Load()) }

// Err is the reason why the queue takes no more entries: a *FlushError,
// ErrClosed, or nil while it goes on. A full disk is no such reason.
func (q *Queue) Err() error {
	if f := q.failed.Load(); f != nil {
		return f
	}
	if q.closed.Load() {
		return ErrClosed
	}
	return nil
}

// refusal is why nothing may be appended now, nil if it may. The writer is
// locked.
func (q *Queue) refusal() error {
	if err := q.Err(); err != nil {
		return err
	}
	if q.w.barred != "" {
		return &BarredError{Reason: q.w.barred}
	}
	return nil
}

// Close flushes what was appended, notes the place to start from, and gives the
// lock back. Appends that wait for an open slot fail with ErrClosed, and so
// does everything later. It returns the *FlushError if a flush failed, now
// or before. Slices got from tailers and slots stay readable.
func (q *Queue) Close() error {
	err := ErrClosed
	q.ending.Do(func() { err = q.close() })
	return err
}

func (q *Queue) close() error {
	if q.readOnly {
		q.closed.Store(true)
		close(q.quit)
		q.owned.Wait()
		q.dropAll()
		q.tellNoted()
		return q.dir.Close()
	}
	q.w.Lock()
	q.closed.Store(true)
	q.failPending()
	q.w.Unlock()
	close(q.quit)
	q.owned.Wait()
	q.sealReady()
	err := q.leadLast()
	if err == nil {
		q.stampClosed()
	}
	q.prep.mu.Lock()
	q.prep.discard(q)
	q.prep.mu.Unlock()
	q.waiting.wake()
	q.releaseOwn()
	q.dropAll()
	q.tellNoted()
	return errors.Join(err, q.lock.Close(), q.dir.Close())
}

// releaseOwn gives up the appender's hold on its cycles.
func (q *Queue) releaseOwn() {
	for _, s := range q.w.own {
		q.release(s)
	}
	q.w.own = nil
}

// dropAll lets go of all files; those in use go with their last user.
func (q *Queue) dropAll() {
	q.set.Lock()
	defer q.set.Unlock()
	for _, s := range q.set.segs {
		q.letGo(s)
	}
}

func (q *Queue) filePath(name string) string { return filepath.Join(q.path, name) }

// warn logs a failure that costs speed or space but no entry.
func (q *Queue) warn(what, name string, err error) {
	if err != nil {
		q.cfg.Logger.Warn("queue: "+what+" failed", "path", q.filePath(name), "error", err)
	}
}
