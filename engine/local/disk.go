package local

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/queue"
)

// Disk is what an engine stands on. Open uses that of the operating system;
// package memdisk has one in memory that crashes, for simulations.
type Disk struct {
	Journal queue.FS // the journal: it is mapped, so it has a seam of its own
	Files   vfs.FS   // all else: the store and the index of the journal

	// Sizes of the store, in bytes: what it gathers before it writes, its cache,
	// and what is held back on the disk and given up when that is full, so that
	// a write of the store's that must not fail has room.
	Buffer, Cache, Ballast int64

	// Admit is asked before each record, with no room taken yet: its error is that
	// of the record's append. Nil admits all. A simulation fills the disk with it at
	// any record, which a journal that takes room by the cycle does at few.
	Admit func() error
}

// admitted is a journal that asks before each record.
type admitted struct {
	journal
	admit func() error
}

// Append implements journal.
func (a admitted) Append(p []byte) (queue.Index, error) {
	if err := a.admit(); err != nil {
		return 0, err
	}
	return a.journal.Append(p)
}

func osDisk() Disk {
	return Disk{Journal: queue.OS(), Files: vfs.Default, Buffer: 4 << 20, Cache: 8 << 20, Ballast: 8 << 20}
}

// OpenOn opens the engine in a directory of another disk than the operating
// system's. The URL and the errors are those of [Open]; opened again while it
// is open it is refused, by the lock of the journal.
func OpenOn(d Disk, u *url.URL, o engine.Options) (engine.Engine, error) {
	s, err := parseURL(u, o)
	if err != nil {
		return nil, fmt.Errorf("open engine %s: %w", u, err)
	}
	s.disk = d
	e, err := openEngine(context.Background(), s)
	if err != nil {
		return nil, fmt.Errorf("open engine %s: %w", u, err)
	}
	return &handle{Engine: e, end: (*Engine).close}, nil
}

var errDied = errors.New("the process has died, in a simulation")

// Die ends the engine as the death of its process would. Snapshot is called at
// the moment of the death, with the engine locked: it takes what the disk has
// then. Nothing is recorded from then on, and every session is fenced; what is
// in memory is left, and Close still has to be called to end the helpers.
func (e *Engine) Die(snapshot func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	snapshot()
	e.fail(errDied)
}
