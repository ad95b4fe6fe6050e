package mesh

import (
	"context"
	"errors"
	"time"
)

// Context is what a handler knows of the message it handles. It is a
// context.Context too: done when the actor is aborted, its node is closed, or the
// caller's deadline has passed. It is valid until the handler returns, and for one
// goroutine; what outlives the handler takes [Context.ReplyTo].
type Context struct {
	node     *Node
	actor    *core
	req      request // of the message being handled, if isCall
	isCall   bool
	answered bool // req has its reply, or somebody else has to give it
	derived  context.Context
	cancel   context.CancelFunc
}

// Errors of Context.Reply and Context.ReplyTo.
var (
	// ErrNoCaller: the message is a cast; nobody waits for a reply.
	ErrNoCaller = errors.New("mesh: the message is a cast, nobody waits for a reply")
	// ErrAnswered: the call has been answered, or its reply handle taken.
	ErrAnswered = errors.New("mesh: the call has been answered already")
)

// Node returns the actor's node.
func (c *Context) Node() *Node { return c.node }

// Name returns the actor's name.
func (c *Context) Name() string { return c.actor.name }

// IsCall reports whether somebody waits for a reply.
func (c *Context) IsCall() bool { return c.isCall }

// From returns the name of the node the message came from; of a cast it is not known.
func (c *Context) From() string {
	if !c.isCall {
		return ""
	}
	return c.req.from()
}

// Reply answers the call being handled with v. A handler that returns without
// having done so, or without having taken ReplyTo, has dropped the request: the
// caller gets [RemoteNoReply].
//
// It fails with [ErrNoCaller] or [ErrAnswered]. When v cannot be encoded or is too
// large, the caller gets [RemoteEncode] or [RemoteTooLarge], and Reply says so.
func (c *Context) Reply(v any) error {
	if err := c.unanswered(); err != nil {
		return err
	}
	c.answered = true
	return c.req.reply(v)
}

func (c *Context) unanswered() error {
	if !c.isCall {
		return ErrNoCaller
	}
	if c.answered {
		return ErrAnswered
	}
	return nil
}

// Stop ends this life after this message, without an error. With [RestartAlways]
// another one begins; else what waits is dropped. To have it handled first, use
// Shutdown.
func (c *Context) Stop() {
	c.actor.mu.Lock()
	defer c.actor.mu.Unlock()
	c.actor.set(wantStop)
}

// Shutdown ends the actor when the messages that wait have been handled; new ones
// are refused at once.
func (c *Context) Shutdown() { c.actor.shutdown() }

// ReplyTo takes over the call being handled: the handle answers it later, from
// anywhere. It fails with [ErrNoCaller] or [ErrAnswered].
func (c *Context) ReplyTo() (ReplyTo, error) {
	if err := c.unanswered(); err != nil {
		return ReplyTo{}, err
	}
	c.answered = true
	return c.req.detach(), nil
}

// begin and settle are around each call. The request is copied: a caller who has
// its reply uses it again.
func (c *Context) begin(r *request) { c.req, c.isCall, c.answered = *r, true, false }

func (c *Context) settle() {
	if c.cancel != nil {
		c.cancel()
		c.derived, c.cancel = nil, nil
	}
	if c.isCall && !c.answered {
		c.req.refuse(RemoteNoReply, "")
	}
	c.req, c.isCall = request{}, false
}

// Deadline returns the caller's deadline, if it has one.
func (c *Context) Deadline() (time.Time, bool) {
	if !c.isCall || c.req.deadline.IsZero() {
		return time.Time{}, false
	}
	return c.req.deadline, true
}

// Done returns a channel that is closed when the work is to be given up.
func (c *Context) Done() <-chan struct{} { return c.context().Done() }

// Err says why Done is closed.
func (c *Context) Err() error { return c.context().Err() }

// Value returns nil: nothing travels but the deadline.
func (c *Context) Value(any) any { return nil }

// context makes the real context when somebody first asks: most handlers do not.
func (c *Context) context() context.Context {
	deadline, ok := c.Deadline()
	if !ok {
		return c.actor.lifeContext()
	}
	if c.derived == nil {
		c.derived, c.cancel = context.WithDeadline(c.actor.lifeContext(), deadline)
	}
	return c.derived
}
