package measure

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// The durabilities.
const (
	Process = "process"
	Disk    = "disk"
)

const (
	logSize    = 64 << 20
	lengthSize = 8
	readSize   = 1 << 20
)

// Log is a bare log: a mapped file whose pages are there, that is written from
// its beginning again when it is full. A record is its length, eight bytes, and
// what it holds. No checksums, no recovery: the limit of what a journal can reach.
// Safe for concurrent use.
type Log struct {
	file mapped

	mu       sync.Mutex
	at       int
	written  int64 // records
	flushed  int64
	flushing chan struct{} // closed when the flush under way has ended; nil: none is
	err      error
}

// OpenLog makes a log in dir.
func OpenLog(dir string) (*Log, error) {
	l := &Log{}
	if err := l.file.open(filepath.Join(dir, "probe.log"), logSize); err != nil {
		return nil, fmt.Errorf("open probe log: %w", err)
	}
	return l, nil
}

// Close removes the log.
func (l *Log) Close() error {
	return errors.Join(l.file.close(), os.Remove(l.file.name()))
}

// Append writes a record and returns its number.
func (l *Log) Append(b []byte) int64 {
	l.mu.Lock()
	if l.at+lengthSize+len(b) > logSize {
		l.at = 0
	}
	copy(l.file.data[l.at+lengthSize:], b)
	binary.LittleEndian.PutUint64(l.file.data[l.at:], uint64(len(b)))
	l.at += lengthSize + len(b)
	l.written++
	n := l.written
	l.mu.Unlock()
	return n
}

// Read goes over the records since the log was last begun again, with ordinary
// reads of a MiB. What visit gets is good until it returns.
func (l *Log) Read(visit func(record []byte)) error {
	l.mu.Lock()
	end := l.at
	l.mu.Unlock()
	buf := make([]byte, readSize)
	for from := 0; from < end; {
		n := min(len(buf), end-from)
		if err := l.file.read(buf[:n], int64(from)); err != nil {
			return fmt.Errorf("read probe log: %w", err)
		}
		at := 0
		for n-at >= lengthSize {
			next := at + lengthSize + int(binary.LittleEndian.Uint64(buf[at:]))
			if next > n {
				break
			}
			visit(buf[at+lengthSize : next])
			at = next
		}
		if at == 0 {
			return fmt.Errorf("read probe log: a record at %d does not fit into %d bytes", from, n)
		}
		from += at
	}
	return nil
}

// Wait returns when record n is on the disk: the first who waits flushes for
// all, after letting others append.
func (l *Log) Wait(n int64) error {
	l.mu.Lock()
	for l.flushed < n && l.err == nil {
		if l.flushing != nil {
			ended := l.flushing
			l.mu.Unlock()
			<-ended
			l.mu.Lock()
			continue
		}
		ended := make(chan struct{})
		l.flushing = ended
		l.mu.Unlock()
		runtime.Gosched()
		l.mu.Lock()
		upTo := l.written
		l.mu.Unlock()
		err := l.file.flush()
		l.mu.Lock()
		l.flushed, l.flushing = upTo, nil
		if err != nil {
			l.err = fmt.Errorf("flush probe log: %w", err)
		}
		close(ended)
	}
	err := l.err
	l.mu.Unlock()
	return err
}

// Flushes measures a bare append of so many bytes and its flush, one after the
// other, about for a time.
func Flushes(ctx context.Context, dir string, bytes int, about time.Duration) (*hdrhistogram.Histogram, error) {
	l, err := OpenLog(dir)
	if err != nil {
		return nil, err
	}
	defer l.Close()
	h := NewHistogram()
	record := make([]byte, bytes)
	for end := time.Now().Add(about); time.Now().Before(end) || h.TotalCount() < 10; {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		begun := time.Now()
		l.Append(record)
		if err := l.file.flush(); err != nil {
			return nil, fmt.Errorf("flush probe log: %w", err)
		}
		_ = h.RecordValue(int64(time.Since(begun)))
	}
	return h, nil
}

// Probe does the bare job of a call: a record is appended (the request), a
// goroutine gets it, appends another (the outcome) and hands back. In disk
// durability each of the two is waited for, in a group flush. Of a tree of
// nested calls, depth deep, each is handed over and appended, but only the
// outermost waits for the disk, as the semantics have it.
func Probe(ctx context.Context, dir, durability string, depth, request, outcome int, load Load) (*Result, error) {
	l, err := OpenLog(dir)
	if err != nil {
		return nil, err
	}
	defer l.Close()
	depth = max(depth, 1)
	in, out := make([]byte, request), make([]byte, outcome)
	var servers sync.WaitGroup
	defer servers.Wait()
	chains := make([][]handover, max(load.Clients, 1))
	for c := range chains {
		chains[c] = make([]handover, depth)
		for d := range depth {
			chains[c][d] = handover{make(chan struct{}), make(chan int64)}
		}
		defer close(chains[c][0].call)
		for d := range depth {
			servers.Go(func() { serve(l, chains[c][d:], in, out) })
		}
	}
	return load.Run(ctx, func(c, _ int) error {
		n := l.Append(in)
		if durability == Disk {
			if err := l.Wait(n); err != nil {
				return err
			}
		}
		chains[c][0].call <- struct{}{}
		n = <-chains[c][0].answer
		if durability == Disk {
			return l.Wait(n)
		}
		return nil
	})
}

// handover is the way to a goroutine and back.
type handover struct {
	call   chan struct{}
	answer chan int64
}

// serve is the first of a chain of goroutines.
func serve(l *Log, chain []handover, in, out []byte) {
	for range chain[0].call {
		if len(chain) > 1 {
			l.Append(in)
			chain[1].call <- struct{}{}
			<-chain[1].answer
		}
		chain[0].answer <- l.Append(out)
	}
	if len(chain) > 1 {
		close(chain[1].call)
	}
}
