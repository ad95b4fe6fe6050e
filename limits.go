package pawl

import "fmt"

// The limits of names, in bytes. Every byte string within is legal, separators
// included.
const (
	maxName = 128  // application, type, method, reminder, code
	maxKey  = 1024 // actor id, state key, idempotency key
)

// Limits bounds what an application may ask for. A limit is met at the edge,
// with a permanent error that gives size and limit: nothing is recorded and
// nobody else is held up. Zero fields take the default.
type Limits struct {
	// Payload is the size in bytes of an argument, a result, or one state value.
	// Default 4 MiB. Over it: ErrTooLarge.
	Payload int
	// Outcome is the size in bytes of the writes, tells and result of one outcome
	// together. Default 16 MiB. Over it the method fails with ErrTooLarge, its
	// writes and tells discarded.
	Outcome int
	// Mailbox is the number of requests that may wait for one actor. Default
	// 10,000. Over it: ErrOverloaded, for requests from outside only.
	Mailbox int
	// Pending is the number of requests that may wait in the application. Default
	// 1,000,000. Over it: ErrOverloaded, for requests from outside only.
	Pending int
	// Depth is the number of nested calls. Default 1,000. Over it: ErrTooDeep.
	Depth int
}

// validate fills in the defaults.
func (l *Limits) validate() error {
	for _, f := range []struct {
		name  string
		value *int
		def   int
	}{
		{"Payload", &l.Payload, 4 << 20},
		{"Outcome", &l.Outcome, 16 << 20},
		{"Mailbox", &l.Mailbox, 10_000},
		{"Pending", &l.Pending, 1_000_000},
		{"Depth", &l.Depth, 1_000},
	} {
		if *f.value < 0 {
			return fmt.Errorf("limit %s: %d is negative", f.name, *f.value)
		}
		if *f.value == 0 {
			*f.value = f.def
		}
	}
	return nil
}

// checkSize refuses what is over its limit.
func checkSize(what fmt.Stringer, size, limit int) error {
	if size <= limit {
		return nil
	}
	return &Error{Code: ErrTooLarge, Err: fmt.Errorf("%v of %d bytes, limit %d", what, size, limit)}
}

// thing names something in a message.
type thing string

func (t thing) String() string { return string(t) }

// The things whose size is checked most.
const (
	anArgument thing = "argument"
	aResult    thing = "result"
)

// checkName refuses a name over its limit, and shows its beginning.
func checkName(what, name string, limit int) error {
	if len(name) <= limit {
		return nil
	}
	return &Error{Code: ErrTooLarge, Err: fmt.Errorf("%s %q... of %d bytes, limit %d", what, name[:32], len(name), limit)}
}
