package queue

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/pawl-go/pawl/queue/memfs"
)

// TestNothingIsAllocated by an append, a batch, or a wait that leads its flush.
func TestNothingIsAllocated(t *testing.T) {
	q := mustOpen(t, t.TempDir(), Config{CycleBytes: 1 << 20, Logger: quiet(), FlushEvery: time.Hour})
	p := make([]byte, 128)
	batch := [][]byte{p, p, p}
	ctx := context.Background()
	for name, f := range map[string]func() error{
		"append": func() error { _, err := q.Append(p); return err },
		"batch":  func() error { _, err := q.AppendBatch(batch...); return err },
		"wait": func() error {
			i, err := q.Append(p)
			if err == nil {
				err = q.WaitDurable(ctx, i)
			}
			return err
		},
	} {
		if n := testing.AllocsPerRun(100, func() {
			if err := f(); err != nil {
				t.Error(err)
			}
		}); n != 0 {
			t.Errorf("%s allocates %v times", name, n)
		}
	}
}

// TestGroupCommitOnOneProcessor: 64 goroutines that append and wait share
// flushes even when only one can run.
func TestGroupCommitOnOneProcessor(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	fsys := memfs.New()
	q, err := Open("q", Config{CycleBytes: 256 << 10, FS: fsys, Logger: quiet(), Durability: Disk, FlushEvery: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	const workers, each = 64, 20
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for range each {
				i, err := q.Append(make([]byte, 100))
				if err == nil {
					err = q.WaitDurable(context.Background(), i)
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	syncs := fsys.Syncs()
	if syncs > workers*each/8 {
		t.Errorf("%d flushes for %d waits", syncs, workers*each)
	}
	mustClose(t, q)
}
