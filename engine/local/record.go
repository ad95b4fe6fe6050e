package local

import (
	"encoding/binary"
	"sync"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/pawl-go/pawl/engine"
)

// The kinds of ops: the field numbers of Record in journal.proto. A number is
// never used for anything else, since old journals hold it.
const (
	opOpened    protowire.Number = 1
	opJoined    protowire.Number = 2
	opLost      protowire.Number = 3
	opRequest   protowire.Number = 4
	opWrites    protowire.Number = 5
	opReminder  protowire.Number = 6
	opOutcome   protowire.Number = 7
	opBegin     protowire.Number = 8
	opEnding    protowire.Number = 9
	opParked    protowire.Number = 10
	opResumed   protowire.Number = 11
	opSettled   protowire.Number = 12
	opDue       protowire.Number = 13
	opAdvanced  protowire.Number = 14
	opPostponed protowire.Number = 15
	opPaused    protowire.Number = 16
	opPurged    protowire.Number = 17
)

// encoder builds one record: ops in the order in which they are applied. It
// is used before the engine's lock is taken, as far as possible.
type encoder struct {
	b     []byte
	asked int // offset of the outcome's request position, patched under the lock; 0: none
	maker maker
}

var encoders = sync.Pool{New: func() any { return &encoder{b: make([]byte, 0, 512)} }}

func newEncoder() *encoder {
	w := encoders.Get().(*encoder)
	w.reset()
	w.maker = maker{}
	return w
}

// free gives the encoder back; one that a large record has blown up is dropped.
func (w *encoder) free() {
	if cap(w.b) <= 64<<10 {
		encoders.Put(w)
	}
}

func (w *encoder) reset() { w.b, w.asked = w.b[:0], 0 }

func (w *encoder) empty() bool { return len(w.b) == 0 }

// The put functions append one field to b, by the rules of protobuf; zero
// values are left out. They take and return the slice, so that it stays in
// registers on the hot path.

func putTag(b []byte, n protowire.Number, t protowire.Type) []byte {
	if n < 16 {
		return append(b, byte(n)<<3|byte(t))
	}
	return protowire.AppendTag(b, n, t)
}

func putUint(b []byte, n protowire.Number, v uint64) []byte {
	if v == 0 {
		return b
	}
	return binary.AppendUvarint(putTag(b, n, protowire.VarintType), v)
}

func putFixed(b []byte, n protowire.Number, v uint64) []byte {
	return binary.LittleEndian.AppendUint64(putTag(b, n, protowire.Fixed64Type), v)
}

func putString(b []byte, n protowire.Number, s string) []byte {
	if s == "" {
		return b
	}
	return append(binary.AppendUvarint(putTag(b, n, protowire.BytesType), uint64(len(s))), s...)
}

// putBytes leaves out nil only: an empty value is a value.
func putBytes(b []byte, n protowire.Number, v []byte) []byte {
	if v == nil {
		return b
	}
	return append(binary.AppendUvarint(putTag(b, n, protowire.BytesType), uint64(len(v))), v...)
}

// putID writes an id as two fields, n and n+1.
func putID(b []byte, n protowire.Number, id engine.ID) []byte {
	return putUint(putUint(b, n, id.Hi), n+1, id.Lo)
}

func putTime(b []byte, n protowire.Number, t time.Time) []byte {
	if t.IsZero() {
		return b
	}
	return putFixed(b, n, uint64(nanos(t)))
}

// open begins a length-delimited field and returns where its body starts.
func (w *encoder) open(n protowire.Number) int {
	w.b = append(putTag(w.b, n, protowire.BytesType), 0)
	return len(w.b)
}

// shut ends the field whose body starts at from: the length takes the byte
// that was left for it, and pushes the body on if it needs more.
func (w *encoder) shut(from int) {
	n := len(w.b) - from
	if n < 0x80 {
		w.b[from-1] = byte(n)
		return
	}
	more := protowire.SizeVarint(uint64(n)) - 1
	w.b = append(w.b, make([]byte, more)...)
	copy(w.b[from+more:], w.b[from:from+n])
	protowire.AppendVarint(w.b[:from-1], uint64(n))
	if w.asked >= from {
		w.asked += more
	}
}

func (w *encoder) uint(n protowire.Number, v uint64)    { w.b = putUint(w.b, n, v) }
func (w *encoder) str(n protowire.Number, s string)     { w.b = putString(w.b, n, s) }
func (w *encoder) bytes(n protowire.Number, b []byte)   { w.b = putBytes(w.b, n, b) }
func (w *encoder) time(n protowire.Number, t time.Time) { w.b = putTime(w.b, n, t) }
func (w *encoder) id(id engine.ID)                      { w.b = putID(w.b, 1, id) }

func (w *encoder) flag(n protowire.Number, v bool) {
	if v {
		w.uint(n, 1)
	}
}

// nanos is t in nanoseconds since 1970, and the nearest there is for a time
// that does not fit.
func nanos(t time.Time) int64 {
	switch s := t.Unix(); {
	case s > 9_223_372_035:
		return 1<<63 - 1
	case s < -9_223_372_035:
		return -1<<63 + 1
	}
	return t.UnixNano()
}

func (w *encoder) actor(n protowire.Number, a engine.Actor) {
	w.str(n, a.Type)
	w.str(n+1, a.ID)
}

// idOp writes an op that only names an invocation.
func (w *encoder) idOp(op protowire.Number, id engine.ID) {
	at := w.open(op)
	w.id(id)
	w.shut(at)
}

func (w *encoder) opened(epoch uint64, app string) {
	at := w.open(opOpened)
	w.uint(1, epoch)
	w.str(2, app)
	w.shut(at)
}

func (w *encoder) joined(number uint64, c *engine.Component) {
	at := w.open(opJoined)
	w.uint(1, number)
	w.str(2, c.Name)
	for i := range c.Types {
		w.bytes(3, []byte(c.Types[i].Name))
	}
	w.shut(at)
}

// The bits of a request's flags.
const (
	flagOnce = 1 << iota
	flagKeyed
	flagInPlace
	flagScheduled
)

// request writes the op by which a request enters the flow (or the schedule).
// Sender is the attempt that made it, kept for tells made once.
func (w *encoder) request(r *engine.Request, sender engine.ID, scheduled bool) {
	at := w.open(opRequest)
	w.requestBody(r, sender, scheduled)
	w.shut(at)
}

func (w *encoder) requestBody(r *engine.Request, sender engine.ID, scheduled bool) {
	b := putID(w.b, 1, r.ID)
	b = putString(b, 3, r.Actor.Type)
	b = putString(b, 4, r.Actor.ID)
	b = putString(b, 5, r.Method)
	b = putBytes(b, 6, r.Payload)
	if r.Caller != nil {
		b = putCallers(b, r)
	}
	b = putUint(b, 9, uint64(r.Step-1))
	b = putUint(b, 10, uint64(r.Kind))
	b = putUint(b, 11, requestFlags(r, scheduled))
	b = putID(b, 12, r.Waiter)
	b = putTime(b, 14, r.NotBefore)
	b = putTime(b, 15, r.Created)
	b = putUint(b, 16, uint64(r.Depth))
	if r.Once && r.Kind == engine.KindTell {
		b = putID(b, 17, sender)
	}
	w.b = b
}

func requestFlags(r *engine.Request, scheduled bool) (v uint64) {
	if r.Once {
		v |= flagOnce
	}
	if r.Keyed {
		v |= flagKeyed
	}
	if r.InPlace {
		v |= flagInPlace
	}
	if scheduled {
		v |= flagScheduled
	}
	return v
}

// writes names the actor by the invocation that writes, or, for an operator's
// writes, by itself.
func (w *encoder) writes(by engine.ID, a engine.Actor, ws []engine.Write) {
	if len(ws) == 0 {
		return
	}
	at := w.open(opWrites)
	w.b = putID(w.b, 1, by)
	w.actor(3, a)
	for i := range ws {
		x := &ws[i]
		from := w.open(5)
		b := putUint(w.b, 1, uint64(x.Op))
		b = putString(b, 2, x.Cell)
		b = putString(b, 3, x.Entry)
		if x.InMap {
			b = putUint(b, 4, 1)
		}
		if x.Op == engine.Put {
			b = putBytes(b, 5, x.Value)
		}
		w.b = b
		w.shut(from)
	}
	w.shut(at)
}

func (w *encoder) reminder(c *engine.ReminderChange) {
	at := w.open(opReminder)
	w.actor(1, c.Actor)
	w.str(3, c.Name)
	if c.Remove {
		w.flag(4, true)
	} else {
		w.str(5, c.Method)
		w.bytes(6, c.Payload)
		w.time(7, c.Due)
		w.uint(8, uint64(c.Every))
		w.uint(9, uint64(c.Misfire))
	}
	w.shut(at)
}

// effects writes everything of e but the requests that skip names.
func (w *encoder) effects(by engine.ID, e *engine.Effects, scheduled time.Time, skip []bool) {
	w.writes(by, engine.Actor{}, e.Writes)
	for i := range e.Reminders {
		w.reminder(&e.Reminders[i])
	}
	for i, r := range e.Requests {
		if skip == nil || !skip[i] {
			w.request(r, by, isScheduled(r, scheduled))
		}
	}
}

// isScheduled reports whether r stays out of the flow for now.
func isScheduled(r *engine.Request, now time.Time) bool {
	return !r.NotBefore.IsZero() && r.NotBefore.After(now)
}

// The bits of an outcome's flags.
const (
	flagForced   = 1 << iota // the code of the attempt may still run
	flagOperator             // ended by an operator, or as an orphan
	flagKept                 // a tell that failed, and is kept for an operator
)

// ending is an outcome as it is recorded.
type ending struct {
	id     engine.ID
	step   uint32
	o      *engine.Outcome
	ended  time.Time
	flags  uint64
	finger uint64 // fingerprint of a keyed request; 0 for others
}

// outcome writes how a step ends. The position of its request is not known
// before the lock is taken: see patch.
func (w *encoder) outcome(op protowire.Number, x *ending) {
	at := w.open(op)
	b := putFixed(putID(w.b, 1, x.id), 4, 0)
	w.asked = len(b) - 8
	b = append(b, 10<<3|byte(protowire.VarintType), byte(x.flags)) // one byte, see patch
	b = putUint(b, 3, uint64(x.step))
	w.b = putTime(b, 5, x.ended)
	w.outcomeBody(x.o)
	if x.finger != 0 {
		w.b = putFixed(w.b, 9, x.finger)
	}
	w.shut(at)
}

func (w *encoder) outcomeBody(o *engine.Outcome) {
	switch {
	case o == nil:
	case o.Failure != nil:
		w.failure(7, o.Failure)
	case o.Tail != nil:
		at := w.open(8)
		w.tail(o.Tail)
		w.shut(at)
	default:
		w.bytes(6, o.Value)
	}
}

// tail writes the request of the next step. A replay takes what the chain
// keeps from the step before; it is written for looking back.
func (w *encoder) tail(r *engine.Request) {
	w.actor(3, r.Actor)
	w.str(5, r.Method)
	w.bytes(6, r.Payload)
	if r.Caller != nil {
		w.b = putCallers(w.b, r)
	}
	w.uint(9, uint64(r.Step-1))
	w.uint(10, uint64(r.Kind))
	w.uint(11, requestFlags(r, false))
	w.time(15, r.Created)
}

// putCallers names the caller, and the outermost one for looking back.
func putCallers(b []byte, r *engine.Request) []byte {
	b = putID(b, 7, r.Caller.ID)
	if r.Caller.Caller != nil {
		b = putID(b, 20, r.Root().ID)
	}
	return b
}

// patch puts in what is known under the lock only: the record by which the
// ending request stands in the flow, and the flags.
func (w *encoder) patch(asked engine.Position, flags uint64) {
	if w.asked != 0 {
		binary.LittleEndian.PutUint64(w.b[w.asked:], uint64(asked))
		w.b[w.asked+9] = byte(flags)
	}
}

func (w *encoder) failure(n protowire.Number, f *engine.Failure) {
	if f == nil {
		return
	}
	at := w.open(n)
	w.uint(1, uint64(f.Kind))
	w.str(2, f.Code)
	w.str(3, f.Message)
	w.bytes(4, f.Detail)
	w.str(5, f.Invocation)
	w.str(6, f.Actor)
	w.str(7, f.Method)
	for _, c := range f.Causes {
		w.failure(8, c)
	}
	w.shut(at)
}

func (w *encoder) begin(by engine.Attempt) {
	at := w.open(opBegin)
	w.id(by.ID)
	w.uint(3, uint64(by.Step))
	w.uint(4, uint64(by.N))
	w.shut(at)
}

func (w *encoder) postponed(by engine.Attempt) {
	at := w.open(opPostponed)
	w.id(by.ID)
	w.uint(4, uint64(by.N))
	w.shut(at)
}

func (w *encoder) parked(id engine.ID, f *engine.Failure, when time.Time) {
	at := w.open(opParked)
	w.id(id)
	w.failure(3, f)
	w.time(4, when)
	w.shut(at)
}

func (w *encoder) advanced(a engine.Actor, name string, due time.Time) {
	at := w.open(opAdvanced)
	w.actor(1, a)
	w.str(3, name)
	w.time(4, due)
	w.shut(at)
}

func (w *encoder) paused(a engine.Actor, on bool) {
	at := w.open(opPaused)
	w.actor(1, a)
	w.flag(3, on)
	w.shut(at)
}

func (w *encoder) purged(a engine.Actor) {
	at := w.open(opPurged)
	w.actor(1, a)
	w.shut(at)
}

// lost writes what the end of sessions does to the flow.
func (w *encoder) lost(l *losses) {
	at := w.open(opLost)
	for _, s := range l.sessions {
		w.uint(1, s)
	}
	w.flag(2, l.left)
	for _, c := range l.counted {
		from := w.open(3)
		w.id(c.id)
		w.uint(3, uint64(c.attempts))
		w.uint(4, uint64(c.lost))
		w.shut(from)
	}
	for _, id := range l.orphans {
		from := w.open(4)
		w.id(id)
		w.shut(from)
	}
	w.time(5, l.when)
	w.shut(at)
}
