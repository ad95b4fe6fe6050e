package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/pawl-go/pawl/examples/histories/history"
	"github.com/pawl-go/pawl/examples/internal/crash"
)

// lives is the server: one process after another, each but the last ended by
// kill -9.
type lives struct {
	job      crash.Job
	kills    int             // so many at most
	due      <-chan struct{} // brings the moments of kills
	rand     *rand.Rand      // run's own
	recorder *history.Recorder

	killed, early int // of the kills, those while it opened; read when run is over

	mu   sync.Mutex
	last *life         // before the first: number 0
	born chan struct{} // closed when there is a newer life than last
}

// life is one process that is ready, or was.
type life struct {
	number int
	door   *door
}

// after waits for a life that is newer than number.
func (l *lives) after(ctx context.Context, number int) (*life, error) {
	for {
		l.mu.Lock()
		last, born := l.last, l.born
		l.mu.Unlock()
		if last.number > number {
			return last, nil
		}
		select {
		case <-born:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// ready makes a new process known.
func (l *lives) ready(number int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.last.door != nil {
		l.last.door.close()
	}
	l.last = &life{number: number, door: newDoor(filepath.Join(l.job.Dir, "pawl.sock"))}
	close(l.born)
	l.born = make(chan struct{})
}

// run starts process after process until ctx ends, by which the last is killed.
func (l *lives) run(ctx context.Context) error {
	for number := 1; ctx.Err() == nil; number++ {
		if err := l.live(ctx, number); err != nil {
			return fmt.Errorf("life %d: %w", number, err)
		}
	}
	return nil
}

// live runs one process to its kill. It fails if that ends by itself, or the race
// detector has found something in it.
func (l *lives) live(ctx context.Context, number int) error {
	process, err := crash.Start(context.WithoutCancel(ctx), l.job)
	if err != nil {
		return err
	}
	l.recorder.Event(fmt.Sprintf("started %d", number))
	killed, err := l.follow(ctx, number, process)
	for range process.Events { // Wait wants them read
	}
	ended := process.Wait()
	switch {
	case err != nil:
		return errors.Join(err, ended)
	case !killed:
		return errors.Join(errors.New("the process ended by itself"), ended)
	case ended != nil && strings.Contains(ended.Error(), "WARNING: DATA RACE"):
		return ended
	case errors.Is(context.Cause(ctx), errPatience):
		return ended // with the stacks of its goroutines
	}
	return nil
}

// follow waits for the moment of the kill, and kills.
func (l *lives) follow(ctx context.Context, number int, process *crash.Life) (killed bool, err error) {
	fuse := l.earlyFuse()
	early := fuse != nil
	var due <-chan struct{}
	for {
		select {
		case e, ok := <-process.Events:
			if !ok {
				return false, nil
			}
			if e.Kind != "ready" {
				continue
			}
			l.ready(number)
			l.recorder.Event(fmt.Sprintf("ready %d", number))
			if due = l.due; early {
				fuse, early = nil, false
			}
		case <-due:
			due, fuse = nil, time.After(l.draw(5*time.Millisecond))
		case <-fuse:
			if l.killed++; early {
				l.early++
			}
			l.recorder.Event(fmt.Sprintf("killed %d", number))
			return true, process.Kill()
		case <-ctx.Done():
			if errors.Is(context.Cause(ctx), errPatience) {
				process.Dump(5 * time.Second)
				return true, nil
			}
			return true, process.Kill()
		}
	}
}

// earlyFuse draws whether a process is killed while it opens, and when.
func (l *lives) earlyFuse() <-chan time.Time {
	if l.killed == 0 || l.killed >= l.kills || l.rand.Float64() >= 0.15 {
		return nil
	}
	return time.After(l.draw(60 * time.Millisecond))
}

func (l *lives) draw(most time.Duration) time.Duration {
	return time.Duration(l.rand.Int64N(int64(most)))
}
