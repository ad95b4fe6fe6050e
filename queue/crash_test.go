package queue

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pawl-go/pawl/queue/memfs"
)

// rounds is how often a random test runs: n, or what the environment asks for.
func rounds(t testing.TB, n int) int {
	if v := os.Getenv("PAWL_QUEUE_ROUNDS"); v != "" {
		k, err := strconv.Atoi(v)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	return n
}

// model is what a test knows of a queue: everything appended, in order, and how
// much of it is acknowledged as durable.
type model struct {
	is      []Index
	ps      []string
	batch   []int // entries of the batch that this one ends, or 0 inside one
	durable int   // entries
	serial  int
}

func (m *model) step(r *rand.Rand, q *Queue) error {
	payload := func() []byte {
		m.serial++
		n := r.IntN(300)
		if r.IntN(10) == 0 {
			n = r.IntN(MaxEntry(q.cfg.CycleBytes) + 1)
		}
		b := fmt.Appendf(nil, "%d:", m.serial)
		for len(b) < n {
			b = append(b, byte(r.Uint32()))
		}
		return b[:min(len(b), MaxEntry(q.cfg.CycleBytes))]
	}
	note := func(first Index, ps ...[]byte) {
		for k, p := range ps {
			m.is, m.ps = append(m.is, first+Index(k)), append(m.ps, string(p))
			size := 0
			if k == len(ps)-1 {
				size = len(ps)
			}
			m.batch = append(m.batch, size)
		}
	}
	switch r.IntN(12) {
	case 0:
		last := q.Last()
		if err := q.WaitDurable(context.Background(), last); err != nil {
			return err
		}
		m.durable = len(m.is)
	case 1:
		var ps [][]byte
		for range 2 + r.IntN(5) {
			p := payload()
			ps = append(ps, p[:min(len(p), 500)])
		}
		first, err := q.AppendBatch(ps...)
		if err != nil {
			return err
		}
		note(first, ps...)
	case 2:
		s, err := q.Reserve(10)
		if err != nil {
			return err
		}
		if r.IntN(2) == 0 {
			copy(s.Bytes(), "abandoned")
			s.Abandon()
			return nil
		}
		copy(s.Bytes(), "0123456789")
		p := append([]byte(nil), s.Bytes()...)
		i, err := s.Commit()
		if err != nil {
			return err
		}
		note(i, p)
	case 3:
		if r.IntN(3) == 0 {
			return q.Roll()
		}
		_, err := q.AppendNote(payload()[:2])
		return err
	default:
		p := payload()
		i, err := q.Append(p)
		if err != nil {
			return err
		}
		note(i, p)
	}
	return nil
}

// check compares a reopened queue with the model and cuts the model to it.
func (m *model) check(q *Queue) error {
	t := q.NewTailer(0)
	defer t.Close()
	n := 0
	for {
		i, p, ok, err := t.TryNext()
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		if n >= len(m.is) {
			return fmt.Errorf("entry %s was never appended", i)
		}
		if i != m.is[n] || string(p) != m.ps[n] {
			return fmt.Errorf("entry %d is %s with %d bytes, want %s with %d", n, i, len(p), m.is[n], len(m.ps[n]))
		}
		n++
	}
	if n < m.durable {
		return fmt.Errorf("%d entries, but %d were acknowledged", n, m.durable)
	}
	if n > 0 && m.batch[n-1] == 0 {
		return fmt.Errorf("%d entries end inside a batch", n)
	}
	m.is, m.ps, m.batch, m.durable = m.is[:n], m.ps[:n], m.batch[:n], n
	return nil
}

// TestPowerCut crashes a file system that loses unflushed blocks, over and over,
// sometimes in the middle of a recovery.
func TestPowerCut(t *testing.T) {
	for range rounds(t, 30) {
		seed := rand.Uint64()
		if err := powerCut(seed); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

func powerCut(seed uint64) error {
	r := rand.New(rand.NewPCG(seed, 1))
	fsys := memfs.New()
	var m model
	for life := range 6 {
		cfg := Config{
			CycleBytes: 8 << 10 << r.IntN(3), FS: fsys, Logger: quiet(),
			Durability: Durability(r.IntN(2)), FlushEvery: time.Hour,
		}
		q, err := Open("q", cfg)
		if err != nil {
			return fmt.Errorf("life %d: %w", life, err)
		}
		if err := m.check(q); err != nil {
			return fmt.Errorf("life %d: %w", life, err)
		}
		for range r.IntN(120) {
			if err := m.step(r, q); err != nil {
				return fmt.Errorf("life %d: %w", life, err)
			}
		}
		next := fsys.Crash(r) // the helper may still be at work: that is the point
		if r.IntN(4) == 0 {
			if err := q.Close(); err != nil {
				return fmt.Errorf("life %d: %w", life, err)
			}
			m.durable = len(m.is)
			next = fsys.Crash(r)
		} else {
			_ = q.Close() // of the world that is gone
		}
		fsys = next
		if r.IntN(3) == 0 { // a crash in the middle of the recovery
			left := r.IntN(8)
			fsys.FailSync(func(string) error {
				if left--; left < 0 {
					return errDisk
				}
				return nil
			})
			q, err := Open("q", cfg1(cfg, fsys))
			next := fsys.Crash(r)
			if err == nil {
				_ = q.Close()
			} else if !errors.Is(err, errDisk) {
				return fmt.Errorf("life %d: recovery: %w", life, err)
			}
			fsys = next
		}
	}
	return nil
}

func cfg1(cfg Config, fsys FS) Config { cfg.FS = fsys; return cfg }

// TestFailedFlushIsFinal: a flush that failed once is never retried, although
// the disk would say yes the next time.
func TestFailedFlushIsFinal(t *testing.T) {
	fsys := memfs.New()
	q, err := Open("q", Config{CycleBytes: 8 << 10, FS: fsys, Logger: quiet(), Durability: Disk, FlushEvery: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	good := mustAppend(t, q, "good")
	if err := q.WaitDurable(t.Context(), good); err != nil {
		t.Fatal(err)
	}
	bad := mustAppend(t, q, "bad")
	once := true
	fsys.FailSync(func(name string) error {
		// Not that of the next cycle, which the helper makes meanwhile.
		if once && strings.HasPrefix(name, cycleName(1)) {
			once = false
			return errDisk
		}
		return nil
	})
	var flushErr *FlushError
	const waiters = 8
	errs := make(chan error, waiters)
	for range waiters {
		go func() { errs <- q.WaitDurable(context.Background(), bad) }()
	}
	for range waiters {
		if err := <-errs; !errors.As(err, &flushErr) || !errors.Is(err, errDisk) {
			t.Fatalf("waiter got %v", err)
		}
	}
	if flushErr.Durable != good {
		t.Fatalf("Durable %s in the error, want %s", flushErr.Durable, good)
	}
	if _, err := q.Append([]byte("x")); !errors.As(err, &flushErr) {
		t.Fatalf("Append after a failed flush: %v", err)
	}
	if err := q.WaitDurable(t.Context(), good); !errors.As(err, &flushErr) {
		t.Fatalf("WaitDurable after a failed flush: %v", err)
	}
	if q.Durable() != good || !errors.As(q.Err(), &flushErr) {
		t.Fatalf("Durable %s, Err %v", q.Durable(), q.Err())
	}
	if p, err := q.Read(good); err != nil || string(p) != "good" {
		t.Fatalf("Read after a failed flush: %q, %v", p, err)
	}
	if err := q.Close(); !errors.As(err, &flushErr) {
		t.Fatalf("Close after a failed flush: %v", err)
	}
}

// TestFailedFlushOfTheHelperIsFinal: the kernel may tell the helper, which is
// flushing what it touched ahead, of an entry that could not be written, and
// the leader's own flush nothing. The leader must not report that entry as down.
func TestFailedFlushOfTheHelperIsFinal(t *testing.T) {
	fsys := memfs.New()
	q, err := Open("q", Config{CycleBytes: 8 << 10, FS: fsys, Logger: quiet(), Durability: Disk, FlushEvery: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	good := mustAppend(t, q, "good")
	if err := q.WaitDurable(t.Context(), good); err != nil {
		t.Fatal(err)
	}
	bad := mustAppend(t, q, "bad")
	flushed := make(chan struct{}, 8)
	fsys.FailSync(func(name string) error {
		if strings.HasPrefix(name, cycleName(1)) {
			flushed <- struct{}{}
		}
		return nil
	})
	q.touching.Lock() // the helper is at it
	waited := make(chan error, 1)
	go func() { waited <- q.WaitDurable(context.Background(), bad) }()
	<-flushed // the leader's own flush goes well
	failed := q.fail(cycleName(1), errDisk)
	q.touching.Unlock()
	if err := <-waited; !errors.Is(err, errDisk) {
		t.Errorf("the waiter got %v, want %v", err, failed)
	}
	if q.Durable() != good {
		t.Errorf("Durable is %s, want %s", q.Durable(), good)
	}
	if err := q.Close(); !errors.Is(err, errDisk) {
		t.Errorf("Close: %v", err)
	}
}

// TestFullDiskIsAnErrorOfAppend: nothing is harmed and a later append succeeds.
func TestFullDiskIsAnErrorOfAppend(t *testing.T) {
	fsys := memfs.New()
	cfg := Config{CycleBytes: 8 << 10, FS: fsys, Logger: quiet()}
	q, err := Open("q", cfg)
	if err != nil {
		t.Fatal(err)
	}
	fsys.SetRoom(10 << 10) // one more cycle
	var kept []Index
	for {
		i, err := q.Append(make([]byte, 1000))
		if full, ok := errors.AsType[*FullError](err); ok {
			if !errors.Is(err, ErrFull) || full.Need != cfg.CycleBytes {
				t.Fatalf("error %v", err)
			}
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		kept = append(kept, i)
	}
	for range 3 {
		if _, err := q.Append(make([]byte, 4000)); !errors.Is(err, ErrFull) {
			t.Fatalf("append on a full disk: %v", err)
		}
	}
	if q.Err() != nil {
		t.Fatalf("Err %v after a full disk", q.Err())
	}
	fsys.SetRoom(1 << 20)
	kept = append(kept, mustAppend(t, q, string(make([]byte, 4000))))
	if is, _ := all(t, q, 0); len(is) != len(kept) {
		t.Fatalf("%d entries, want %d", len(is), len(kept))
	}
	mustClose(t, q)
}
