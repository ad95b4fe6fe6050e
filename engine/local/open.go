package local

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"sync"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/queue"
)

func init() { engine.Register("local", Open) }

// open engines of this process by directory.
var running struct {
	sync.Mutex
	engines map[string]*opening
}

// opening is an engine that is open or being opened.
type opening struct {
	ready chan struct{} // closed when e or err is set
	e     *Engine
	err   error
	refs  int           // who has it open; 0: it is being closed
	gone  chan struct{} // closed when it is
}

// Open opens the engine on a directory: local:./data, with parameters that the
// package comment lists. The directory is made if it is missing. Opened again
// in the same process it is the same engine, until the last Close.
//
// An error that matches *queue.LockedError names the process that has it open;
// a *queue.CorruptError says what to do.
func Open(ctx context.Context, u *url.URL, o engine.Options) (engine.Engine, error) {
	s, err := parseURL(u, o)
	if err != nil {
		return nil, fmt.Errorf("open engine %s: %w", u, err)
	}
	e, err := share(ctx, s)
	if err != nil {
		return nil, fmt.Errorf("open engine %s: %w", u, err)
	}
	return &handle{Engine: e, end: unshare}, nil
}

// handle is one opening of an engine. Closing it twice closes it once.
type handle struct {
	*Engine
	end  func(*Engine) error
	once sync.Once
}

// Close ends this opening; the last one ends the engine.
func (h *handle) Close() (err error) {
	h.once.Do(func() { err = h.end(h.Engine) })
	return err
}

// share opens the engine of a directory, or joins those who have it open.
func share(ctx context.Context, s *settings) (*Engine, error) {
	op, mine := claimOpening(s.dir)
	if mine {
		op.e, op.err = openEngine(ctx, s)
		close(op.ready)
	}
	<-op.ready
	err := op.err
	if err == nil && !mine {
		err = op.e.suits(s)
	}
	if err != nil {
		return nil, errors.Join(err, op.release(s.dir))
	}
	return op.e, nil
}

// claimOpening counts one more who has the directory open; mine is set for the
// one that has to open it. It waits for an engine that is being closed.
func claimOpening(dir string) (op *opening, mine bool) {
	running.Lock()
	defer running.Unlock()
	for {
		op = running.engines[dir]
		if op == nil || op.refs > 0 {
			break
		}
		gone := op.gone
		running.Unlock()
		<-gone
		running.Lock()
	}
	if mine = op == nil; mine {
		op = &opening{ready: make(chan struct{}), gone: make(chan struct{})}
		if running.engines == nil {
			running.engines = map[string]*opening{}
		}
		running.engines[dir] = op
	}
	op.refs++
	return op, mine
}

// release counts one less; the last one closes the engine.
func (op *opening) release(dir string) (err error) {
	running.Lock()
	op.refs--
	last := op.refs == 0
	running.Unlock()
	if !last {
		return nil
	}
	if op.err == nil {
		err = op.e.close()
	}
	running.Lock()
	delete(running.engines, dir)
	running.Unlock()
	close(op.gone)
	return err
}

func unshare(e *Engine) error {
	running.Lock()
	op := running.engines[e.set.dir]
	running.Unlock()
	if op == nil || op.e != e { // abandoned, by a test
		return nil
	}
	return op.release(e.set.dir)
}

// suits refuses a second opening that asks for something else.
func (e *Engine) suits(s *settings) error {
	switch {
	case s.durability != e.set.durability:
		return fmt.Errorf("%s is open in this process with durability %s, not %s", s.dir, e.set.durability, s.durability)
	case s.copies != e.set.copies:
		return fmt.Errorf("%s is open in this process with other parameters of replication", s.dir)
	case s.App != e.set.App:
		return fmt.Errorf("%s is open in this process for the application %q, not %q", s.dir, e.set.App, s.App)
	case s.Trace != nil && s.Trace != e.set.Trace, s.traceFile != "" && s.traceFile != e.set.traceFile:
		return fmt.Errorf("%s is open in this process with another trace, or none", s.dir)
	}
	return nil
}

// openEngine opens the directory and begins a new epoch.
func openEngine(ctx context.Context, s *settings) (*Engine, error) {
	e, err := recoverEngine(ctx, s)
	if err != nil {
		return nil, err
	}
	if err := e.run(ctx); err != nil {
		return nil, errors.Join(err, e.letGo())
	}
	return e, nil
}

// recoverEngine brings the flow back from the newest checkpoint and the journal
// behind it.
func recoverEngine(ctx context.Context, s *settings) (_ *Engine, err error) {
	if err := s.disk.Files.MkdirAll(s.dir, 0o700); err != nil {
		return nil, fmt.Errorf("make directory: %w", err)
	}
	e := &Engine{set: s, opened: s.Now(), alarm: make(chan struct{}, 1), quit: make(chan struct{})}
	e.saver.wake = make(chan struct{}, 1)
	defer func() {
		if err != nil {
			err = errors.Join(err, e.letGo())
		}
	}()
	if err := e.openJournal(ctx); err != nil {
		return nil, explain(err)
	}
	if e.trace, err = openTrace(s); err != nil {
		return nil, err
	}
	return e, e.recover(ctx)
}

// openJournal opens the journal, of this host alone or with its copies on others.
func (e *Engine) openJournal(ctx context.Context) error {
	s := e.set
	dir, cfg := filepath.Join(s.dir, "journal"), queue.Config{
		CycleBytes: s.cycleBytes, Durability: s.durability, Logger: s.Logger, FS: s.disk.Journal,
		OnRoll: func(queue.CycleInfo) { e.saver.due() }, // its index can be written, its mapping go
	}
	if !s.copies.on {
		q, err := queue.Open(dir, cfg)
		if err == nil {
			e.log = q
		}
		if err == nil && s.disk.Admit != nil {
			e.log = admitted{q, s.disk.Admit}
		}
		return err
	}
	c, err := openCopied(ctx, s, dir, cfg)
	if err == nil {
		e.log, e.copied = c, c
	}
	return err
}

// explain adds what to do to the errors of the journal.
func explain(err error) error {
	if _, locked := errors.AsType[*queue.LockedError](err); locked {
		return fmt.Errorf("%w; stop it, or connect to it instead of opening its data", err)
	}
	return err
}

// recover opens what stands beside the journal, and replays.
func (e *Engine) recover(ctx context.Context) (err error) {
	e.done = newCompletions(e.set.disk.Files, filepath.Join(e.set.dir, "journal-index"), e.saver.due)
	e.mu.f = newFlow(e.done)
	if e.st, err = openStore(e, newGuard(e.set)); err != nil {
		return err
	}
	marker, err := e.restore()
	if err != nil {
		return err
	}
	if err := e.loadCompleted(marker); err != nil {
		return err
	}
	if e.copied != nil {
		from := marker
		if marker, err = e.follow(ctx, marker); err != nil {
			return err
		}
		if e.trace != nil {
			if err := e.continueTrace(from); err != nil {
				return err
			}
		}
	}
	return e.replay(marker)
}

// run begins a new epoch: from here on components can join. A source that nobody hears
// waits for the epoch to count, for as long as ctx.
func (e *Engine) run(ctx context.Context) error {
	if e.trace != nil {
		e.traceOpen()
	}
	at, err := e.beginEpoch()
	if err != nil {
		return err
	}
	if err := e.commitWithin(ctx, at); err != nil {
		return err
	}
	if e.copied != nil {
		e.holdDeliveries()
		e.owned.Go(e.watchTenure)
		e.owned.Go(e.resumeDeliveries)
	}
	e.mu.f.wake = e.wakeClock
	e.owned.Go(e.keepTime)
	e.owned.Go(e.keepSaving)
	return nil
}

// replay applies the records behind a position.
func (e *Engine) replay(from engine.Position) error {
	if e.trace != nil {
		if err := e.trace.traceable(from); err != nil {
			return err
		}
	}
	if from != 0 {
		from++
	}
	t := e.log.NewTailer(queue.Index(from))
	defer t.Close()
	f := e.mu.f
	for {
		i, b, ok, err := t.TryNext()
		if err != nil {
			return fmt.Errorf("read journal: %w", err)
		}
		if !ok {
			break
		}
		if err := e.replayOne(b, engine.Position(i)); err != nil {
			return err
		}
	}
	if f.app != "" && f.app != e.set.App {
		return fmt.Errorf("the data belong to the application %q, not %q; name another directory", f.app, e.set.App)
	}
	e.last.Store(uint64(f.last))
	return nil
}

// replayOne applies a record.
func (e *Engine) replayOne(b []byte, at engine.Position) error {
	if e.trace != nil {
		if err := e.traceReplayed(b, at); err != nil {
			return err
		}
	}
	e.saver.bytes += int64(len(b)) + entryOverhead
	return e.mu.f.replayRecord(b, at)
}

// beginEpoch records that all sessions on record have failed, and a new epoch.
// A request may have begun only if a session hosted its type.
func (e *Engine) beginEpoch() (engine.Position, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	f := e.mu.f
	hosted := map[string]bool{}
	for _, s := range f.sessions {
		for _, t := range s.types {
			hosted[t] = true
		}
	}
	if len(hosted) > 0 {
		l := f.lose(func(p *pending) bool { return hosted[p.req.Actor.Type] }, false)
		l.when = e.opened
		if _, err := e.recordLosses(l); err != nil {
			return 0, err
		}
	}
	w := newEncoder()
	defer w.free()
	w.opened(f.epoch+1, e.set.App)
	at, err := e.append(w)
	if err != nil {
		return 0, err
	}
	f.epoch++
	f.app = e.set.App
	clear(f.sessions)
	e.applied(at)
	f.strand()
	return at, nil
}

// close ends the engine.
func (e *Engine) close() error {
	if ok := e.stop(); ok {
		e.lastCheckpoint()
	}
	return e.letGo()
}

// stop fences the sessions that are still joined and ends the helpers. It
// reports whether the engine was sound.
func (e *Engine) stop() bool {
	e.mu.Lock()
	e.mu.closing = true
	for _, m := range e.mu.members {
		e.mu.f.expel(m)
		close(m.fenced)
	}
	e.mu.members = nil
	sound := e.mu.failed == nil
	e.mu.Unlock()
	close(e.quit)
	if e.copied != nil {
		e.copied.hurry()
	}
	e.owned.Wait()
	e.reads.Wait()
	return sound
}

// letGo closes what is open.
func (e *Engine) letGo() (err error) {
	if e.st != nil {
		err = e.st.close()
	}
	if e.done != nil {
		err = errors.Join(err, e.done.close())
	}
	if e.log != nil {
		err = errors.Join(err, e.log.Close())
	}
	if e.trace != nil {
		err = errors.Join(err, e.trace.close())
	}
	return err
}
