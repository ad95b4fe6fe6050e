package local

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/pawl-go/pawl/engine"
)

// The rows of the flow in the store, as of the newest checkpoint:
//
//	'f' 'm'            -> where the journal goes on, epoch, counters, sessions
//	'f' 'q' id (16 B)  -> a request: pending, scheduled, parked or failed
//	'f' 'r' type id name -> a reminder
//	'f' 'u' type id    -> an actor that is paused
const (
	rowMarker   = 'm'
	rowRequest  = 'q'
	rowReminder = 'r'
	rowPaused   = 'u'
)

// row is a key and its value, or, without one, the removal of the key.
type row struct {
	key, value []byte
}

// rowState is what the store has of a request.
type rowState struct {
	saved bool   // the store has a row, or will with the checkpoint being made
	dirty bool   // it is older than the request
	snap  uint64 // the checkpoint that still has to take the request's row
}

// rowTracker knows what the next checkpoint has to write of the flow. While a
// checkpoint takes its rows, bit by bit, whatever is about to change is taken
// first, so that all rows are of one moment.
type rowTracker struct {
	full      bool   // all rows are to be written, and all others removed
	snap      uint64 // number of the checkpoint
	taking    bool
	taken     []row
	removed   []engine.ID // had rows
	reminders map[reminderKey]struct{}
	pauses    map[engine.Actor]struct{}
}

type reminderKey struct {
	actor engine.Actor
	name  string
}

// touch is called before a request changes.
func (t *rowTracker) touch(p *pending) {
	if t.taking && p.row.snap == t.snap {
		t.take(p)
	}
	p.row.dirty = true
}

// gone is called before a request is dropped.
func (t *rowTracker) gone(p *pending) {
	t.touch(p)
	if p.row.saved {
		t.removed = append(t.removed, p.req.ID)
		p.row.saved = false
	}
}

func (t *rowTracker) take(p *pending) {
	p.row.snap, p.row.dirty, p.row.saved = 0, false, true
	t.taken = append(t.taken, row{requestRowKey(p.req.ID), p.encodeRow()})
}

func (t *rowTracker) reminder(r *reminder) {
	if t.reminders == nil {
		t.reminders = map[reminderKey]struct{}{}
	}
	t.reminders[reminderKey{r.Actor, r.Name}] = struct{}{}
}

func (t *rowTracker) paused(id engine.Actor) {
	if t.pauses == nil {
		t.pauses = map[engine.Actor]struct{}{}
	}
	t.pauses[id] = struct{}{}
}

func requestRowKey(id engine.ID) []byte {
	k := append(make([]byte, 0, 18), keyFlow, rowRequest)
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(k, id.Hi), id.Lo)
}

func reminderRowKey(k reminderKey) []byte {
	return append(appendPart(appendPart([]byte{keyFlow, rowReminder}, k.actor.Type), k.actor.ID), k.name...)
}

func pausedRowKey(a engine.Actor) []byte {
	return append(appendPart([]byte{keyFlow, rowPaused}, a.Type), a.ID...)
}

// beginRows starts to take the rows of this moment. It returns the requests
// that have to be taken, and what is small enough to be taken at once.
func (f *flow) beginRows() (todo []*pending, rows []row) {
	t := f.rows
	t.snap++
	t.taking, t.taken = true, nil
	for _, p := range f.reqs {
		if p.row.dirty || t.full {
			p.row.snap = t.snap
			todo = append(todo, p)
		}
	}
	if !t.full {
		for _, id := range t.removed {
			rows = append(rows, row{key: requestRowKey(id)})
		}
	}
	t.removed = nil
	rows = append(rows, f.reminderRows()...)
	rows = append(rows, f.pausedRows()...)
	t.reminders, t.pauses = nil, nil
	return todo, append(rows, row{[]byte{keyFlow, rowMarker}, f.encodeMarker()})
}

func (f *flow) reminderRows() (rows []row) {
	add := func(k reminderKey) {
		r := row{key: reminderRowKey(k)}
		if x := f.reminders[k.actor][k.name]; x != nil {
			r.value = x.encodeRow()
		}
		rows = append(rows, r)
	}
	if !f.rows.full {
		for k := range f.rows.reminders {
			add(k)
		}
		return rows
	}
	for a, of := range f.reminders {
		for name := range of {
			add(reminderKey{a, name})
		}
	}
	return rows
}

func (f *flow) pausedRows() (rows []row) {
	if f.rows.full {
		for _, id := range f.pausedActors() {
			rows = append(rows, row{pausedRowKey(id), []byte{1}})
		}
		return rows
	}
	for id := range f.rows.pauses {
		r := row{key: pausedRowKey(id)}
		if f.paused[id] {
			r.value = []byte{1}
		}
		rows = append(rows, r)
	}
	return rows
}

// takeRows takes the rows of some of the requests that beginRows listed.
func (f *flow) takeRows(ps []*pending) {
	for _, p := range ps {
		if p.row.snap == f.rows.snap {
			f.rows.take(p)
		}
	}
}

// endRows gives the rows that were taken.
func (f *flow) endRows() []row {
	t := f.rows
	rows := t.taken
	t.taking, t.taken = false, nil
	return rows
}

// encodeMarker is the part of the flow that is no row of its own.
func (f *flow) encodeMarker() []byte {
	w := &encoder{}
	w.uint(1, uint64(f.last))
	w.uint(2, f.epoch)
	w.str(3, f.app)
	w.uint(4, f.places)
	w.uint(5, f.lastSession)
	w.str(7, f.history)
	for _, s := range f.sessions {
		at := w.open(6)
		w.uint(1, s.number)
		w.str(2, s.name)
		for _, t := range s.types {
			w.bytes(3, []byte(t))
		}
		w.shut(at)
	}
	return w.b
}

func (f *flow) decodeMarker(b []byte) error {
	d := decoder{b: b}
	for d.next() {
		switch d.n {
		case 1:
			f.last = engine.Position(d.v)
		case 2:
			f.epoch = d.v
		case 3:
			f.app = string(d.p)
		case 4:
			f.places = d.v
		case 5:
			f.lastSession = d.v
		case 6:
			var s joinedOp
			if err := s.decode(d.p); err != nil {
				return err
			}
			f.sessions[s.number] = s
		case 7:
			f.history = string(d.p)
		}
	}
	return d.err
}

// encodeRow is a request with all that is known of it.
func (p *pending) encodeRow() []byte {
	w := &encoder{b: make([]byte, 0, 128+len(p.req.Payload))}
	at := w.open(1)
	w.requestBody(p.req, engine.ID{}, false)
	w.chain(p)
	w.shut(at)
	w.uint(2, uint64(p.status))
	w.uint(3, uint64(p.at))
	w.uint(4, uint64(p.asked))
	w.uint(5, p.place)
	w.uint(6, uint64(p.attempts))
	w.uint(7, uint64(p.lost))
	w.flag(8, p.begun)
	w.uint(9, p.finger)
	for i := range p.keeps {
		k := &p.keeps[i]
		at := w.open(10)
		w.id(k.id)
		w.uint(3, uint64(k.at))
		w.flag(4, k.o != nil)
		w.outcomeBody(k.o)
		w.shut(at)
	}
	if p.ending != nil {
		w.outcome(11, &ending{id: p.req.ID, o: p.ending})
	}
	if p.end != nil {
		w.outcome(12, p.end)
	}
	w.flag(13, p.actor != nil && p.actor.holder == p)
	return w.b
}

// chain writes the callers of a request whose caller is not in the flow any
// more, as an operator's force leaves it: they still say what it may pass.
func (w *encoder) chain(p *pending) {
	c := p.req.Caller
	if c == nil || p.parent != nil && &p.parent.req.Frame == c {
		return
	}
	for ; c != nil; c = c.Caller {
		at := w.open(19)
		w.id(c.ID)
		w.actor(3, c.Actor)
		w.uint(5, uint64(c.Depth))
		w.shut(at)
	}
}

// savedRequest is a decoded row of a request.
type savedRequest struct {
	p     *pending
	op    requestOp
	holds bool
}

func (s *savedRequest) decode(b []byte, names *names) error {
	d, p := decoder{b: b}, &pending{}
	s.p = p
	for d.next() {
		switch d.n {
		case 1:
			if err := s.op.decode(d.p, names); err != nil {
				return err
			}
		case 2:
			p.status = status(d.v)
		case 3:
			p.at = engine.Position(d.v)
		case 4:
			p.asked = engine.Position(d.v)
		case 5:
			p.place = d.v
		case 6:
			p.attempts = uint32(d.v)
		case 7:
			p.lost = uint32(d.v)
		case 8:
			p.begun = d.v != 0
		case 9:
			p.finger = d.v
		case 10:
			k, err := decodeKept(d.p)
			if err != nil {
				return err
			}
			p.keeps = append(p.keeps, k)
		case 11, 12:
			x := &outcomeOp{}
			if err := x.decode(d.p); err != nil {
				return err
			}
			if d.n == 11 {
				p.ending = &x.out
			} else {
				p.end = &x.ending
			}
		case 13:
			s.holds = d.v != 0
		}
	}
	if s.op.r == nil {
		return errBadRecord
	}
	p.req = s.op.r
	p.row.saved = true
	return d.err
}

func decodeKept(b []byte) (k kept, err error) {
	d := decoder{b: b}
	o, has := &engine.Outcome{}, false
	for d.next() {
		switch d.n {
		case 1, 2:
			d.id(&k.id, d.n-1)
		case 3:
			k.at = engine.Position(d.v)
		case 4:
			has = d.v != 0
		case 6:
			o.Value = d.bytes()
		case 7:
			if o.Failure, err = decodeFailure(d.p, 0); err != nil {
				return k, err
			}
		}
	}
	if has {
		k.o = o
	}
	return k, d.err
}

func (r *reminder) encodeRow() []byte {
	w := &encoder{}
	w.reminder(&engine.ReminderChange{Reminder: r.Reminder})
	w.uint(2, uint64(r.generation))
	return w.b
}

func decodeReminderRow(b []byte) (c engine.ReminderChange, generation engine.Position, err error) {
	d := decoder{b: b}
	for d.next() {
		switch d.n {
		case opReminder:
			if c, err = decodeReminder(d.p); err != nil {
				return c, 0, err
			}
		case 2:
			generation = engine.Position(d.v)
		}
	}
	return c, generation, d.err
}

// adoptRows puts decoded rows of requests into the empty flow.
func (f *flow) adoptRows(saved []*savedRequest) error {
	slices.SortFunc(saved, func(x, y *savedRequest) int { return cmp.Compare(x.p.place, y.p.place) })
	for _, s := range saved {
		if s.p.status >= ended || f.reqs[s.p.req.ID] != nil {
			return fmt.Errorf("read row of %s: status %d: %w", s.p.req.ID, s.p.status, errBadRecord)
		}
		f.reqs[s.p.req.ID] = s.p
	}
	for _, s := range saved {
		p := s.p
		p.req.Caller = f.savedCaller(s)
		f.count[p.status]++
		switch p.status {
		case inFlow:
			f.adopt(p)
			p.actor = f.entry(p.req.Actor)
			p.actor.line.Add(p)
		case scheduled:
			f.due.push(p.req.NotBefore, p, nil)
		case failed:
			f.failed = append(f.failed, p)
		case parked:
			if s.holds {
				p.actor = f.entry(p.req.Actor)
				p.actor.line.Add(p)
				p.actor.holder = p
			}
		}
	}
	slices.SortFunc(f.failed, func(x, y *pending) int { return cmp.Compare(x.at, y.at) })
	return nil
}

// savedCaller gives the frame of the caller: that of the invocation in the
// flow, or of one that has ended.
func (f *flow) savedCaller(s *savedRequest) *engine.Frame {
	if s.op.caller.IsZero() {
		return nil
	}
	if len(s.op.chain) == 0 {
		return f.frameOf(s.op.caller)
	}
	var c *engine.Frame
	for _, fr := range slices.Backward(s.op.chain) {
		fr.Caller = c
		c = &fr
	}
	return c
}
