package runtime

import (
	"errors"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/pawl-go/pawl/engine"
)

// Config describes one component.
type Config struct {
	Name   string // of the component; required
	Types  []*Type
	Logger *slog.Logger // default slog.Default()
	Depth  int          // nested calls, default 1,000
	// PayloadLimit bounds an argument, a result and one state value, OutcomeLimit
	// the writes, tells and result of one outcome together, in bytes.
	PayloadLimit, OutcomeLimit int // default 4 MiB, 16 MiB
	// Host is what the host wants to find again by Component.Host.
	Host any
	// Jitter draws a duration in [0, n) for a backoff; default rand.N.
	Jitter func(n time.Duration) time.Duration
}

// Gate is what a session may be besides: it is asked before an attempt begins,
// and before it waits for a commit, on the goroutine that would run it, and may
// hold it up. An error says that the component has failed, and the attempt does
// not begin. Simulations of failures use it; no engine is one.
type Gate interface {
	Starting(by engine.Attempt, r *engine.Request) error
}

func (c *Config) validate() error {
	if c.Name == "" {
		return errors.New("runtime: a component needs a name")
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	setDefault(&c.Depth, 1000)
	setDefault(&c.PayloadLimit, 4<<20)
	setDefault(&c.OutcomeLimit, 16<<20)
	if c.Jitter == nil {
		c.Jitter = rand.N[time.Duration]
	}
	for _, t := range c.Types {
		setDefault(&t.IdleAfter, 5*time.Minute)
		setDefault(&t.MaxAttempts, 16)
	}
	return nil
}

func setDefault[T int | time.Duration](v *T, d T) {
	if *v == 0 {
		*v = d
	}
}

// Type is an actor type that the component hosts. The runtime reads it only.
type Type struct {
	Name     string
	Identity string             // of the implementation; see engine.Type
	Methods  map[string]*Method // by every name they are called by, former ones included
	// Any runs what Methods does not name, for a host that learns only from the
	// application which methods there are. Nil: they do not exist.
	Any *Method
	New func(id string) Instance

	IdleAfter         time.Duration // an instance idle for so long is dropped; default 5 min
	BusyTimeout       time.Duration // how long a call waits for its turn on an actor, see busy.go; 0: for ever
	MaxLive           int           // instances kept while idle; 0: no limit
	MaxAttempts       int           // attempts lost by death before parking; default 16
	PassWhileRetrying bool          // a retry goes to the end of the flow
	Strict            bool          // every begin and every return waits for the commit
}

// Method is a callable method. The host may keep what it likes in Host.
type Method struct {
	Name     string
	ReadOnly bool
	Host     any
}

// Instance is an actor in memory, as the host (the Go SDK, or a paired
// process) makes it. The runtime never runs two of its methods at once, apart
// from Invoke, which is entered again while an outer Invoke waits for a call.
type Instance interface {
	// Load gives the instance the recorded flat cells of the actor, before
	// anything else. An error parks the invocation: state is never overwritten
	// by what could not read it.
	Load(cells []engine.Cell) error
	// Activate runs the application's own hook, as part of the first
	// invocation's attempt: an error is that attempt's outcome.
	Activate(inv *Invocation) error
	// Invoke runs a method. Panics are the runtime's to recover.
	Invoke(inv *Invocation, m *Method, payload []byte) Result
	// Writes encodes what was changed since the last Recorded or Discard and
	// appends it to dst. It is called with the turn held: at the end of a
	// method, at Sync, and before a re-entry. An error (too large, does not
	// encode) fails the method.
	Writes(dst []engine.Write) ([]engine.Write, error)
	// Recorded says that the changes up to the last Writes are recorded.
	Recorded()
	// Discard undoes all changes since the last Recorded or Discard.
	Discard()
	// Settle is called when no method is left on the instance: decoded values
	// that code may still hold must not leak into the next run.
	Settle()
	// Deactivate runs the application's hook. It neither writes nor calls.
	Deactivate()
}

// Leaver is what an Instance may be besides, if it stands for something that
// outlives it: an object in another process. Every instance that is made and not
// used any more is told, whatever the reason, and not only an idle one.
type Leaver interface {
	// Leave says that the instance is out of use. It comes before another
	// instance of the actor is made, and Deactivate follows on another goroutine,
	// perhaps when that one is there. It is called with locks held: it does not
	// block, and calls nothing of the component.
	Leave()
}

// Result is how a method's code ended, as the host understood it. At most one
// of Failure, Tail and Retry is set; with none of them it is Value.
type Result struct {
	Value   []byte
	Failure *engine.Failure
	Tail    *Tail
	Retry   *Retry
}

// Tail is a tail call.
type Tail struct {
	To      engine.Actor
	Method  string
	Payload []byte
	Release bool // release the lock although the actor is the same
}

// Retry asks for another attempt: RetryAfter, a temporary error, RetryErrors.
type Retry struct {
	Cause error
	After time.Duration // negative: the runtime's own backoff
}

// Call is a request to make, from a method or from outside.
type Call struct {
	To      engine.Actor
	Method  string
	Payload []byte

	Key  string // idempotency key
	Once string // the nested call is made once under this name; for a tell too
	// NotBefore delays a tell.
	NotBefore time.Time
	// WithOutcome holds a tell of a method until its outcome; Immediately sends
	// it, with all held before it, now.
	WithOutcome, Immediately bool
	// Detached: made in a method, but not nested in it.
	Detached bool
}
