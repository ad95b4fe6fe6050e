package local

import (
	"context"
	"errors"
	"fmt"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/queue"
	"github.com/pawl-go/pawl/queue/replica"
)

// follow is the standby: it applies the records of the source, as they come to count,
// and makes checkpoints of its own, until this host is the source. What has counted is
// never taken back, so neither is anything of the state. It returns the last record
// applied; what lies behind it is then this host's own history.
func (e *Engine) follow(ctx context.Context, marker engine.Position) (engine.Position, error) {
	c := e.copied
	if e.set.copies.standby == "refuse" {
		if err := c.refuseIfSink(ctx); err != nil {
			return 0, err
		}
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	waited := make(chan struct{})
	var tenure *replica.Tenure
	go func() {
		defer close(waited)
		t, err := c.q.Tenure(ctx)
		tenure = t
		stop(errors.Join(err, errNowSource))
	}()
	err := e.applyUntil(ctx, marker)
	stop(err)
	<-waited
	if tenure == nil {
		return 0, unavailable(fmt.Errorf("stand by for the source: %w", err))
	}
	c.tenure = tenure
	if err := e.sameHistory(); err != nil {
		return 0, err
	}
	return max(marker, e.mu.f.last), nil
}

// sameHistory says whether the journal still has the record up to which the state of this
// host goes, as of its last checkpoint.
func (e *Engine) sameHistory() error {
	f := e.mu.f
	if e.copied == nil || f.history == "" || e.copied.q.EpochOf(queue.Index(f.saved)) == f.history {
		return nil
	}
	return unavailable(e.pastState(queue.ErrSetAside))
}

// pastState explains the end of a standby that has applied what is not in the journal any
// more.
func (e *Engine) pastState(err error) error {
	if !errors.Is(err, queue.ErrSetAside) {
		return err
	}
	return fmt.Errorf("%w: a take-over by force went past records that the state in %s holds, so that state is of no use: put the directory away and, while the source is stopped, copy its directory here, but for replica.promises in the journal",
		err, e.set.dir)
}

var errNowSource = errors.New("this host is the source")

// refuseIfSink waits until it is known who is the source.
func (c *copied) refuseIfSink(ctx context.Context) error {
	var sink bool
	var now replica.Stats
	err := c.q.WaitStats(ctx, func(s replica.Stats) bool {
		now, sink = s, s.Role == "sink" && s.Source != 0 && s.Source != s.Host
		return sink || s.Role == "source" && s.Locked == ""
	})
	if sink {
		return c.elsewhere(now)
	}
	if err != nil {
		return unavailable(err)
	}
	return nil
}

// applyUntil applies what counts until ctx ends.
func (e *Engine) applyUntil(ctx context.Context, marker engine.Position) error {
	from := queue.Index(marker)
	if from != 0 {
		from++
	}
	t := e.copied.q.NewTailer(from)
	defer t.Close()
	if err := e.sameHistory(); err != nil { // what is set aside later the tailer says
		return err
	}
	due := e.set.checkpointBytes
	for {
		i, b, err := t.Next(ctx)
		if err != nil {
			return e.pastState(err)
		}
		if err := e.replayOne(b, engine.Position(i)); err != nil {
			return err
		}
		if e.saver.bytes >= due {
			e.last.Store(uint64(i))
			due = e.set.checkpointBytes + e.saveStandby()
		}
	}
}

// saveStandby makes a checkpoint between two records, and returns the bytes of journal
// that it has left over: all, if it has failed.
func (e *Engine) saveStandby() int64 {
	e.copied.Unmap(queue.Index(e.mu.f.last))
	if err := errors.Join(e.done.seal(), e.checkpoint()); err != nil {
		e.set.Logger.Warn("local engine: checkpoint of the standby is put off", "dir", e.set.dir, "error", err)
	}
	return e.saver.bytes
}

// loadCompleted prepares the index of ended invocations. A standby may set aside what does
// not count at that very moment, for which the journal is closed and opened anew.
func (e *Engine) loadCompleted(marker engine.Position) error {
	for {
		err := e.done.load(e.log, marker)
		if e.copied == nil || !errors.Is(err, queue.ErrClosed) {
			return err
		}
		if err := e.done.close(); err != nil {
			return err
		}
	}
}
