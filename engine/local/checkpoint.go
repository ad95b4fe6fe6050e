package local

import (
	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/queue"
)

// entryOverhead is about what an entry of the journal takes beside its record.
const entryOverhead = 16

// saver makes checkpoints.
type saver struct {
	bytes int64 // of journal since the last; guarded by mu
	wake  chan struct{}
}

func (v *saver) due() {}

func (e *Engine) keepSaving()                       { <-e.quit }
func (e *Engine) lastCheckpoint()                   {}
func (e *Engine) rolled(queue.CycleInfo)            {}
func (e *Engine) restore() (engine.Position, error) { return 0, nil }
