package runtime

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/pawl-go/pawl/engine"
)

// Remind sets or removes a reminder from outside of methods, and returns when
// that is committed. If the incarnation ends meanwhile, the next one finds out whether
// it is recorded, and does it again if it is not.
func (c *Component) Remind(ctx context.Context, ch engine.ReminderChange) error {
	n, err := c.present(ctx)
	if err != nil {
		return err
	}
	for left := false; ; {
		sent, err := n.tryRemind(ctx, ch)
		if !errors.Is(err, engine.ErrFenced) {
			return err
		}
		left = left || sent
		next, gone := n.after(ctx)
		switch {
		case gone == nil:
		case !left || errors.Is(gone, engine.ErrFenced):
			return err
		default:
			return unknownReminder(&ch, context.Cause(ctx))
		}
		if n = next; !left {
			continue
		}
		done, err := n.reminded(ctx, &ch)
		if done || err != nil && !errors.Is(err, engine.ErrFenced) {
			return err
		}
	}
}

// tryRemind changes a reminder in this incarnation. Sent says that the change may be
// recorded although there is an error.
func (c *Component) tryRemind(ctx context.Context, ch engine.ReminderChange) (sent bool, err error) {
	if err := c.open(); err != nil {
		return false, err
	}
	at, err := c.session.Send(engine.Attempt{}, &engine.Effects{Reminders: []engine.ReminderChange{ch}})
	if err == nil {
		err = c.commit(ctx, at)
	}
	if err == nil && c.trace != nil {
		c.traceRelease("ack", engine.ID{}, at, nil)
	}
	return true, err
}

// reminded reports whether a change that was sent in an incarnation before is recorded.
// A reminder for once that is due by now, and not there, may have fired or may never have
// been set: that is not known, and to set it again could fire it twice.
func (c *Component) reminded(ctx context.Context, ch *engine.ReminderChange) (bool, error) {
	list, err := c.session.Reminders(ctx, ch.Actor)
	if err == nil {
		err = c.commit(ctx, c.session.Last())
	}
	if err != nil {
		return false, err
	}
	i := slices.IndexFunc(list, func(r engine.Reminder) bool { return r.Name == ch.Name })
	switch {
	case ch.Remove:
		return i < 0, nil
	case i >= 0 && comesFrom(&list[i], &ch.Reminder):
		return true, nil
	case ch.Every == 0 && !ch.Due.After(time.Now()):
		return false, unknownReminder(ch, errors.New("it was due while the engine was away: it may have fired"))
	}
	return false, nil
}

// comesFrom reports whether r is the reminder set, having fired any number of times.
func comesFrom(r, set *engine.Reminder) bool {
	late := r.Due.Sub(set.Due)
	return r.Method == set.Method && r.Every == set.Every && r.Misfire == set.Misfire && bytes.Equal(r.Payload, set.Payload) &&
		(late == 0 || late > 0 && set.Every > 0 && late%set.Every == 0)
}

// unknownReminder says that a change may be recorded.
func unknownReminder(ch *engine.ReminderChange, cause error) error {
	return &engine.Error{Code: engine.ErrOutcomeUnknown, Actor: ch.Actor.String(), Err: fmt.Errorf("change reminder %q: %w", ch.Name, cause)}
}
