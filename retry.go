package pawl

import (
	"errors"
	"math/rand/v2"
	"time"
)

// retryError asks for another attempt.
type retryError struct {
	err   error
	after time.Duration // negative: the runtime's own backoff
}

func (e *retryError) Error() string { return e.err.Error() }
func (e *retryError) Unwrap() error { return e.err }

// finalError refuses another attempt.
type finalError struct{ err error }

func (e *finalError) Error() string { return e.err.Error() }
func (e *finalError) Unwrap() error { return e.err }

// Retry marks an error, returned by a method, as no outcome: the method's writes
// and tells are discarded, the actor keeps its lock, and the method is run again
// after a backoff that grows from attempt to attempt. Retry(nil) is nil.
func Retry(err error) error { return retryIn(err, -1) }

// RetryAfter is like [Retry] with a wait of d instead of the backoff. A negative
// d counts as none. RetryAfter(nil, d) is nil.
func RetryAfter(err error, d time.Duration) error { return retryIn(err, max(d, 0)) }

func retryIn(err error, d time.Duration) error {
	if err == nil {
		return nil
	}
	return &retryError{err, d}
}

// Final marks an error as an outcome, although [Temporary] would hold for it or
// its type has [RetryErrors]. Final(nil) is nil.
func Final(err error) error {
	if err == nil {
		return nil
	}
	return &finalError{err}
}

// Temporary reports whether a method that returns err is run again: err is, or
// wraps, an error of the infrastructure (no host, overloaded, unavailable,
// outcome unknown) or one marked by [Retry] or [RetryAfter], and [Final] does not
// stand above it. The outcome of another invocation ([AppError]) is never
// temporary, whatever it wraps.
func Temporary(err error) bool {
	v, _ := judge(err, maxCauses)
	return v == again
}

// OutcomeUnknown reports whether the request that ended with err may have had
// effects: its wait ended, or this component was fenced, after it had left.
func OutcomeUnknown(err error) bool {
	return errors.Is(err, ErrOutcomeUnknown) || errors.Is(err, ErrFenced)
}

// verdict is what an error's tree says about another attempt.
type verdict int

const (
	undecided verdict = iota // an error of the application
	again                    // temporary
	never                    // final, or one of ours that no attempt would change
)

// judge reads the tree from the outside in; the wait counts for again only.
// Of joined errors a final one wins, then a temporary one.
func judge(err error, depth int) (v verdict, after time.Duration) {
	if err == nil || depth == 0 {
		return undecided, 0
	}
	switch e := err.(type) { //nolint:errorlint // one level at a time is the point
	case *finalError:
		return never, 0
	case *retryError:
		return again, e.after
	case *AppError:
		return undecided, 0
	case *Error:
		return judgeCode(e.Code), -1
	case Code:
		return judgeCode(e), -1
	}
	for _, below := range unwrap(err) {
		switch bv, d := judge(below, depth-1); {
		case bv == never:
			return never, 0
		case bv == again && v != again:
			v, after = again, d
		}
	}
	return v, after
}

func judgeCode(c Code) verdict {
	if c.Retryable() {
		return again
	}
	return never
}

// Backoff says how a type retries errors.
type Backoff struct {
	First    time.Duration // wait after the first attempt; default 100 ms
	Max      time.Duration // bound of the wait, which doubles; default 1 min
	Attempts int           // after so many the error is the outcome; 0: no limit
}

func (b Backoff) withDefaults() Backoff {
	if b.First <= 0 {
		b.First = 100 * time.Millisecond
	}
	if b.Max <= 0 {
		b.Max = time.Minute
	}
	return b
}

// wait is the time between attempt n, counted from 1, and the next: doubled each
// time, with a tenth of jitter so that those who failed together part.
func (b Backoff) wait(n int) time.Duration {
	d := b.First
	for i := 1; i < n && d < b.Max; i++ {
		d *= 2
	}
	d = min(d, b.Max)
	if tenth := int64(d / 10); tenth > 0 {
		d -= time.Duration(rand.Int64N(tenth)) //nolint:gosec // not a secret
	}
	return d
}
