package local

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

const (
	ballastName = "ballast"
	// leastRoom is free space without which no checkpoint is begun.
	leastRoom = 16 << 20
)

// guard stands between the store and the file system. The store ends the
// process when it cannot write what it must; here it fails the engine, and from
// then on nothing is written, renamed or removed any more.
type guard struct {
	inner    vfs.FS
	dir      string
	reserve  int64 // size of the ballast
	poisoned atomic.Bool
	full     atomic.Bool // the ballast was given up
	inject   func(errorfs.Op) error
}

func newGuard(s *settings) *guard {
	return &guard{inner: s.disk.Files, dir: s.disk.Files.PathJoin(s.dir, "state"), reserve: s.disk.Ballast, inject: s.inject}
}

var errPoisoned = errors.New("the store has failed, nothing is written any more")

// MaybeError implements errorfs.Injector.
func (g *guard) MaybeError(op errorfs.Op) error {
	if g.poisoned.Load() && op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
		return errPoisoned
	}
	if g.inject != nil {
		return g.inject(op)
	}
	return nil
}

func (g *guard) String() string { return "guard" }

func (g *guard) fs() vfs.FS {
	return errorfs.Wrap(vfs.OnDiskFull(g.inner, g.giveUpBallast), g)
}

func (g *guard) ballast() string { return g.inner.PathJoin(g.dir, ballastName) }

func (g *guard) giveUpBallast() {
	g.full.Store(true)
	_ = g.inner.Remove(g.ballast()) // if it is gone there is nothing to give up
}

// roomFor reports whether there is room for a checkpoint of n bytes at most,
// and holds space back again after it was given up.
func (g *guard) roomFor(n int64) error {
	du, err := g.inner.GetDiskUsage(g.dir)
	if err != nil {
		return fmt.Errorf("look for space: %w", err)
	}
	if need := uint64(max(leastRoom, n)); du.AvailBytes < need {
		return fmt.Errorf("the disk is almost full: %d bytes are free, a checkpoint wants %d; free some space, the journal grows meanwhile", du.AvailBytes, need)
	}
	return g.holdBack()
}

// holdBack makes the ballast if it is not there: room for a write of the
// store's that must not fail.
func (g *guard) holdBack() error {
	if st, err := g.inner.Stat(g.ballast()); err == nil && st.Size() == g.reserve {
		return nil
	}
	f, err := g.inner.Create(g.ballast(), vfs.WriteCategoryUnspecified)
	if err != nil {
		return fmt.Errorf("hold space back: %w", err)
	}
	zeros := make([]byte, min(1<<20, g.reserve))
	for left := g.reserve; left > 0 && err == nil; left -= int64(len(zeros)) {
		_, err = f.Write(zeros[:min(left, int64(len(zeros)))])
	}
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		g.giveUpBallast()
		return fmt.Errorf("hold space back: %w", err)
	}
	g.full.Store(false)
	return nil
}

// storeLogger hands on what the store complains about.
type storeLogger struct {
	e *Engine
	g *guard
}

// Infof implements pebble.Logger.
func (storeLogger) Infof(string, ...any) {}

// Errorf implements pebble.Logger.
func (l storeLogger) Errorf(format string, args ...any) {
	l.e.set.Logger.Warn("local engine: state: " + strings.TrimSpace(fmt.Sprintf(format, args...)))
}

// Fatalf implements pebble.Logger: it fails the engine, not the process. It may
// be called with any lock held.
func (l storeLogger) Fatalf(format string, args ...any) {
	err := fmt.Errorf("state: %s", strings.TrimSpace(fmt.Sprintf(format, args...)))
	l.g.poisoned.Store(true)
	go l.e.failLater(err)
}

// storeOptions are small: the state of live actors is in memory anyway, and
// what the journal holds is written in large sorted batches.
func storeOptions(e *Engine, g *guard) *pebble.Options {
	return &pebble.Options{
		FS:                 g.fs(),
		DisableWAL:         true,
		FormatMajorVersion: pebble.FormatNewest,
		MemTableSize:       uint64(e.set.disk.Buffer),
		CacheSize:          e.set.disk.Cache,
		Logger:             storeLogger{e, g},
	}
}
