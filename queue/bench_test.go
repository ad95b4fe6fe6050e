package queue

import (
	"context"
	"os"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// bareLog is the limit: a mapped, touched file, a length word and a copy.
type bareLog struct {
	mu  sync.Mutex
	f   *os.File
	m   []byte
	off int64
	crc uint32
	// group flush
	cond    *sync.Cond
	running bool
	flushed int64
}

func newBare(b testing.TB, size int64) *bareLog {
	l := newSparse(b, size)
	var page [pageSize]byte
	for off := int64(0); off < size; off += pageSize {
		if _, err := l.f.WriteAt(page[:], off); err != nil {
			b.Fatal(err)
		}
	}
	if err := l.f.Sync(); err != nil {
		b.Fatal(err)
	}
	for off := int64(0); off < size; off += pageSize {
		l.m[off] = 0
	}
	return l
}

func newSparse(b testing.TB, size int64) *bareLog {
	f, err := os.Create(b.TempDir() + "/bare")
	if err != nil {
		b.Fatal(err)
	}
	if err := unix.Fallocate(int(f.Fd()), 0, 0, size); err != nil {
		b.Fatal(err)
	}
	m, err := unix.Mmap(int(f.Fd()), 0, int(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		b.Fatal(err)
	}
	l := &bareLog{f: f, m: m}
	l.cond = sync.NewCond(&l.mu)
	b.Cleanup(l.close)
	return l
}

func (l *bareLog) close() {
	if l.m != nil {
		_ = unix.Munmap(l.m)
		_ = l.f.Close()
		_ = os.Remove(l.f.Name())
		l.m = nil
	}
}

func (l *bareLog) append(p []byte) int64 {
	l.mu.Lock()
	if l.off+int64(len(p))+8 > int64(len(l.m)) {
		l.off = 0
	}
	copy(l.m[l.off+8:], p)
	storeWord(l.m, l.off, uint64(len(p)))
	l.off += int64(len(p)+8+7) &^ 7
	off := l.off
	l.mu.Unlock()
	return off
}

func (l *bareLog) flush(from, to int64) error {
	from &^= pageSize - 1
	return unix.Msync(l.m[from:to], unix.MS_SYNC)
}

func (l *bareLog) wait(b testing.TB, off int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.flushed < off {
		if l.running {
			l.cond.Wait()
			continue
		}
		l.running = true
		from, to := l.flushed, l.off
		l.mu.Unlock()
		if err := l.flush(from, to); err != nil {
			b.Error(err)
		}
		l.mu.Lock()
		l.running, l.flushed = false, to
		l.cond.Broadcast()
	}
}

// BenchmarkAppend has the pages of one cycle touched before the clock runs, for
// both: it is the cost of the append itself. When the cycle is full a new file
// is taken, with the clock stopped.
func BenchmarkAppend(b *testing.B) {
	for _, n := range []int{128, 1024} {
		p := make([]byte, n)
		per := int((DefaultCycleBytes - 2*dataStart) / entrySize(n))
		name := map[int]string{128: "128B", 1024: "1KiB"}[n]
		for _, check := range []string{"bare", "bare-crc"} {
			b.Run(name+"/"+check, func(b *testing.B) {
				b.ReportAllocs()
				b.SetBytes(int64(n))
				b.StopTimer()
				for left := b.N; left > 0; left -= per {
					l := newBare(b, DefaultCycleBytes)
					b.StartTimer()
					for range min(left, per) {
						if check == "bare-crc" {
							l.crc = checksum(p)
						}
						l.append(p)
					}
					b.StopTimer()
					l.close()
				}
			})
		}
		b.Run(name+"/queue", func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(n))
			b.StopTimer()
			for left := b.N; left > 0; left -= per {
				q := mustOpen(b, b.TempDir(), Config{Logger: quiet(), FlushEvery: time.Hour})
				s := q.w.seg
				if err := s.mu.file.Touch(s.mu.m, 0, s.size); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
				for range min(left, per) {
					if _, err := q.Append(p); err != nil {
						b.Fatal(err)
					}
				}
				b.StopTimer()
				mustClose(b, q)
			}
		})
	}
}

// BenchmarkSustained appends without a pause through one cycle after the other,
// each a new file that has to be allocated, faulted in and written to the disk:
// the disk is the limit.
func BenchmarkSustained(b *testing.B) {
	p := make([]byte, 128)
	b.Run("bare", func(b *testing.B) {
		l := newSparse(b, DefaultCycleBytes)
		b.SetBytes(int64(len(p)))
		for b.Loop() {
			if l.off+256 > int64(len(l.m)) {
				if err := l.flush(0, int64(len(l.m))); err != nil {
					b.Fatal(err)
				}
				l.close()
				l = newSparse(b, DefaultCycleBytes)
			}
			l.append(p)
		}
	})
	b.Run("queue", func(b *testing.B) {
		q := mustOpen(b, b.TempDir(), Config{Logger: quiet()})
		b.ReportAllocs()
		b.SetBytes(int64(len(p)))
		k := 0
		for b.Loop() {
			i, err := q.Append(p)
			if err != nil {
				b.Fatal(err)
			}
			if k++; k&0xffff == 0 {
				if err := q.ReleaseBefore(i); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
}

func BenchmarkFlush(b *testing.B) {
	p := make([]byte, 128)
	b.Run("bare", func(b *testing.B) {
		l := newBare(b, DefaultCycleBytes)
		for b.Loop() {
			l.wait(b, l.append(p))
		}
	})
	b.Run("queue", func(b *testing.B) {
		q := mustOpen(b, b.TempDir(), Config{Logger: quiet(), Durability: Disk})
		b.ReportAllocs()
		for b.Loop() {
			i, err := q.Append(p)
			if err == nil {
				err = q.WaitDurable(context.Background(), i)
			}
			if err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkGroupFlush(b *testing.B) {
	const waiters = 64
	group := func(b *testing.B, one func()) {
		var wg sync.WaitGroup
		n := b.N
		var mu sync.Mutex
		take := func() bool {
			mu.Lock()
			defer mu.Unlock()
			n--
			return n >= 0
		}
		b.ResetTimer()
		for range waiters {
			wg.Go(func() {
				for take() {
					one()
				}
			})
		}
		wg.Wait()
	}
	p := make([]byte, 128)
	b.Run("bare", func(b *testing.B) {
		l := newBare(b, DefaultCycleBytes)
		group(b, func() { l.wait(b, l.append(p)) })
	})
	b.Run("queue", func(b *testing.B) {
		q := mustOpen(b, b.TempDir(), Config{Logger: quiet(), Durability: Disk})
		b.ReportAllocs()
		group(b, func() {
			i, err := q.Append(p)
			if err == nil {
				err = q.WaitDurable(context.Background(), i)
			}
			if err != nil {
				b.Error(err)
			}
		})
	})
}

// BenchmarkReopen opens a queue whose process died with half a cycle written.
func BenchmarkReopen(b *testing.B) {
	dir := b.TempDir()
	q := mustOpen(b, dir, Config{Logger: quiet(), FlushEvery: time.Hour})
	p := make([]byte, 128)
	const n = 230_000
	for range n {
		if _, err := q.Append(p); err != nil {
			b.Fatal(err)
		}
	}
	if err := q.lock.Close(); err != nil { // as if dead
		b.Fatal(err)
	}
	for b.Loop() {
		again, err := Open(dir, Config{Logger: quiet(), FlushEvery: time.Hour})
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		if err := again.lock.Close(); err != nil {
			b.Fatal(err)
		}
		again.lock = nopCloser{}
		mustClose(b, again)
		b.StartTimer()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/record")
	q.lock = nopCloser{}
}

type nopCloser struct{}

func (nopCloser) Close() error { return nil }

// BenchmarkTail reads back: from the mapping of the live cycle and, sealed,
// with ordinary reads.
func BenchmarkTail(b *testing.B) {
	q := mustOpen(b, b.TempDir(), Config{Logger: quiet(), FlushEvery: time.Hour})
	p := make([]byte, 128)
	for range 300_000 {
		if _, err := q.Append(p); err != nil {
			b.Fatal(err)
		}
	}
	t := q.NewTailer(0)
	b.ReportAllocs()
	b.SetBytes(128)
	for b.Loop() {
		_, _, ok, err := t.TryNext()
		if err != nil {
			b.Fatal(err)
		}
		if !ok {
			t.Close()
			t = q.NewTailer(0)
		}
	}
	t.Close()
}
