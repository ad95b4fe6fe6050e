package trace

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"os"
)

// maxLine bounds a line: an instance may be loaded with many cells.
const maxLine = 64 << 20

// CorruptError is a place at which a trace cannot be read on: what is before
// it can.
type CorruptError struct {
	Path   string // "" if it is not a file
	Line   int    // from 1; 0: not known, since only the end of a file was read
	Offset int64  // of the line, in bytes
	// Cut says that the trace ends in the middle of an event or of a record, as
	// if its process had died while it wrote. A recorder that continues the file
	// drops that part; else what is before it is all there is.
	Cut bool
	Err error
}

// Error gives "trace PATH: line 7: offset 512: what is wrong".
func (e *CorruptError) Error() string {
	where := "trace"
	if e.Path != "" {
		where += " " + e.Path
	}
	if e.Line > 0 {
		where += fmt.Sprintf(": line %d", e.Line)
	}
	return fmt.Sprintf("%s: offset %d: %v", where, e.Offset, e.Err)
}

// Unwrap gives the cause.
func (e *CorruptError) Unwrap() error { return e.Err }

var (
	errCutLine   = errors.New("the trace ends in the middle of a line")
	errCutRecord = errors.New("the trace ends in the middle of a record: further events of it were announced")
)

// Events reads a trace, event by event. It ends behind the first error: a
// *CorruptError, or one of the reader's.
func Events(r io.Reader) iter.Seq2[Event, error] { return events(r, "") }

// File reads the trace in a file, as Events does.
func File(path string) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		f, err := os.Open(path)
		if err != nil {
			yield(Event{}, fmt.Errorf("read trace: %w", err))
			return
		}
		defer f.Close()
		events(f, path)(yield)
	}
}

func events(r io.Reader, path string) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		in := newLines(r, path)
		var last Event
		for {
			e, err := in.next(&last)
			if errors.Is(err, io.EOF) {
				return
			}
			if !yield(e, err) || err != nil {
				return
			}
			last = e
		}
	}
}

// unknownLine makes the number of every line unknown.
const unknownLine = math.MinInt / 2

// lines reads events line by line, and knows where it is.
type lines struct {
	r      *bufio.Reader
	path   string
	line   int
	offset int64 // of the present line
	end    int64 // behind it
	buf    []byte
}

func newLines(r io.Reader, path string) *lines {
	return &lines{r: bufio.NewReaderSize(r, 64<<10), path: path}
}

func (in *lines) corrupt(cut bool, err error) error {
	return &CorruptError{Path: in.path, Line: max(0, in.line), Offset: in.offset, Cut: cut, Err: err}
}

// next reads the event behind last; io.EOF at a sound end.
func (in *lines) next(last *Event) (Event, error) {
	in.line, in.offset = in.line+1, in.end
	err := in.read()
	switch {
	case errors.Is(err, io.EOF) && len(in.buf) > 0:
		return Event{}, in.corrupt(true, errCutLine)
	case errors.Is(err, io.EOF) && last.More:
		return Event{}, in.corrupt(true, errCutRecord)
	case err != nil:
		return Event{}, err
	}
	e, err := Parse(in.buf[:len(in.buf)-1])
	if err != nil {
		return Event{}, in.corrupt(false, err)
	}
	if last.More && (e.At != last.At || !e.Kind.Record()) {
		return Event{}, in.corrupt(false, fmt.Errorf("an event of kind %q at %d in the middle of record %d", e.Kind, e.At, last.At))
	}
	return e, nil
}

// read fills buf with the next line, its end included.
func (in *lines) read() error {
	in.buf = in.buf[:0]
	for {
		part, err := in.r.ReadSlice('\n')
		in.buf = append(in.buf, part...)
		in.end += int64(len(part))
		switch {
		case len(in.buf) > maxLine:
			return in.corrupt(false, fmt.Errorf("a line of more than %d bytes", maxLine))
		case errors.Is(err, bufio.ErrBufferFull):
		case err == nil || errors.Is(err, io.EOF):
			return err
		default:
			return fmt.Errorf("read trace: %w", err)
		}
	}
}
