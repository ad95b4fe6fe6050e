package queue

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestSpinningLearns(t *testing.T) {
	var s spinning
	for range 20 {
		s.learn(spinMost)
	}
	if s != spinning(spinMost) {
		t.Errorf("hot for long: %s", time.Duration(s))
	}
	for range 20 {
		s.learn(spinMost + 1)
	}
	if s != spinning(spinLeast) {
		t.Errorf("cold for long: %s", time.Duration(s))
	}
}

// tailCold waits for entries in a process of its own, says when it is about to,
// and at the end how much processor time it took.
func tailCold(dir, arg string) error {
	n, err := strconv.Atoi(arg)
	if err != nil {
		return err
	}
	q, err := OpenReadOnly(dir, Config{Logger: quiet()})
	if err != nil {
		return err
	}
	t := q.NewTailer(0)
	for range n {
		fmt.Fprintln(os.Stdout, "waiting")
		_, p, err := t.Next(context.Background())
		if err != nil {
			return err
		}
		fmt.Fprintln(os.Stdout, string(p))
	}
	cpu, err := cpuTime()
	if err != nil {
		return err
	}
	fmt.Fprintln(os.Stdout, cpu.Milliseconds())
	t.Close()
	return q.Close()
}

// cpuTime is how long processors have worked for this process.
func cpuTime() (time.Duration, error) {
	var ru syscall.Rusage
	err := syscall.Getrusage(syscall.RUSAGE_SELF, &ru)
	return time.Duration(ru.Utime.Nano() + ru.Stime.Nano()), err
}

// TestATailerOfAnotherProcessIsWoken from its cold sleep by the appender, in the
// middle of a cycle, behind a roll, and each time the appender has paused.
func TestATailerOfAnotherProcessIsWoken(t *testing.T) {
	dir := t.TempDir()
	q := mustOpen(t, dir, small())
	const n = 3
	_, out := child(t, "cold", dir, strconv.Itoa(n))
	line := func() string {
		t.Helper()
		s, err := out.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(s)
	}
	for k := range n {
		if got := line(); got != "waiting" {
			t.Fatalf("the child says %q", got)
		}
		if k == 1 {
			if err := q.Roll(); err != nil {
				t.Fatal(err)
			}
		}
		q.watches() // whether the child is cold by then or not: it must hear of the entry
		mustAppend(t, q, fmt.Sprint("entry ", k))
		if got := line(); got != fmt.Sprint("entry ", k) {
			t.Fatalf("the child read %q", got)
		}
	}
	if ms, err := strconv.Atoi(line()); err != nil || ms > 1000 {
		t.Errorf("the child took %d ms of processor time, %v", ms, err)
	}
}

// TestFutexWakesAcrossMappings: a sleeper on a read-only mapping is woken by who
// has the file mapped otherwise, and does not sleep when there is something.
func TestFutexWakesAcrossMappings(t *testing.T) {
	dir := t.TempDir()
	q := mustOpen(t, dir, small())
	r := mustOpenReadOnly(t, dir)
	s, err := r.find(1)
	if err != nil {
		t.Fatal(err)
	}
	f, m, err := s.acquire(func() (File, []byte, error) { return r.openSegment(s) })
	if err != nil {
		t.Fatal(err)
	}
	defer r.release(s)
	woken := make(chan struct{})
	go func() {
		for uint32(loadWord(m, dataStart)) == 0 {
			f.(sleeper).SleepOn(m, dataStart, time.Hour)
		}
		close(woken)
	}()
	q.watches()
	mustAppend(t, q, "x")
	<-woken
	f.(sleeper).SleepOn(m, dataStart, time.Hour) // returns at once
}

// watches spins until the appender, which has paused, watches for the next entry.
func (q *Queue) watches() {
	for q.waiting.n.Load() == 0 {
		runtime.Gosched()
	}
}

// TestContextEndsAColdSleep without waiting for its time to be over.
func TestContextEndsAColdSleep(t *testing.T) {
	dir := t.TempDir()
	q := mustOpen(t, dir, small())
	mustAppend(t, q, "x")
	r := mustOpenReadOnly(t, dir)
	tl := r.NewTailer(0)
	defer tl.Close()
	if _, _, ok, err := tl.TryNext(); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if _, _, ok, err := tl.TryNext(); ok || err != nil {
		t.Fatal(ok, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	slept := make(chan bool)
	go func() { slept <- tl.sleepCold(ctx) }()
	cancel()
	if !<-slept {
		t.Fatal("it cannot sleep on this file")
	}
	if _, _, err := tl.Next(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("Next with a context that is over: %v", err)
	}
}

// now is the clock that all processes of this machine share.
func now() int64 {
	return time.Now().UnixNano() //nolint:forbidigo // it is what is measured
}

// latencyTail measures the way of entries to a tailer in another process: it reads the
// sender's clock from each and prints the median and the 99th percentile.
func latencyTail(dir, arg string) error {
	n, err := strconv.Atoi(arg)
	if err != nil {
		return err
	}
	q, err := OpenReadOnly(dir, Config{Logger: quiet()})
	if err != nil {
		return err
	}
	t := q.NewTailer(0)
	fmt.Fprintln(os.Stdout, "ready")
	took := make([]int64, 0, n)
	for range n {
		_, p, err := t.Next(context.Background())
		if err != nil {
			return err
		}
		took = append(took, now()-int64(binary.LittleEndian.Uint64(p)))
	}
	slices.Sort(took)
	fmt.Fprintln(os.Stdout, took[n/2], took[n*99/100])
	t.Close()
	return q.Close()
}

// BenchmarkAcrossProcesses sends an entry every 20 microseconds to a tailer in
// another process. It needs two quiet cores.
func BenchmarkAcrossProcesses(b *testing.B) {
	dir := b.TempDir()
	q := mustOpen(b, dir, Config{Logger: quiet()})
	_, out := child(b, "latency", dir, strconv.Itoa(b.N))
	if line, err := out.ReadString('\n'); err != nil || line != "ready\n" {
		b.Fatal(line, err)
	}
	p := make([]byte, 128)
	for range b.N {
		for until := now() + 20_000; now() < until; {
		}
		binary.LittleEndian.PutUint64(p, uint64(now()))
		if _, err := q.Append(p); err != nil {
			b.Fatal(err)
		}
	}
	var p50, p99 float64
	if _, err := fmt.Fscan(out, &p50, &p99); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(p50, "p50-ns")
	b.ReportMetric(p99, "p99-ns")
	_, _ = io.Copy(io.Discard, bufio.NewReader(out))
}
