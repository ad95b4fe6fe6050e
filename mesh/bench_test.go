package mesh

import (
	"context"
	"fmt"
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
