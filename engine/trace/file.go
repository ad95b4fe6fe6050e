package trace

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"sync"
)

// Writer records into a file: what is recorded is handed to the operating
// system before Record returns, by one write, so that it survives the death of
// the process (not that of the machine). It is safe for concurrent use.
//
// When a write fails nothing is recorded any more: a trace has no gaps. The
// error is Err's, and Close's.
type Writer struct {
	mu   sync.Mutex
	f    *os.File
	buf  []byte
	seen seen
	err  error
}

// Create opens a file to record into, and makes it if it is missing. One that
// exists is continued: an event or a record that a dying process left
// unfinished at its end is dropped. It returns a *CorruptError for a file that
// is no trace. One process at a time may have it open.
func Create(path string) (*Writer, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open trace: %w", err)
	}
	w := &Writer{f: f}
	if err := w.resume(path); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return w, nil
}

// resume finds what the end of the file says, drops what is unfinished there,
// and goes to the end.
func (w *Writer) resume(path string) error {
	size, err := w.f.Seek(0, io.SeekEnd)
	if err != nil {
		return fmt.Errorf("continue trace: %w", err)
	}
	for part := int64(64 << 10); ; part *= 4 {
		end, ok, err := w.readEnd(path, max(0, size-part), size)
		switch {
		case err != nil:
			return err
		case !ok && part < size:
			continue
		}
		if err := w.f.Truncate(end); err != nil {
			return fmt.Errorf("continue trace: %w", err)
		}
		if _, err := w.f.Seek(end, io.SeekStart); err != nil {
			return fmt.Errorf("continue trace: %w", err)
		}
		return nil
	}
}

// readEnd reads the file from a place on. It sets seen, and returns where the
// last whole event ends that ends what happens at once; ok is false if it has
// come upon no record.
func (w *Writer) readEnd(path string, from, size int64) (end int64, ok bool, err error) {
	in := newLines(io.NewSectionReader(w.f, from, size-from), path)
	if from > 0 {
		in.end, in.line = from, unknownLine
		if err := in.read(); err != nil { // the rest of a line
			return 0, false, skipEOF(err)
		}
	}
	w.seen = seen(math.MaxUint64)
	var last Event
	for {
		e, err := in.next(&last)
		if c, isCorrupt := errors.AsType[*CorruptError](err); errors.Is(err, io.EOF) || isCorrupt && c.Cut {
			break
		}
		if err != nil {
			return 0, false, err
		}
		w.seen.note(&e)
		ok = ok || e.Kind.Record() && !e.More
		if last = e; !e.More {
			end = in.end
		}
	}
	if !ok {
		w.seen = 0
	}
	return end, ok, nil
}

func skipEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// Record implements Recorder.
func (w *Writer) Record(events ...Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return
	}
	w.buf = w.buf[:0]
	for i := range events {
		w.seen.note(&events[i])
		w.buf = append(events[i].Append(w.buf), '\n')
	}
	if _, err := w.f.Write(w.buf); err != nil {
		w.err = fmt.Errorf("write trace: nothing is recorded any more: %w", err)
	}
}

// Seen implements Recorder.
func (w *Writer) Seen() uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return uint64(w.seen)
}

// Err says why nothing is recorded any more; nil while all is well.
func (w *Writer) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// Close ends the recording. It returns the error that ended it before, if one
// did.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	err := errors.Join(w.err, w.f.Close())
	if w.err == nil {
		w.err = os.ErrClosed
	}
	return err
}
