package local

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/pawl-go/pawl/engine"
)

var errBadRecord = errors.New("not a record of ours")

// decoder steps through the fields of a message.
//
//	for d.next() { switch d.n { case 1: d.v ...; case 2: d.p ... } }
//	if d.err != nil { ... }
type decoder struct {
	b   []byte
	n   protowire.Number
	v   uint64 // of a varint or a fixed64
	p   []byte // of a length-delimited field; a part of b
	err error
}

func (d *decoder) next() bool {
	b := d.b
	if len(b) == 0 || d.err != nil {
		return false
	}
	tag, l := varint(b)
	if l < 0 {
		return d.bad(l)
	}
	n, t := protowire.DecodeTag(tag)
	if n < protowire.MinValidNumber || n > protowire.MaxValidNumber {
		return d.bad(-1)
	}
	b = b[l:]
	d.n, d.v, d.p = n, 0, nil
	switch t {
	case protowire.VarintType:
		d.v, l = varint(b)
	case protowire.Fixed64Type:
		d.v, l = protowire.ConsumeFixed64(b)
	case protowire.BytesType:
		d.p, l = protowire.ConsumeBytes(b)
	default:
		d.err = fmt.Errorf("decode field %d: wire type %d: %w", n, t, errBadRecord)
		return false
	}
	if l < 0 {
		return d.bad(l)
	}
	d.b = b[l:]
	return true
}

// varint reads a varint; most are one byte.
func varint(b []byte) (v uint64, n int) {
	if len(b) > 0 && b[0] < 0x80 {
		return uint64(b[0]), 1
	}
	return protowire.ConsumeVarint(b)
}

func (d *decoder) bad(l int) bool {
	d.err = fmt.Errorf("decode field: %w: %w", protowire.ParseError(l), errBadRecord)
	return false
}

// bytes copies: what is decoded outlives the buffer.
func (d *decoder) bytes() []byte {
	if d.p == nil {
		return []byte{}
	}
	return bytes.Clone(d.p)
}

func (d *decoder) time() time.Time { return time.Unix(0, int64(d.v)) }

// id takes part i (0 or 1) of an id.
func (d *decoder) id(id *engine.ID, part protowire.Number) {
	if part == 0 {
		id.Hi = d.v
	} else {
		id.Lo = d.v
	}
}

// requestOp is a decoded request; the caller's frame is named by its id.
type requestOp struct {
	r         *engine.Request
	caller    engine.ID
	sender    engine.ID
	root      engine.ID // zero if the caller is the outermost one
	scheduled bool
	// chain are the frames above the caller that are not in the flow: rows only.
	chain []engine.Frame
}

func (x *requestOp) decode(b []byte, names *names) error {
	d := decoder{b: b}
	if x.r == nil {
		x.r = &engine.Request{}
	}
	r := x.r
	r.Step = 1
	for d.next() {
		switch d.n {
		case 1, 2:
			d.id(&r.ID, d.n-1)
		case 3:
			r.Actor.Type = names.of(d.p)
		case 4:
			r.Actor.ID = string(d.p)
		case 5:
			r.Method = names.of(d.p)
		case 6:
			r.Payload = d.bytes()
		case 7, 8:
			d.id(&x.caller, d.n-7)
		case 9:
			r.Step = uint32(d.v) + 1
		case 10:
			r.Kind = engine.Kind(d.v)
		case 11:
			r.Once, r.Keyed = d.v&flagOnce != 0, d.v&flagKeyed != 0
			r.InPlace, x.scheduled = d.v&flagInPlace != 0, d.v&flagScheduled != 0
		case 12, 13:
			d.id(&r.Waiter, d.n-12)
		case 14:
			r.NotBefore = d.time()
		case 15:
			r.Created = d.time()
		case 16:
			r.Depth = int32(d.v)
		case 17, 18:
			d.id(&x.sender, d.n-17)
		case 19:
			fr, err := decodeFrame(d.p)
			if err != nil {
				return err
			}
			x.chain = append(x.chain, fr)
		case 20, 21:
			d.id(&x.root, d.n-20)
		}
	}
	return d.err
}

func decodeFrame(b []byte) (fr engine.Frame, err error) {
	d := decoder{b: b}
	for d.next() {
		switch d.n {
		case 1, 2:
			d.id(&fr.ID, d.n-1)
		case 3:
			fr.Actor.Type = string(d.p)
		case 4:
			fr.Actor.ID = string(d.p)
		case 5:
			fr.Depth = int32(d.v)
		}
	}
	return fr, d.err
}

// names keeps one copy of each type and method name seen.
type names struct{ m map[string]*string }

func (n *names) of(b []byte) string {
	if s, ok := n.m[string(b)]; ok {
		return *s
	}
	return *n.keep(string(b))
}

// same gives the one copy of a name.
func (n *names) same(name string) *string {
	if s, ok := n.m[name]; ok {
		return s
	}
	return n.keep(name)
}

func (n *names) keep(s string) *string {
	if n.m == nil || len(n.m) > 10_000 {
		n.m = map[string]*string{}
	}
	n.m[s] = &s
	return &s
}

// writesOp is a decoded set of writes.
type writesOp struct {
	by    engine.ID
	actor engine.Actor
	ws    []engine.Write
}

func (x *writesOp) decode(b []byte, names *names) error {
	d := decoder{b: b}
	x.by, x.actor, x.ws = engine.ID{}, engine.Actor{}, x.ws[:0]
	for d.next() {
		switch d.n {
		case 1, 2:
			d.id(&x.by, d.n-1)
		case 3:
			x.actor.Type = string(d.p)
		case 4:
			x.actor.ID = string(d.p)
		case 5:
			w, err := decodeWrite(d.p, names)
			if err != nil {
				return err
			}
			x.ws = append(x.ws, w)
		}
	}
	return d.err
}

func decodeWrite(b []byte, names *names) (w engine.Write, err error) {
	d := decoder{b: b}
	for d.next() {
		switch d.n {
		case 1:
			w.Op = engine.WriteOp(d.v)
		case 2:
			w.Cell = names.of(d.p)
		case 3:
			w.Entry = string(d.p)
		case 4:
			w.InMap = d.v != 0
		case 5:
			w.Value = d.bytes()
		}
	}
	return w, d.err
}

func decodeReminder(b []byte) (c engine.ReminderChange, err error) {
	d := decoder{b: b}
	for d.next() {
		switch d.n {
		case 1:
			c.Actor.Type = string(d.p)
		case 2:
			c.Actor.ID = string(d.p)
		case 3:
			c.Name = string(d.p)
		case 4:
			c.Remove = d.v != 0
		case 5:
			c.Method = string(d.p)
		case 6:
			c.Payload = d.bytes()
		case 7:
			c.Due = d.time()
		case 8:
			c.Every = time.Duration(d.v)
		case 9:
			c.Misfire = engine.Misfire(d.v)
		}
	}
	return c, d.err
}

// outcomeOp is a decoded outcome.
type outcomeOp struct {
	ending
	asked engine.Position
	out   engine.Outcome
	tail  []byte // of a tail call: the body of its request
}

func (x *outcomeOp) decode(b []byte) error {
	err := x.peek(b)
	if x.out.Value != nil {
		x.out.Value = bytes.Clone(x.out.Value)
	}
	return err
}

// peek decodes, but its value is a part of b.
func (x *outcomeOp) peek(b []byte) error {
	d := decoder{b: b}
	x.o = &x.out
	for d.next() {
		switch d.n {
		case 1, 2:
			d.id(&x.id, d.n-1)
		case 3:
			x.step = uint32(d.v)
		case 4:
			x.asked = engine.Position(d.v)
		case 5:
			x.ended = d.time()
		case 6:
			x.out.Value = d.p
		case 7:
			f, err := decodeFailure(d.p, 0)
			if err != nil {
				return err
			}
			x.out.Failure = f
		case 8:
			x.tail = d.p
		case 9:
			x.finger = d.v
		case 10:
			x.flags = d.v
		}
	}
	return d.err
}

const maxCauses = 100 // depth of nested failures

func decodeFailure(b []byte, depth int) (*engine.Failure, error) {
	if depth > maxCauses {
		return nil, fmt.Errorf("decode failure: causes nested too deep: %w", errBadRecord)
	}
	d, f := decoder{b: b}, &engine.Failure{}
	for d.next() {
		switch d.n {
		case 1:
			f.Kind = engine.FailureKind(d.v)
		case 2:
			f.Code = string(d.p)
		case 3:
			f.Message = string(d.p)
		case 4:
			f.Detail = d.bytes()
		case 5:
			f.Invocation = string(d.p)
		case 6:
			f.Actor = string(d.p)
		case 7:
			f.Method = string(d.p)
		case 8:
			c, err := decodeFailure(d.p, depth+1)
			if err != nil {
				return nil, err
			}
			f.Causes = append(f.Causes, c)
		}
	}
	return f, d.err
}

// smallOp holds what the short ops need: an id, an actor, a name, a time.
type smallOp struct {
	id    engine.ID
	actor engine.Actor
	name  string
	n     [5]uint64
	time  time.Time
	fail  *engine.Failure
}

// decodeIDOp reads ops that begin with an id: begin, parked, resumed, due, ...
func decodeIDOp(b []byte) (x smallOp, err error) {
	d := decoder{b: b}
	for d.next() {
		switch {
		case d.n <= 2:
			d.id(&x.id, d.n-1)
		case d.n == 3 && d.p != nil:
			if x.fail, err = decodeFailure(d.p, 0); err != nil {
				return x, err
			}
		case d.n == 3 || d.n == 4:
			x.n[d.n] = d.v
			x.time = d.time()
		}
	}
	return x, d.err
}

// decodeActorOp reads ops that begin with an actor: advanced, paused, purged.
func decodeActorOp(b []byte) (x smallOp, err error) {
	d := decoder{b: b}
	for d.next() {
		switch d.n {
		case 1:
			x.actor.Type = string(d.p)
		case 2:
			x.actor.ID = string(d.p)
		case 3, 4:
			if d.p != nil {
				x.name = string(d.p)
			} else {
				x.n[d.n] = d.v
				x.time = d.time()
			}
		}
	}
	return x, d.err
}

// joinedOp is a decoded joining or opening.
type joinedOp struct {
	number uint64
	name   string
	types  []string
}

func (x *joinedOp) decode(b []byte) error {
	d := decoder{b: b}
	for d.next() {
		switch d.n {
		case 1:
			x.number = d.v
		case 2:
			x.name = string(d.p)
		case 3:
			x.types = append(x.types, string(d.p))
		}
	}
	return d.err
}

func (l *losses) decode(b []byte) error {
	d := decoder{b: b}
	for d.next() {
		switch d.n {
		case 1:
			l.sessions = append(l.sessions, d.v)
		case 2:
			l.left = d.v != 0
		case 3, 4:
			c, err := decodeCount(d.p)
			if err != nil {
				return err
			}
			if d.n == 3 {
				l.counted = append(l.counted, c)
			} else {
				l.orphans = append(l.orphans, c.id)
			}
		case 5:
			l.when = d.time()
		}
	}
	return d.err
}

func decodeCount(b []byte) (c count, err error) {
	d := decoder{b: b}
	for d.next() {
		switch d.n {
		case 1, 2:
			d.id(&c.id, d.n-1)
		case 3:
			c.attempts = uint32(d.v)
		case 4:
			c.lost = uint32(d.v)
		}
	}
	return c, d.err
}
