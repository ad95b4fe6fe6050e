// Package pawl builds fault-tolerant programs from actors: Go values with plain
// methods, whose state and calls survive the failure of any process. A method that
// was called and has not ended is run again, elsewhere if need be; one that has
// ended never is.
//
// # Actors
//
// An actor is a stateful instance named by a type and an id. It comes into being
// when it is first called, runs one method at a time, and keeps its durable state
// in cells ([Value], [Map]):
//
//	type Account struct{ balance pawl.Value[int64] }
//
//	func (a *Account) Deposit(ctx context.Context, d Deposit) (int64, error) {
//		return a.balance.Update(ctx, func(b int64) int64 { return b + d.Amount }), nil
//	}
//
// A method is callable when it has this shape, with [None] for what is not there.
// Calls name it by its method expression; no code is generated and no name is a
// string:
//
//	app, err := pawl.Open(ctx, "local:./data", pawl.Config{App: "bank"})
//	pawl.Register[Account](app)
//	err = app.Start(ctx)
//	balance, err := pawl.Call(app.Context(ctx), pawl.Actor[*Account]("alice"), (*Account).Deposit, Deposit{Amount: 5})
//
// # Calls
//
// [Call] waits for the result; in a method it is nested, and a retry of the method
// waits until the callee has ended. [Go] calls beside the method. [Tell] does not
// wait. [Start] and [Attach] are for invocations with an id to wait on from any
// process. [TailCall] ends a method's step and starts another, on any actor, as one:
// a chain of tail calls is a workflow without a half.
//
// # Promises
//
// A request that was accepted is run until it has an outcome, by one attempt at a
// time, and never again after it. A method's writes, reminders and tells are
// recorded with its outcome or not at all, so that "add one and return the new
// value" is exactly once without further care. A retry begins only when every call
// of the attempt before it has ended. What a method does directly to the outside
// world may repeat: [StepID] is the idempotency key for it, [Sync] records what must
// stand before it, and [FenceToken] is for stores that refuse old writers.
//
// # Errors
//
// A method's error is an outcome and reaches whoever waits, over any number of hops,
// so that errors.Is and errors.As find in it what was registered ([RegisterError],
// [RegisterErrorType]). Errors of the infrastructure are no outcomes: a method that
// returns one ([Temporary]) is run again, unless it is marked [Final]. Errors of
// Pawl's own are [Error] with one of the codes below.
package pawl
