package pawl

import (
	"context"
	"strconv"

	"github.com/pawl-go/pawl/internal/runtime"
)

// Sync records the method's writes and reminders so far, sends the tells held,
// and returns when that, and all that the method has seen, is committed: for a
// method about to touch the outside world. A retry of the method finds what was
// recorded. Outside of methods the error is ErrNotInMethod, in a read-only one
// ErrReadOnly.
func Sync(ctx context.Context) error {
	inv := runtime.From(ctx)
	if inv == nil {
		return misuse(ErrNotInMethod, errNeedsMethod)
	}
	return inv.Sync(ctx)
}

// InvocationID names the invocation that ctx belongs to: the same over all its
// steps and attempts. It is "" outside of methods.
func InvocationID(ctx context.Context) string {
	if inv := runtime.From(ctx); inv != nil {
		return inv.ID().String()
	}
	return ""
}

// StepID names the step of the invocation, as "<id>/<step>": the same over its
// attempts, and used for nothing else, so that it can be the idempotency key of
// an action on the outside world. Outside of methods it panics: a key that is
// always the same would be worse.
func StepID(ctx context.Context) string {
	inv := inMethod(ctx, "StepID")
	return inv.ID().String() + "/" + strconv.FormatUint(uint64(inv.Step()), 10)
}

// Attempt counts the attempts of the step, from 1. It is 0 outside of methods.
func Attempt(ctx context.Context) int {
	if inv := runtime.From(ctx); inv != nil {
		return inv.Attempt()
	}
	return 0
}

// FenceToken is the actor's fence token: it rises with every placement and epoch,
// for stores that can refuse writes with an old one. Outside of methods it
// panics.
func FenceToken(ctx context.Context) uint64 { return inMethod(ctx, "FenceToken").Token() }

// CallerGone is closed when the method's caller has failed, for methods that want
// to stop early: the outcome will only serve the caller's retry. It is nil
// outside of methods.
func CallerGone(ctx context.Context) <-chan struct{} {
	if inv := runtime.From(ctx); inv != nil {
		return inv.CallerGone()
	}
	return nil
}
