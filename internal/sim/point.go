package sim

import (
	"context"
	"fmt"
	"strings"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/internal/runtime"
)

// Kind says at which step a point stands.
type Kind string

// The steps that can fail.
const (
	Start    Kind = "start"    // an attempt is to begin: asked before, on the goroutine that would run it
	Begin    Kind = "begin"    // Session.Begin: the beginning is recorded, with the writes so far of the one below it
	Send     Kind = "send"     // Session.Send: requests, a Sync, reminders
	Finish   Kind = "finish"   // Session.Finish: the outcome
	Park     Kind = "park"     // Session.Park
	Postpone Kind = "postpone" // Session.Postpone
	Commit   Kind = "commit"   // Session.Wait: for a record to count
	Fenced   Kind = "fenced"   // the component learns that it was declared failed: asked before
)

// Point is a place before or after a step. Its text is the same whenever a
// program is run with the same choices.
type Point struct {
	Kind      Kind
	After     bool
	Component string
	Session   uint64
	// Attempt is whose step it is; zero for a client outside and for the component
	// itself. Actor and Method are those of the attempt, or else of Request.
	Attempt engine.Attempt
	Actor   engine.Actor
	Method  string
	Client  string          // who acts, if it is a client named by AsClient
	Request *engine.Request // the first request sent, or the one that starts; read-only
	Outcome *engine.Outcome // of a Finish; read-only
	At      engine.Position // the record: of a Commit, and of what was done when After is set
}

// String gives "before send A/1.m (1-2 step 1 attempt 1) at c1 of B/2.n".
func (p Point) String() string {
	var b strings.Builder
	when := "before "
	if p.After {
		when = "after "
	}
	b.WriteString(when + string(p.Kind))
	if p.Actor != (engine.Actor{}) {
		b.WriteString(" " + p.Actor.String() + "." + p.Method)
	}
	if !p.Attempt.ID.IsZero() {
		b.WriteString(" (" + attemptText(p.Attempt) + ")")
	}
	if p.Client != "" {
		b.WriteString(" by " + p.Client)
	}
	b.WriteString(" at " + p.Component)
	if r := p.Request; r != nil && r.Actor != p.Actor {
		b.WriteString(" of " + r.Actor.String() + "." + r.Method)
	}
	return b.String()
}

type clientKey struct{}

// AsClient names the client outside that acts with ctx, for Point.Client where
// the step has a context (Commit).
func AsClient(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, clientKey{}, name)
}

// whose fills in who acts with ctx.
func (p *Point) whose(ctx context.Context) {
	if inv := runtime.From(ctx); inv != nil {
		p.Attempt = engine.Attempt{ID: inv.ID(), Step: inv.Step(), N: uint32(inv.Attempt())}
		p.Actor, p.Method = inv.Self(), inv.Method()
		return
	}
	p.Client, _ = ctx.Value(clientKey{}).(string)
}

func attemptText(a engine.Attempt) string {
	return fmt.Sprintf("%v step %d attempt %d", a.ID, a.Step, a.N)
}
