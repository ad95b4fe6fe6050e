package pawl

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/pawl-go/pawl/engine"
)

// When says when a reminder fires: [After], [At] or [Every].
type When interface {
	schedule() (schedule, error)
}

type schedule struct {
	due     time.Time
	every   time.Duration
	misfire Misfire
}

func (d Delay) schedule() (schedule, error) { return schedule{due: d.moment()}, nil }

// Misfire says what becomes of firings that were due while nothing ran.
type Misfire int

// The ways to deal with missed firings.
const (
	FireOnce Misfire = iota // one at once, then on schedule; the default
	FireAll                 // each of them
	FireNone                // none: on with the schedule
)

// Periodic is a schedule that repeats.
type Periodic struct {
	every   time.Duration
	from    time.Time
	misfire Misfire
}

// Every fires each d, first d from now. D must be positive.
func Every(d time.Duration) Periodic { return Periodic{every: d} }

// From sets the first firing; the schedule's later ones are at multiples of the
// period after it. A t in the past makes missed firings.
func (p Periodic) From(t time.Time) Periodic { p.from = t; return p }

// Misfire sets what becomes of missed firings; the default is FireOnce.
func (p Periodic) Misfire(m Misfire) Periodic { p.misfire = m; return p }

func (p Periodic) schedule() (schedule, error) {
	if p.every <= 0 {
		return schedule{}, fmt.Errorf("the period %v is not positive", p.every)
	}
	s := schedule{due: p.from, every: p.every, misfire: p.misfire}
	if s.due.IsZero() {
		s.due = time.Now().Add(p.every)
	}
	return s, nil
}

// Reminder is a durable timer, as [Reminders] lists it.
type Reminder struct {
	Name, Method string
	Next         time.Time     // the next firing
	Every        time.Duration // 0: once
}

// Remind sets a reminder of an actor, replacing one of the same name (of at most
// 128 bytes): a tell of the method, once or repeated, that survives every
// failure and needs no process to run until it is due. In a method it is recorded
// with the outcome, or at Sync; outside, Remind returns when it is committed. A
// firing recorded twice is one; lateness is bounded, and none is early.
func Remind[A, In, Out any](
	ctx context.Context, to Ref[A], name string, m func(A, context.Context, In) (Out, error), in In, w When,
) error {
	r, err := prepare(ctx, to, m)
	if err != nil {
		return err
	}
	if err := r.inFlow(); err != nil {
		return err
	}
	if err := r.encode(in); err != nil {
		return err
	}
	s, err := w.schedule()
	if err != nil {
		return r.about(misuse(ErrBadMethod, fmt.Errorf("set reminder %q: %w", name, err)))
	}
	return changeReminder(ctx, r.origin, engine.ReminderChange{Reminder: engine.Reminder{
		Actor: r.call.To, Name: name, Method: r.call.Method, Payload: r.call.Payload,
		Due: s.due, Every: s.every, Misfire: engine.Misfire(s.misfire),
	}})
}

// Unremind removes a reminder. It is no error if there is none. When it is
// recorded is as for [Remind].
func Unremind[A any](ctx context.Context, to Ref[A], name string) error {
	o, err := originOf(ctx)
	if err != nil {
		return err
	}
	return changeReminder(ctx, o, engine.ReminderChange{
		Reminder: engine.Reminder{Actor: to.actor(), Name: name}, Remove: true,
	})
}

func changeReminder(ctx context.Context, o origin, ch engine.ReminderChange) error {
	if err := cmp.Or(
		checkName("reminder name", ch.Name, maxName), checkName("actor id", ch.Actor.ID, maxKey),
	); err != nil {
		return err
	}
	if o.inv != nil {
		return o.inv.Remind(ch)
	}
	return o.comp.Remind(ctx, ch)
}

// Reminders lists the reminders of an actor by name: the recorded ones, in a
// method with its own changes.
func Reminders[A any](ctx context.Context, of Ref[A]) ([]Reminder, error) {
	o, err := originOf(ctx)
	if err != nil {
		return nil, err
	}
	var rs []engine.Reminder
	if o.inv != nil {
		rs, err = o.inv.Reminders(ctx, of.actor())
	} else {
		rs, err = o.comp.Session().Reminders(ctx, of.actor())
	}
	if err != nil {
		return nil, fmt.Errorf("list reminders of %v: %w", of, err)
	}
	out := make([]Reminder, len(rs))
	for i, r := range rs {
		out[i] = Reminder{Name: r.Name, Method: r.Method, Next: r.Due, Every: r.Every}
	}
	return out, nil
}
