// Package memdisk is a disk in memory for a local engine: one that crashes, as
// the process does that uses it or as its host does. It is what simulations of
// the engine, and tests of what stands on it, run on.
//
//	d := memdisk.New(seed)
//	eng, err := d.Open(queue.Disk, engine.Options{App: "bank"})
//	...
//	next := d.Crash()              // eng is dead; what it still does goes nowhere
//	eng2, err := next.Open(queue.Disk, engine.Options{App: "bank"})
//
// The journal lies in queue/memfs, the store and the index files in pebble's
// own file system in memory. Everything is small (cycles, buffers, checkpoints),
// so that short runs roll, write and drop files too.
package memdisk

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/engine/local"
	"github.com/pawl-go/pawl/engine/trace"
	"github.com/pawl-go/pawl/queue"
	"github.com/pawl-go/pawl/queue/memfs"
)

// Disk is a disk as one life of a process finds it. All methods are safe for
// concurrent use.
type Disk struct {
	seed    uint64
	journal *memfs.FS
	files   *vfs.MemFS
	full    atomic.Bool

	mu struct {
		sync.Mutex
		eng        mortal // open on it; nil if none
		durability queue.Durability
		life       *trace.Life // what the engine is traced by, if that ends with the process
	}
}

// mortal is what a local engine can do besides.
type mortal interface {
	engine.Engine
	Die(snapshot func())
}

// New makes an empty disk. The seed decides what its crashes take.
func New(seed uint64) *Disk {
	return &Disk{seed: seed, journal: memfs.New(), files: vfs.NewCrashableMem()}
}

const (
	cycleBytes      = 32 << 10
	checkpointBytes = 8 << 10
	bufferBytes     = 64 << 10
	cacheBytes      = 64 << 10
	ballastBytes    = 4 << 10
)

// Open opens the engine whose data are on the disk. One can be open on a disk
// at a time; who opens it closes it, also after a crash. Only the durabilities
// Process and Disk are those of an engine.
//
// If o.Trace is a *trace.Life it ends with the crash of the disk, and an engine
// opened with one on a later disk records into the life that follows.
func (d *Disk) Open(durability queue.Durability, o engine.Options) (engine.Engine, error) {
	u := &url.URL{Scheme: "local", Path: "/data", RawQuery: fmt.Sprintf("durability=%v&cycle=%d&checkpoint=%d", durability, cycleBytes, checkpointBytes)}
	d.mu.Lock()
	defer d.mu.Unlock()
	if life, ok := o.Trace.(*trace.Life); ok {
		if d.mu.life == nil {
			d.mu.life = life
		}
		o.Trace = d.mu.life
	}
	eng, err := local.OpenOn(local.Disk{
		Journal: d.journal, Files: roomy{d.files},
		Buffer: bufferBytes, Cache: cacheBytes, Ballast: ballastBytes,
		Admit: d.admit,
	}, u, o)
	if err != nil {
		return nil, err
	}
	d.mu.eng, d.mu.durability = eng.(mortal), durability
	return eng, nil
}

// SetFull makes the disk one that has no room for a further record, or gives it
// room again: whatever the engine would record fails as on a full disk. What a
// crash leaves has room.
func (d *Disk) SetFull(full bool) { d.full.Store(full) }

func (d *Disk) admit() error {
	if d.full.Load() {
		return &queue.FullError{Path: "journal", Err: syscall.ENOSPC}
	}
	return nil
}

// Crash gives the disk as the next life finds it. Under queue.Process that is
// after the death of the process: whatever it handed over is there. Under
// queue.Disk it is, three times of four, after a power cut: what was not flushed
// may be lost, block by block.
//
// The engine that is open on d is dead from this moment on: it records nothing,
// its sessions are fenced, what it still writes goes nowhere. Its helpers should
// be at rest (as after synctest.Wait): the copy is of one moment for what is
// recorded, not for a checkpoint that drops cycles meanwhile.
func (d *Disk) Crash() *Disk {
	return d.end(func(r *rand.Rand) bool { return d.mu.durability == queue.Disk && r.IntN(4) > 0 })
}

// Kill is Crash, but the death of the process whatever the durability.
func (d *Disk) Kill() *Disk {
	return d.end(func(*rand.Rand) bool { return false })
}

func (d *Disk) end(powerCut func(*rand.Rand) bool) *Disk {
	d.mu.Lock()
	defer d.mu.Unlock()
	r := rand.New(rand.NewPCG(d.seed, 0))
	next := &Disk{seed: r.Uint64()}
	take := func() { d.take(next, r, powerCut(r)) }
	if life := d.mu.life; life != nil {
		inner := take
		take = func() { next.mu.life = life.Kill(inner) }
	}
	if d.mu.eng == nil {
		take()
	} else {
		d.mu.eng.Die(take)
	}
	d.journal.FailSync(func(string) error { return errDied })
	return next
}

var errDied = errors.New("the disk is that of a life that has ended")

// take copies what a crash leaves. The store comes first: it is never ahead of
// the journal.
func (d *Disk) take(next *Disk, r *rand.Rand, powerCut bool) {
	unsynced := vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: r}
	if !powerCut {
		next.files, next.journal = d.files.CrashClone(unsynced), d.journal.Kill()
		return
	}
	unsynced.UnsyncedDataPercent = r.IntN(101)
	journal := rand.New(rand.NewPCG(r.Uint64(), 0)) // what it loses is not up to the store
	next.files, next.journal = d.files.CrashClone(unsynced), d.journal.Crash(journal)
}

// roomy is a file system that knows how much room there is: enough.
type roomy struct{ vfs.FS }

func (roomy) GetDiskUsage(string) (vfs.DiskUsage, error) {
	const enough = 1 << 40
	return vfs.DiskUsage{AvailBytes: enough, TotalBytes: enough}, nil
}
