package sim

import (
	"fmt"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/engine/local/memdisk"
	"github.com/pawl-go/pawl/engine/trace"
	"github.com/pawl-go/pawl/queue"
)

// Disk is a disk in memory, as one life of a process finds it. Its Crash gives
// what the next life finds: after the death of the process under queue.Process,
// mostly after a power cut under queue.Disk, in which what was not flushed may
// be lost block by block. The engine on the old disk is dead from then on.
type Disk = memdisk.Disk

// NewDisk makes an empty disk. The seed decides what its crashes take.
func NewDisk(seed uint64) *Disk { return memdisk.New(seed) }

// Options are what an engine is opened with.
type Options struct {
	engine.Options // App is needed
	// Durability is queue.Process (the default) or queue.Disk.
	Durability queue.Durability
}

// Open opens the engine whose data are on the disk, and lets [Fail] end its
// components. Who opens it closes it, also after a crash: a goroutine that
// still runs then would keep a bubble from ending.
func Open(d *Disk, o Options) (engine.Engine, error) {
	eng, err := d.Open(o.Durability, o.Options)
	if err != nil {
		return nil, err
	}
	return &opened{Engine: eng}, nil
}

// opened hides what an engine on a real disk can do besides, such as naming a
// directory.
type opened struct{ engine.Engine }

// failer is an engine that can declare a component failed.
type failer interface{ Fail(s engine.Session) error }

func (o *opened) Fail(s engine.Session) error { return Fail(o.Engine, s) }

// Trace implements trace.Source.
func (o *opened) Trace() trace.Recorder { return trace.Of(o.Engine) }

// Fail declares the component of a session failed, as if its process had died:
// its actors are placed anew, and what it still does is refused. The session is
// one that eng gave, or that an engine wrapped by [Watch] gave.
func Fail(eng engine.Engine, s engine.Session) error {
	f, ok := eng.(failer)
	if !ok {
		return fmt.Errorf("fail session %d: the engine cannot fail a component", s.Number())
	}
	return f.Fail(s)
}
