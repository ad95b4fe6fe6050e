package mesh

import (
	"context"
	"fmt"
	"io"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"
)

// cpu reports, beside the time, the CPU time that the whole process has spent per
// operation: with both nodes in it, sender and receiver together.
func cpu(b *testing.B) func() {
	b.ReportAllocs()
	begun := cpuTime(b)
	b.ResetTimer()
	return func() {
		b.StopTimer()
		b.ReportMetric(float64(cpuTime(b)-begun)/float64(b.N), "cpu-ns/op")
	}
}

func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func BenchmarkLocalTell(b *testing.B) {
	n := mustStart(b, testConfig("a"))
	done := make(chan struct{})
	seen := 0
	r, err := Spawn(n, "sink", func(_ *Context, m add) error {
		if seen++; seen == b.N {
			close(done)
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	defer cpu(b)()
	for i := range b.N {
		if err := r.Cast(b.Context(), add{i}); err != nil {
			b.Fatal(err)
		}
	}
	<-done
}

func BenchmarkLocalAsk(b *testing.B) {
	n := mustStart(b, testConfig("a"))
	r := spawnCounter(b, n, "counter")
	ctx := context.Background()
	defer cpu(b)()
	for range b.N {
		if _, err := Call[int, addOrGet](ctx, r, get{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRemoteTell(b *testing.B) {
	na, nb := pair(b)
	done := make(chan struct{})
	seen := 0
	r, err := Spawn(na, "sink", func(_ *Context, m []byte) error {
		if seen++; seen == b.N {
			close(done)
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	to := At(nb, r.Address())
	m := make([]byte, 64)
	defer cpu(b)()
	for range b.N {
		if err := to.Cast(b.Context(), m); err != nil {
			b.Fatal(err)
		}
	}
	select {
	case <-done:
	case <-time.After(5 * time.Second):
		b.Fatalf("seen %d of %d: %+v", seen, b.N, na.Counters())
	}
}

func BenchmarkRemoteAsk(b *testing.B) {
	for _, callers := range []int{1, 64} {
		b.Run(fmt.Sprint(callers), func(b *testing.B) {
			na, nb := pair(b)
			r, err := Spawn(na, "echo", func(c *Context, m []byte) error { return c.Reply(m) })
			if err != nil {
				b.Fatal(err)
			}
			to := At(nb, r.Address())
			m := make([]byte, 64)
			defer cpu(b)()
			b.SetParallelism(max(callers/2, 1))
			if callers == 1 {
				for range b.N {
					if _, err := Call[[]byte](context.Background(), to, m); err != nil {
						b.Fatal(err)
					}
				}
				return
			}
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if _, err := Call[[]byte](context.Background(), to, m); err != nil {
						b.Fatal(err)
					}
				}
			})
		})
	}
}

// BenchmarkBareTCP is the limit of an ask: one message there and one back, two
// goroutines, nothing else.
func BenchmarkBareTCP(b *testing.B) {
	l, err := tcp{}.Listen(b.Context(), "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	go func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		io.Copy(onlyWriter{conn}, conn)
	}()
	conn, err := tcp{}.Dial(b.Context(), l.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	m := make([]byte, 64)
	defer cpu(b)()
	for range b.N {
		if _, err := conn.Write(m); err != nil {
			b.Fatal(err)
		}
		if _, err := io.ReadFull(conn, m); err != nil {
			b.Fatal(err)
		}
	}
}

// onlyWriter hides what io.Copy would use to leave the copying to the kernel.
type onlyWriter struct{ io.Writer }

// BenchmarkSwappedSlice is the limit of a local tell: a mutex, an append, and a
// goroutine that takes the whole slice.
func BenchmarkSwappedSlice(b *testing.B) {
	var mu sync.Mutex
	var in []envelope[add]
	more, done := make(chan struct{}, 1), make(chan struct{})
	go func() {
		var batch []envelope[add]
		for seen := 0; seen < b.N; {
			<-more
			mu.Lock()
			in, batch = batch[:0], in
			mu.Unlock()
			seen += len(batch)
		}
		close(done)
	}()
	defer cpu(b)()
	for i := range b.N {
		mu.Lock()
		in = append(in, envelope[add]{msg: add{i}})
		first := len(in) == 1
		mu.Unlock()
		if first {
			more <- struct{}{}
		}
	}
	<-done
}

// BenchmarkChannel is the limit of a local ask by channels.
func BenchmarkChannel(b *testing.B) {
	there, back := make(chan int), make(chan int)
	go func() {
		for m := range there {
			back <- m
		}
	}()
	defer close(there)
	defer cpu(b)()
	for i := range b.N {
		there <- i
		<-back
	}
}

// BenchmarkAskBehindLarge is a call on one lane while 3 MiB to another actor are
// on their way there.
func BenchmarkAskBehindLarge(b *testing.B) {
	na, nb := pair(b, func(c *Config) { c.Lanes = 1 })
	for name, h := range map[string]Handler[[]byte]{
		"large": func(*Context, []byte) error { return nil },
		"echo":  func(c *Context, m []byte) error { return c.Reply(m) },
	} {
		if _, err := Spawn(na, name, h); err != nil {
			b.Fatal(err)
		}
	}
	large, echo := At(nb, Address[[]byte]{"a", "large"}), At(nb, Address[[]byte]{"a", "echo"})
	m, small := make([]byte, 3<<20), make([]byte, 64)
	var asking []time.Duration
	defer cpu(b)()
	for range b.N {
		if err := large.Cast(b.Context(), m); err != nil {
			b.Fatal(err)
		}
		begun := time.Now()
		if _, err := Call[[]byte](b.Context(), echo, small); err != nil {
			b.Fatal(err)
		}
		asking = append(asking, time.Since(begun))
	}
	slices.Sort(asking)
	b.ReportMetric(float64(asking[len(asking)/2]), "ask-p50-ns")
}
