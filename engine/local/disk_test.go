package local

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/queue"
)

// faults are what a disk can do.
type faults struct {
	queue.FS
	full  atomic.Bool // no space for a new cycle
	flush atomic.Bool // flushes fail
	store atomic.Pointer[func(errorfs.Op) error]
}

func (f *faults) OpenDir(path string, create bool) (queue.Dir, error) {
	d, err := f.FS.OpenDir(path, create)
	return faultyDir{d, f}, err
}

type faultyDir struct {
	queue.Dir
	f *faults
}

func (d faultyDir) Create(name string) (queue.File, error) {
	x, err := d.Dir.Create(name)
	return faultyFile{x, d.f}, err
}

func (d faultyDir) Open(name string, write bool) (queue.File, error) {
	x, err := d.Dir.Open(name, write)
	return faultyFile{x, d.f}, err
}

type faultyFile struct {
	queue.File
	f *faults
}

func (x faultyFile) Allocate(n int64) error {
	if x.f.full.Load() {
		return syscall.ENOSPC
	}
	return x.File.Allocate(n)
}

func (x faultyFile) Flush(m []byte, off, n int64) error {
	if x.f.flush.Load() {
		return syscall.EIO
	}
	return x.File.Flush(m, off, n)
}

func (f *faults) inject(op errorfs.Op) error {
	if fail := f.store.Load(); fail != nil {
		return (*fail)(op)
	}
	return nil
}

func newFaulty(t *testing.T, parameters string) (*world, *faults) {
	w, f := prepareWorld(t, parameters), &faults{FS: queue.OS()}
	w.alter = func(s *settings) { s.disk.Journal, s.inject = f, f.inject }
	w.recover("")
	t.Cleanup(func() { w.h.Close() })
	return w, f
}

func TestFullDiskRefusesAndRecovers(t *testing.T) {
	w, f := newFaulty(t, "durability=process&cycle=64KiB&checkpoint=1GiB")
	s, p := w.join("c", "A")
	f.full.Store(true)
	sent := 0
	var err error
	for err == nil {
		r := call(s, "A", "1")
		r.Payload = make([]byte, 1000)
		if _, err = s.Send(engine.Attempt{}, &engine.Effects{Requests: []*engine.Request{r}}); err == nil {
			sent++
		}
		if sent > 1000 {
			t.Fatal("the disk is never full")
		}
	}
	if engine.CodeOf(err) != engine.ErrUnavailable || !errors.Is(err, queue.ErrFull) {
		t.Fatalf("full: %v", err)
	}
	if n := len(p.delivered()); n != sent {
		t.Errorf("%d were delivered, %d recorded", n, sent)
	}
	f.full.Store(false)
	w.send(s, engine.Attempt{}, call(s, "A", "1"))
	w.crash()
}

func TestFailedFlushIsFinal(t *testing.T) {
	w, f := newFaulty(t, "durability=disk&cycle=64KiB")
	s, _ := w.join("c", "A")
	f.flush.Store(true)
	at := w.send(s, engine.Attempt{}, call(s, "A", "1"))
	err := s.Wait(t.Context(), at)
	if flush, ok := errors.AsType[*queue.FlushError](err); engine.CodeOf(err) != engine.ErrUnavailable || !ok {
		t.Fatalf("wait: %v, %v", err, flush)
	}
	<-s.Fenced()
	f.flush.Store(false)
	if _, err := s.Send(engine.Attempt{}, &engine.Effects{Requests: []*engine.Request{call(s, "A", "1")}}); engine.CodeOf(err) != engine.ErrUnavailable {
		t.Errorf("send: %v", err)
	}
	if err := w.h.Close(); err == nil {
		t.Error("closing says nothing of the failed flush")
	}
	w.recover("")
	w.join("c", "A")
}

func TestCheckpointOnAFullDiskIsPutOff(t *testing.T) {
	w, f := newFaulty(t, "durability=process&cycle=64KiB&checkpoint=1GiB")
	s, _ := w.join("c", "A")
	write := func(v string) {
		if err := s.Operator().Write(t.Context(), engine.Actor{Type: "A", ID: "1"}, []engine.Write{put("n", v), entry("m", "x", v)}); err != nil {
			t.Fatal(err)
		}
	}
	write("1")
	full := func(op errorfs.Op) error {
		if op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
			return syscall.ENOSPC
		}
		return nil
	}
	f.store.Store(&full)
	w.e.st.flushWait = 1
	if err := w.e.checkpoint(); err == nil {
		t.Fatal("a checkpoint without space")
	}
	write("2")
	f.store.Store(nil)
	w.crash()
	s, _ = w.join("c", "A")
	if v, _, err := s.Lookup(context.Background(), engine.Actor{Type: "A", ID: "1"}, put("n", "").Key); string(v) != "2" || err != nil {
		t.Errorf("%q %v", v, err)
	}
	if err := w.e.checkpoint(); err != nil {
		t.Fatal(err)
	}
	w.crash()
}

// The store ends a process that it cannot trust; here it ends the engine, and
// the journal has everything.
func TestFailedStoreFailsTheEngine(t *testing.T) {
	w, f := newFaulty(t, "durability=process&cycle=64KiB&checkpoint=1GiB")
	s, _ := w.join("c", "A")
	if err := s.Operator().Write(t.Context(), engine.Actor{Type: "A", ID: "1"}, []engine.Write{put("n", "1")}); err != nil {
		t.Fatal(err)
	}
	manifest := func(op errorfs.Op) error {
		if strings.Contains(op.Path, "MANIFEST") && op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
			return syscall.EIO
		}
		return nil
	}
	f.store.Store(&manifest)
	if err := w.e.checkpoint(); err == nil {
		t.Fatal("a checkpoint without a manifest")
	}
	<-s.Fenced()
	if _, err := w.h.Join(t.Context(), engine.Component{Name: "d"}, newProbe()); engine.CodeOf(err) != engine.ErrUnavailable {
		t.Errorf("join: %v", err)
	}
	f.store.Store(nil)
	w.h.Close()
	w.recover("")
	s, _ = w.join("c", "A")
	if v, _, err := s.Lookup(context.Background(), engine.Actor{Type: "A", ID: "1"}, put("n", "").Key); string(v) != "1" || err != nil {
		t.Errorf("%q %v", v, err)
	}
}
