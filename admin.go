package pawl

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"time"

	"github.com/pawl-go/pawl/engine"
)

// Admin is what an operator may do. Every act is committed before it returns; the
// error is ErrNotFound for what is not there, ErrNoApp before Start. All methods
// are safe for concurrent use.
type Admin struct{ app *App }

// Admin gives the abilities of an operator of the whole application.
func (a *App) Admin() *Admin { return &Admin{a} }

// Query selects invocations; zero fields select all.
type Query struct {
	Kind, ID, Method string    // the actor's type and id, the method
	Status           string    // as [Invocation].Status
	Root             string    // those with this outermost caller, by its id
	Key              string    // the idempotency key
	Since            time.Time // asked for at or after
	Limit            int       // 0: no limit
}

// Invocation is what is known of one, at its present or last step.
type Invocation struct {
	ID     string
	Status string // scheduled, pending, running, parked, failed, done, error, canceled
	Actor  string // "Type/ID", for people
	Method string

	Kind, ActorID string // the parts of Actor
	Step          int    // from 1; each tail call adds one
	Attempts      int    // of the step, begun so far
	Lost          int    // attempts that ended by the death of their process
	Caller, Root  string // ids; "" and its own if nobody inside waits for it
	Depth         int    // callers above
	Host          string // the component on which its actor is placed
	Created       time.Time
	NotBefore     time.Time // of a delayed tell
	Ended         time.Time
	Input         json.RawMessage
	Output        json.RawMessage // once it is done
	Err           error           // once it has ended with one, or is parked or failed
	Callees       []string        // nested in it, in the flow now
	WaitsFor      []string        // before it on its actor
}

// Invocations lists invocations, newest first. An error ends the iteration.
func (a *Admin) Invocations(ctx context.Context, q Query) iter.Seq2[Invocation, error] {
	return func(yield func(Invocation, error) bool) {
		op, err := a.operator()
		eq := engine.Query{
			Type: q.Kind, ID: q.ID, Method: q.Method, Status: engine.Status(q.Status),
			Key: q.Key, Since: q.Since, Limit: q.Limit,
		}
		if err == nil && q.Root != "" {
			eq.Root, err = parseID(q.Root)
		}
		if err != nil {
			yield(Invocation{}, err)
			return
		}
		for info, err := range op.Invocations(ctx, eq) {
			if err != nil {
				yield(Invocation{}, fmt.Errorf("list invocations: %w", err))
				return
			}
			if !yield(invocationOf(&info), nil) {
				return
			}
		}
	}
}

// Invocation returns one by its id; ErrNotFound if it is unknown or no longer
// kept.
func (a *Admin) Invocation(ctx context.Context, id string) (Invocation, error) {
	var inv Invocation
	err := a.on(id, "look up", func(op engine.Operator, id engine.ID) error {
		info, err := op.Invocation(ctx, id)
		if err == nil {
			inv = invocationOf(&info)
		}
		return err
	})
	return inv, err
}

func invocationOf(info *engine.Info) Invocation {
	r := info.Request
	inv := Invocation{
		ID: r.ID.String(), Status: string(info.Status), Actor: r.Actor.String(), Method: r.Method,
		Kind: r.Actor.Type, ActorID: r.Actor.ID,
		Step: int(r.Step), Attempts: int(info.Attempts), Lost: int(info.Lost),
		Root: r.Root().ID.String(), Depth: int(r.Depth), Host: info.Host,
		Created: r.Created, NotBefore: r.NotBefore, Ended: info.Ended,
		Input: r.Payload, Callees: idStrings(info.Callees), WaitsFor: idStrings(info.WaitsFor),
	}
	if r.Caller != nil {
		inv.Caller = r.Caller.ID.String()
	}
	if o := info.Outcome; o != nil {
		inv.Output = o.Value
		if o.Failure != nil {
			inv.Err = errorOf(o.Failure)
		}
	}
	return inv
}

func idStrings(ids []engine.ID) []string {
	if len(ids) == 0 {
		return nil
	}
	out := make([]string, len(ids))
	for i, id := range ids {
		out[i] = id.String()
	}
	return out
}

// Cancel ends an invocation with ErrCanceled: at once if it has not begun, is
// scheduled, parked or failed; else when its code has returned, whose writes and
// outcome are discarded.
func (a *Admin) Cancel(ctx context.Context, id, reason string) error {
	return a.on(id, "cancel", func(op engine.Operator, id engine.ID) error {
		return op.Cancel(ctx, id, reason, false)
	})
}

// Resume puts a parked or failed invocation at the end of the flow.
func (a *Admin) Resume(ctx context.Context, id string) error {
	return a.on(id, "resume", func(op engine.Operator, id engine.ID) error { return op.Resume(ctx, id) })
}

// Skip drops a parked step and releases the actor that it may hold.
func (a *Admin) Skip(ctx context.Context, id string) error {
	return a.on(id, "skip", func(op engine.Operator, id engine.ID) error { return op.Skip(ctx, id) })
}

// Answer ends an invocation with the result out, or with err if it is not nil,
// under the rules of Cancel.
func (a *Admin) Answer(ctx context.Context, id string, out any, err error) error {
	o := &engine.Outcome{}
	if err != nil {
		o.Failure = failureOf(err)
	} else if out != nil {
		if o.Value, err = encode(a.app.cfg.Codec, out); err != nil {
			return badPayload("encode", "result", out, err)
		}
		if err := checkSize(aResult, len(o.Value), a.app.cfg.Limits.Payload); err != nil {
			return err
		}
	}
	return a.on(id, "answer", func(op engine.Operator, id engine.ID) error { return op.Answer(ctx, id, o) })
}

// Pause begins nothing on an actor until Unpause. It is durable.
func (a *Admin) Pause(ctx context.Context, kind, id string) error {
	return a.onActor(kind, id, "pause", func(op engine.Operator, a engine.Actor) error { return op.Pause(ctx, a) })
}

// Unpause lets a paused actor go on.
func (a *Admin) Unpause(ctx context.Context, kind, id string) error {
	return a.onActor(kind, id, "unpause", func(op engine.Operator, a engine.Actor) error { return op.Unpause(ctx, a) })
}

// Purge cancels what waits for an actor and drops its state and reminders. It is
// refused while code runs on the actor.
func (a *Admin) Purge(ctx context.Context, kind, id string) error {
	return a.onActor(kind, id, "purge", func(op engine.Operator, a engine.Actor) error { return op.Purge(ctx, a) })
}

func (a *Admin) operator() (engine.Operator, error) {
	comp := a.app.comp.Load()
	if comp == nil {
		return nil, &Error{Code: ErrNoApp, Err: fmt.Errorf("app %s is not started", a.app.cfg.App)}
	}
	return comp.Session().Operator(), nil
}

func (a *Admin) on(id, doing string, act func(engine.Operator, engine.ID) error) error {
	op, err := a.operator()
	if err != nil {
		return err
	}
	parsed, err := parseID(id)
	if err != nil {
		return err
	}
	if err := act(op, parsed); err != nil {
		return fmt.Errorf("%s invocation %s: %w", doing, id, err)
	}
	return nil
}

func (a *Admin) onActor(kind, id, doing string, act func(engine.Operator, engine.Actor) error) error {
	op, err := a.operator()
	if err != nil {
		return err
	}
	actor := engine.Actor{Type: kind, ID: id}
	if err := act(op, actor); err != nil {
		return fmt.Errorf("%s actor %v: %w", doing, actor, err)
	}
	return nil
}

// parseID reads an invocation's id; one that cannot be one is not found.
func parseID(id string) (engine.ID, error) {
	parsed, err := engine.ParseID(id)
	if err != nil {
		return engine.ID{}, &Error{Code: ErrNotFound, Invocation: id, Err: err}
	}
	return parsed, nil
}
