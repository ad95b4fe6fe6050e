package service

import (
	"context"
	"fmt"
	"log/slog"
	"regexp"

	"github.com/pawl-go/pawl/queue"
)

// Start says where a service begins.
type Start int

const (
	// LastWritten goes on behind the last input whose output is on the output
	// queue; on an empty one, with the first input kept. Each input has its outputs
	// exactly once.
	LastWritten Start = iota
	// FromStart handles all inputs that are kept, with an empty state, whatever the
	// output queue holds: after earlier ones, outputs are there again.
	FromStart
	// FromEnd handles only inputs that come after the start, with an empty state.
	FromEnd
	// Named goes on at the positions of Config.Name on the input queues, which move
	// when an input is dealt with: each is handled at least once. It is for services
	// without an output queue, whose state is replayed from all inputs that are kept,
	// and for those that are Stateless.
	Named
)

// String is the name used in configuration files and logs.
func (s Start) String() string {
	if s < 0 || int(s) >= len(startNames) {
		return fmt.Sprintf("start %d", int(s))
	}
	return startNames[s]
}

var startNames = [...]string{LastWritten: "last-written", FromStart: "start", FromEnd: "end", Named: "named"}

// Wait waits until an entry, and all before it, counts, or ctx ends. The methods
// WaitDurable of a queue and WaitReplicated of a replicated one are such.
type Wait func(ctx context.Context, i queue.Index) error

// Input is a queue that a service reads.
type Input struct {
	// ID is the number under which histories name the queue, at least 1 and the same
	// over all restarts; best the same in all services.
	ID uint32
	// Queue is open in any way; with Named or HoldBack for Open or OpenReader.
	// The service does not close it.
	Queue *queue.Queue
	// Acknowledged waits until an entry counts. No output is written before its
	// inputs do, so that no crash leaves an output whose input is lost. WaitDurable
	// needs the queue open for appending in this process. Nil: an entry counts when
	// it is seen, which is safe from the death of processes only; what a power cut
	// takes then is found at the next start (LostInputError).
	Acknowledged Wait
	// Type, when set, makes each entry the payload of a message of that type: for
	// queues that are not written by a Publisher or a service.
	Type string
}

// Output is a queue that a service writes, and it alone.
type Output struct {
	// Queue holds the entries; it is open for appending unless Append is set. The
	// service does not close it.
	Queue *queue.Queue
	// Append appends a batch, whole or not at all, and does not keep it. Nil:
	// Queue.AppendBatch. A replicated queue has its own.
	Append func(ctx context.Context, ps ...[]byte) (first queue.Index, err error)
	// Committed waits until an entry survives what the service is to survive. It is
	// asked before a snapshot, at a Begin and at a dead letter, not at each output. Nil:
	// Queue.WaitDurable.
	Committed Wait
}

// Snapshots says where and when the state is written down, so that a start need
// not replay everything.
type Snapshots struct {
	Dir   string   // directory, made if missing; empty: there are no snapshots
	Every int      // inputs from one to the next; 0: 100,000
	Keep  int      // newest ones that are kept; 0: 2
	FS    queue.FS // nil: the operating system's
}

// Config holds the settings of a service.
type Config struct {
	// Name is that of the positions on the inputs, of snapshots, and in the log: 1 to
	// 64 letters, digits, dots, dashes and underscores, the first a letter or digit.
	Name string
	// Inputs are read in turn, up to 64 messages of each that has some. There is one
	// at least.
	Inputs []Input
	// Output takes what the handler sends; without its Queue sending is an error.
	Output Output
	// Start is LastWritten unless set.
	Start Start
	// Stateless says that a handler does the same for a message whatever came before
	// it, so that a start need not replay anything.
	Stateless bool
	// DeadLetters, when its Queue is set, takes the inputs on which the handler
	// fails, with the reason, and the service goes on; otherwise it stops. What the
	// handler had changed in its state stays changed; a replay changes the same.
	DeadLetters Output
	// SkipUnknown passes over messages of a type that no method takes.
	SkipUnknown bool
	// TrustReplay does not compare what a replay sends with what is on the output
	// queue.
	TrustReplay bool
	// Snapshots are written when Dir is set and the handler is a Snapshotter.
	Snapshots Snapshots
	// HoldBack keeps the retention of the input queues from deleting what a start
	// would need. It needs Stateless or Snapshots, or it would keep everything.
	HoldBack bool
	// Codec encodes and decodes messages; nil: JSON.
	Codec Codec
	// Logger hears of starts, snapshots and dead letters; nil: slog.Default.
	Logger *slog.Logger
}

// Defaults and limits.
const (
	burst         = 64      // inputs taken of one queue in turn
	groupBytes    = 1 << 20 // of outputs, after which they are written
	orderRuns     = 64      // runs after which an Order is written
	orderInputs   = 10_000  // inputs after which an Order is written
	fullEvery     = 256     // records from one with positions to the next
	snapshotEvery = 100_000
	snapshotKeep  = 2
)

var nameForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// validate checks the settings and fills in defaults. The error is a
// *ConfigError.
func (c *Config) validate(h *Handler) error {
	bad := func(field, format string, a ...any) error { return &ConfigError{field, fmt.Sprintf(format, a...)} }
	switch {
	case !nameForm.MatchString(c.Name):
		return bad("Name", "%q must be 1 to 64 letters, digits, dots, dashes and underscores", c.Name)
	case c.Start < LastWritten || c.Start > Named:
		return bad("Start", "%s is not known", c.Start)
	case c.Output.Queue == nil && c.Start == LastWritten:
		return bad("Start", "is last-written, but there is no output queue to find it in: set Output, or start Named")
	case c.Output.Queue != nil && c.Start == Named && !c.Stateless:
		return bad("Start", "is named, which does not say in which order the state was made: start LastWritten, or set Stateless")
	case c.Start == Named && !c.Stateless && len(c.Inputs) > 1:
		return bad("Start", "is named with several inputs and a state: nothing says in which order they made it; set an Output, or Stateless")
	case c.Output.Queue == nil && c.Output.Append != nil:
		return bad("Output", "has an Append but no Queue to read back from")
	case c.HoldBack && !c.Stateless && c.Start == Named:
		return bad("HoldBack", "with start named keeps what is not handled, and not what the state is made of: set Stateless, or hold back otherwise")
	case c.HoldBack && c.Output.Queue == nil && c.Start != Named:
		return bad("HoldBack", "needs an Output, or start named: a service that starts at the %s does not need what it has not handled", c.Start)
	case c.HoldBack && !c.Stateless && c.Snapshots.Dir == "":
		return bad("HoldBack", "would keep every input for ever: set Stateless or Snapshots")
	case c.Snapshots.Every < 0 || c.Snapshots.Keep < 0:
		return bad("Snapshots", "must not have negative numbers")
	case c.Snapshots.Dir != "" && c.Stateless:
		return bad("Snapshots", "are of a state, and Stateless says that there is none")
	case c.Snapshots.Dir != "" && h.snapshotter == nil:
		return bad("Snapshots", "need a handler with Snapshot and Restore; %s has none", h.name)
	}
	if err := c.validateInputs(bad); err != nil {
		return err
	}
	c.fill()
	return nil
}

func (c *Config) validateInputs(bad func(field, format string, a ...any) error) error {
	if len(c.Inputs) == 0 {
		return bad("Inputs", "must have at least one")
	}
	ids, queues := map[uint32]bool{}, map[*queue.Queue]bool{c.Output.Queue: true, c.DeadLetters.Queue: true}
	for k, in := range c.Inputs {
		field := fmt.Sprintf("Inputs[%d]", k)
		switch {
		case in.Queue == nil:
			return bad(field, "has no Queue")
		case in.ID == 0:
			return bad(field, "has no ID: histories name the queue by it, from 1 up")
		case ids[in.ID]:
			return bad(field, "has ID %d, which another input has", in.ID)
		case queues[in.Queue]:
			return bad(field, "is a queue that the service reads or writes already")
		}
		ids[in.ID], queues[in.Queue] = true, true
	}
	if c.DeadLetters.Queue != nil && c.DeadLetters.Queue == c.Output.Queue {
		return bad("DeadLetters", "must not be the output queue")
	}
	return nil
}

func (c *Config) fill() {
	for _, o := range []*Output{&c.Output, &c.DeadLetters} {
		if o.Queue == nil {
			continue
		}
		q := o.Queue
		if o.Append == nil {
			o.Append = func(_ context.Context, ps ...[]byte) (queue.Index, error) { return q.AppendBatch(ps...) }
		}
		if o.Committed == nil {
			o.Committed = q.WaitDurable
		}
	}
	if c.Snapshots.Every == 0 {
		c.Snapshots.Every = snapshotEvery
	}
	if c.Snapshots.Keep == 0 {
		c.Snapshots.Keep = snapshotKeep
	}
	if c.Snapshots.FS == nil {
		c.Snapshots.FS = queue.OS()
	}
	if c.Codec == nil {
		c.Codec = JSON
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	c.Logger = c.Logger.With("service", c.Name)
}
