package local

import (
	"container/heap"
	"strconv"
	"time"

	"github.com/pawl-go/pawl/engine"
)

// reminder is a durable timer on record. Its generation is the position of the
// record that set it, so that firings of an older schedule have other ids.
type reminder struct {
	engine.Reminder
	generation engine.Position
	heap       int       // in due, plus one
	fired      engine.ID // the last firing in this process
}

// remind applies the op reminder.
func (f *flow) remind(c *engine.ReminderChange, at engine.Position) {
	of := f.reminders[c.Actor]
	old := of[c.Name]
	if old != nil {
		f.forget(old)
	}
	if c.Remove {
		return
	}
	if of = f.reminders[c.Actor]; of == nil {
		of = map[string]*reminder{}
		f.reminders[c.Actor] = of
	}
	r := &reminder{Reminder: c.Reminder, generation: at}
	of[c.Name] = r
	f.due.push(r.Due, nil, r)
	f.alarm()
	f.rows.reminder(r)
}

// forget drops a reminder.
func (f *flow) forget(r *reminder) {
	of := f.reminders[r.Actor]
	delete(of, r.Name)
	if len(of) == 0 {
		delete(f.reminders, r.Actor)
	}
	f.due.remove(r.heap)
	f.rows.reminder(r)
}

// advance applies the op advanced: the reminder's next firing; none for the
// zero time.
func (f *flow) advance(a engine.Actor, name string, due time.Time) {
	r := f.reminders[a][name]
	if r == nil {
		return
	}
	if due.IsZero() {
		f.forget(r)
		return
	}
	f.due.remove(r.heap)
	r.Due = due
	f.due.push(due, nil, r)
	f.rows.reminder(r)
}

// arrive applies the op due: a delayed tell enters the flow.
func (f *flow) arrive(p *pending, at engine.Position) {
	f.rows.touch(p)
	f.count[scheduled]--
	f.due.remove(p.heap)
	f.places++
	p.at, p.place = at, f.places
	f.enter(p)
}

// firing is the request of a reminder's firing. Its id comes from the actor,
// the reminder, the generation of its schedule and the due time, so that it is
// one however often it is recorded.
func (r *reminder) firing(now time.Time) *engine.Request {
	return &engine.Request{
		Frame: engine.Frame{
			ID: engine.Derive("reminder", r.Actor.Type, r.Actor.ID, r.Name,
				strconv.FormatUint(uint64(r.generation), 10), strconv.FormatInt(nanos(r.Due), 10)),
			Actor: r.Actor,
		},
		Step: 1, Kind: engine.KindTell, Method: r.Method, Payload: r.Payload, Created: now,
	}
}

// next says what is to be done with a reminder that is due: whether it fires,
// and when it is due again, the zero time for never. Due times come from the
// schedule and never drift. Down says that it was due while nothing ran.
func (r *reminder) next(now time.Time, down bool) (fire bool, due time.Time) {
	if r.Every <= 0 {
		return r.Misfire != engine.FireNone || !down, time.Time{}
	}
	missed := now.Sub(r.Due) / r.Every
	switch r.Misfire {
	case engine.FireAll:
		return true, r.Due.Add(r.Every)
	case engine.FireNone:
		return missed == 0 && !down, r.Due.Add((missed + 1) * r.Every)
	}
	return true, r.Due.Add((missed + 1) * r.Every)
}

// dueHeap orders what waits for its time: delayed tells and reminders.
type dueHeap struct{ items []dueItem }

type dueItem struct {
	when time.Time
	tell *pending
	r    *reminder
}

func (h *dueHeap) push(when time.Time, p *pending, r *reminder) { heap.Push(h, dueItem{when, p, r}) }

// remove takes out the item whose back-reference is ref: its index plus one.
func (h *dueHeap) remove(ref int) {
	if ref > 0 {
		heap.Remove(h, ref-1)
	}
}

// first gives the next item; ok is false if there is none.
func (h *dueHeap) first() (it dueItem, ok bool) {
	if len(h.items) == 0 {
		return it, false
	}
	return h.items[0], true
}

func (it dueItem) refer(ref int) {
	if it.tell != nil {
		it.tell.heap = ref
	} else {
		it.r.heap = ref
	}
}

// Len, Less, Swap, Push and Pop implement heap.Interface.
func (h *dueHeap) Len() int           { return len(h.items) }
func (h *dueHeap) Less(i, j int) bool { return h.items[i].when.Before(h.items[j].when) }
func (h *dueHeap) Swap(i, j int) {
	h.items[i], h.items[j] = h.items[j], h.items[i]
	h.items[i].refer(i + 1)
	h.items[j].refer(j + 1)
}

func (h *dueHeap) Push(x any) {
	it := x.(dueItem)
	h.items = append(h.items, it)
	it.refer(len(h.items))
}

func (h *dueHeap) Pop() any {
	it := h.items[len(h.items)-1]
	h.items[len(h.items)-1] = dueItem{}
	h.items = h.items[:len(h.items)-1]
	it.refer(0)
	return it
}
