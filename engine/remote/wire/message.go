package wire

import (
	"errors"
	"fmt"

	"github.com/fxamacker/cbor/v2"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/engine/trace"
)

// Hello is a component's first message. With Resume it comes back as the
// session Session, whose Secret it knows; with Probe it only asks whether it
// would be taken; else it joins.
type Hello struct {
	Version  int              `cbor:"1,keyasint"`
	App      string           `cbor:"2,keyasint"`
	Token    string           `cbor:"3,keyasint,omitempty"`
	Probe    bool             `cbor:"4,keyasint,omitempty"`
	Resume   bool             `cbor:"5,keyasint,omitempty"`
	Session  uint64           `cbor:"6,keyasint,omitempty"`
	Secret   []byte           `cbor:"7,keyasint,omitempty"`
	Received uint64           `cbor:"8,keyasint,omitempty"` // the newest numbered frame taken
	Member   engine.Component `cbor:"9,keyasint,omitzero"`
}

// Welcome answers a Hello.
type Welcome struct {
	Session   uint64 `cbor:"1,keyasint,omitempty"`
	Secret    []byte `cbor:"2,keyasint,omitempty"`
	Received  uint64 `cbor:"3,keyasint,omitempty"`
	Heartbeat int64  `cbor:"4,keyasint"` // nanoseconds of silence after which a side is given up
	Traced    bool   `cbor:"5,keyasint,omitempty"`
	Server    uint64 `cbor:"6,keyasint,omitempty"` // a number drawn at the server's start
}

// Refusal says why a Hello is refused.
type Refusal struct {
	Error  Error  `cbor:"1,keyasint"`
	Server uint64 `cbor:"2,keyasint,omitempty"` // as in Welcome
}

// Fenced says why a session has ended. An empty body is a zero Fenced.
type Fenced struct {
	// Away: the server ends. Else it has declared the component failed.
	Away bool `cbor:"1,keyasint,omitempty"`
}

// Op is what a Call asks for.
type Op uint8

// The ops of calls: the methods of engine.Session and engine.Operator.
const (
	OpSend Op = iota + 1
	OpBegin
	OpFinish
	OpPark
	OpPostpone
	OpAttach
	OpDetach // no reply
	OpRead
	OpLoad
	OpLookup
	OpScan
	OpReminders
	OpRelease // no reply
	OpMembers
	OpLeave
	OpStarting // no reply: an attempt begins
	OpAnswered // no reply: the outcome of a read that the server asked for
	OpSynced   // no reply: answers EventSync
	OpInvocations
	OpInvocation
	OpCancel
	OpAnswer
	OpResume
	OpSkip
	OpPause
	OpUnpause
	OpPurge
	OpWrite
	OpActors
	OpTypes
	OpStats
	OpTail
	OpMaps
)

// Call is what a component asks for. N is the number of its Reply, or of the
// event it answers.
type Call struct {
	N       uint64          `cbor:"1,keyasint"`
	Op      Op              `cbor:"2,keyasint"`
	By      engine.Attempt  `cbor:"3,keyasint,omitzero"`
	Under   engine.Attempt  `cbor:"4,keyasint,omitzero"`
	Effects *engine.Effects `cbor:"5,keyasint,omitempty"`
	Outcome *engine.Outcome `cbor:"6,keyasint,omitempty"`
	Failure *engine.Failure `cbor:"7,keyasint,omitempty"`
	Writes  []engine.Write  `cbor:"8,keyasint,omitempty"`
	ID      engine.ID       `cbor:"9,keyasint,omitzero"`
	Actor   engine.Actor    `cbor:"10,keyasint,omitzero"`
	Key     engine.Key      `cbor:"11,keyasint,omitzero"`
	From    string          `cbor:"12,keyasint,omitempty"`
	Limit   int             `cbor:"13,keyasint,omitempty"`
	Request *engine.Request `cbor:"14,keyasint,omitempty"`
	Query   *engine.Query   `cbor:"15,keyasint,omitempty"`
	Reason  string          `cbor:"16,keyasint,omitempty"`
	Force   bool            `cbor:"17,keyasint,omitempty"`
	Error   *Error          `cbor:"18,keyasint,omitempty"`

	// Of OpTail: the record from which to read, what is selected, and how long the
	// first is waited for, in nanoseconds.
	At     engine.Position     `cbor:"19,keyasint,omitempty"`
	Events *engine.EventFilter `cbor:"20,keyasint,omitempty"`
	Wait   int64               `cbor:"21,keyasint,omitempty"`
}

// Reply answers the Call of number N. It is sent when what it says counts.
type Reply struct {
	N         uint64            `cbor:"1,keyasint"`
	Error     *Error            `cbor:"2,keyasint,omitempty"`
	At        engine.Position   `cbor:"3,keyasint,omitempty"`
	More      bool              `cbor:"4,keyasint,omitempty"` // another reply of the same number follows
	Cells     []engine.Cell     `cbor:"5,keyasint,omitempty"`
	Value     []byte            `cbor:"6,keyasint"`
	OK        bool              `cbor:"7,keyasint,omitempty"`
	Reminders []engine.Reminder `cbor:"8,keyasint,omitempty"`
	Outcome   *engine.Outcome   `cbor:"9,keyasint,omitempty"`
	Members   []engine.Member   `cbor:"10,keyasint,omitempty"`
	Infos     []engine.Info     `cbor:"11,keyasint,omitempty"`
	Actors    []engine.Actor    `cbor:"12,keyasint,omitempty"`
	Types     []string          `cbor:"13,keyasint,omitempty"`
	Stats     *engine.Stats     `cbor:"14,keyasint,omitempty"`
	Events    []engine.Event    `cbor:"15,keyasint,omitempty"` // of OpTail; At is how far it has read
	Maps      []string          `cbor:"16,keyasint,omitempty"`
}

// EventOp is what an Event says: the methods of engine.Handler.
type EventOp uint8

// The ops of events.
const (
	EventDeliver EventOp = iota + 1
	EventRespond
	EventCancel
	EventCallerGone
	EventPause
	EventForget
	EventRead // answered by OpAnswered
	EventSync // answered by OpSynced
	EventRevoke
)

// Event is what the engine tells a component.
type Event struct {
	Op       EventOp          `cbor:"1,keyasint"`
	N        uint64           `cbor:"2,keyasint,omitempty"`
	Delivery *engine.Delivery `cbor:"3,keyasint,omitempty"`
	Response *engine.Response `cbor:"4,keyasint,omitempty"`
	Request  *engine.Request  `cbor:"5,keyasint,omitempty"`
	Outcome  *engine.Outcome  `cbor:"6,keyasint,omitempty"`
	Actor    engine.Actor     `cbor:"7,keyasint,omitzero"`
	On       bool             `cbor:"8,keyasint,omitempty"`
}

// Trace holds events of a component's runtime for the server's trace.
type Trace struct {
	Events []trace.Event `cbor:"1,keyasint"`
}

// Error is an error as it crosses the connection.
type Error struct {
	Code       engine.Code `cbor:"1,keyasint,omitempty"`
	Invocation string      `cbor:"2,keyasint,omitempty"`
	Actor      string      `cbor:"3,keyasint,omitempty"`
	Method     string      `cbor:"4,keyasint,omitempty"`
	Message    string      `cbor:"5,keyasint,omitempty"` // of the cause
}

// ErrorOf makes err one that can cross; nil for nil.
func ErrorOf(err error) *Error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*engine.Error](err); ok {
		x := &Error{Code: e.Code, Invocation: e.Invocation, Actor: e.Actor, Method: e.Method}
		if e.Err != nil {
			x.Message = e.Err.Error()
		}
		return x
	}
	return &Error{Code: engine.CodeOf(err), Message: err.Error()}
}

// Err is the error again; nil for nil.
func (e *Error) Err() error {
	if e == nil {
		return nil
	}
	cause := errors.New(e.Message)
	if e.Code == "" {
		return cause
	}
	x := &engine.Error{Code: e.Code, Invocation: e.Invocation, Actor: e.Actor, Method: e.Method}
	if e.Message != "" {
		x.Err = cause
	}
	return x
}

var encoding, decoding = modes()

func modes() (cbor.EncMode, cbor.DecMode) {
	e, err := cbor.EncOptions{Time: cbor.TimeRFC3339Nano}.EncMode()
	if err != nil {
		panic(err) // constants
	}
	d, err := cbor.DecOptions{
		MaxNestedLevels:  10_000,                 // a request holds its callers, one in the other
		MaxArrayElements: 4 << 20,                // of a body of BodyLimit
		UTF8:             cbor.UTF8DecodeInvalid, // every byte string is legal in a name
	}.DecMode()
	if err != nil {
		panic(err) // constants
	}
	return e, d
}

// Encode gives the body of a message.
func Encode(message any) ([]byte, error) {
	b, err := encoding.Marshal(message)
	if err == nil && len(b) > BodyLimit {
		return nil, &engine.Error{Code: engine.ErrTooLarge, Err: fmt.Errorf("a message of %d bytes, the limit is %d", len(b), BodyLimit)}
	}
	return b, err
}

// Decode reads the body of a message into what message points to. It keeps no
// part of b.
func Decode(b []byte, message any) error {
	if err := decoding.Unmarshal(b, message); err != nil {
		return fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	return nil
}
