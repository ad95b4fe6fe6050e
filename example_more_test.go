package pawl_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/pawl-go/pawl"
)

// QuotaError is an error with data, found by errors.As wherever it arrives.
type QuotaError struct{ Left int }

func (e *QuotaError) Error() string { return fmt.Sprintf("%d left", e.Left) }

func init() { pawl.RegisterErrorType[*QuotaError]("shop.quota") }

// Clerk shows the smaller entry points.
type Clerk struct {
	greeting string // memory only: from newClerk
	visits   pawl.Value[int]
}

func newClerk(id string) *Clerk { return &Clerk{greeting: "I am " + id} }

// Greet knows its own name.
func (c *Clerk) Greet(ctx context.Context, guest string) (string, error) {
	self := pawl.Self(ctx, c)
	return fmt.Sprintf("%s (%v), hello %s", c.greeting, self, guest), nil
}

// Visit counts.
func (c *Clerk) Visit(ctx context.Context, _ pawl.None) (int, error) {
	return c.visits.Update(ctx, func(n int) int { return n + 1 }), nil
}

// Visits reads.
func (c *Clerk) Visits(ctx context.Context, _ pawl.None) (int, error) {
	n, _ := c.visits.Lookup(ctx)
	return n, nil
}

// Twice visits another clerk once, however often it is asked and retried.
func (c *Clerk) Twice(ctx context.Context, other pawl.Ref[*Clerk]) (int, error) {
	pawl.Call(ctx, other, (*Clerk).Visit, pawl.None{}, pawl.Once("visit"))
	return pawl.Call(ctx, other, (*Clerk).Visit, pawl.None{}, pawl.Once("visit"))
}

// Later begins work that goes on when the method has ended.
func (c *Clerk) Later(ctx context.Context, other pawl.Ref[*Clerk]) (string, error) {
	f := pawl.Go(pawl.Detach(ctx), other, (*Clerk).Visit, pawl.None{})
	return f.ID(), nil
}

// Countdown runs n steps, each of them recorded.
func (c *Clerk) Countdown(ctx context.Context, n int) (string, error) {
	if n == 0 {
		return "lift-off", nil
	}
	return pawl.TailSelf(ctx, (*Clerk).Countdown, n-1)
}

// Buy fails with data.
func (c *Clerk) Buy(context.Context, pawl.None) (pawl.None, error) {
	return pawl.None{}, fmt.Errorf("buy: %w", &QuotaError{Left: 2})
}

// Ask does not want to be retried.
func (c *Clerk) Ask(context.Context, pawl.None) (pawl.None, error) {
	return pawl.None{}, pawl.Final(&pawl.Error{Code: pawl.ErrOverloaded})
}

func clerks(app *pawl.App) {
	pawl.RegisterFunc(app, newClerk,
		pawl.ReadOnly((*Clerk).Visits),
		pawl.Formerly("Hello", (*Clerk).Greet))
}

func ExampleRegister() {
	ctx, _, stop := example(func(app *pawl.App) {
		pawl.Register[Account](app, pawl.ReadOnly((*Account).Balance), pawl.MaxLive(10_000))
	})
	defer stop()
	fmt.Println(pawl.Call(ctx, pawl.Actor[*Account]("alice"), (*Account).Balance, pawl.None{}))
	// Output: 0 <nil>
}

func ExampleRegisterFunc() {
	ctx, _, stop := example(func(app *pawl.App) { pawl.RegisterFunc(app, newClerk) })
	defer stop()
	fmt.Println(pawl.Call(ctx, pawl.Actor[*Clerk]("Bob"), (*Clerk).Greet, "Ada"))
	// Output: I am Bob (Clerk/Bob), hello Ada <nil>
}

func ExampleFormerly() {
	ctx, _, stop := example(clerks)
	defer stop()
	out, err := pawl.CallRaw(ctx, "Clerk", "Bob", "Hello", []byte(`"Ada"`)) // a caller not yet deployed
	fmt.Println(string(out), err)
	// Output: "I am Bob (Clerk/Bob), hello Ada" <nil>
}

func ExampleReadOnly() {
	ctx, _, stop := example(clerks)
	defer stop()
	bob := pawl.Actor[*Clerk]("Bob")
	pawl.Call(ctx, bob, (*Clerk).Visit, pawl.None{})
	fmt.Println(pawl.Call(ctx, bob, (*Clerk).Visits, pawl.None{}))
	// Output: 1 <nil>
}

func ExampleOnce() {
	ctx, _, stop := example(clerks)
	defer stop()
	fmt.Println(pawl.Call(ctx, pawl.Actor[*Clerk]("Bob"), (*Clerk).Twice, pawl.Actor[*Clerk]("Eve")))
	// Output: 1 <nil>
}

func ExampleDetach() {
	ctx, _, stop := example(clerks)
	defer stop()
	id, err := pawl.Call(ctx, pawl.Actor[*Clerk]("Bob"), (*Clerk).Later, pawl.Actor[*Clerk]("Eve"))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(pawl.Attach[int](ctx, id).Wait(ctx))
	// Output: 1 <nil>
}

func ExampleTailSelf() {
	ctx, _, stop := example(clerks)
	defer stop()
	fmt.Println(pawl.Call(ctx, pawl.Actor[*Clerk]("Bob"), (*Clerk).Countdown, 3))
	// Output: lift-off <nil>
}

func ExampleRegisterErrorType() {
	ctx, _, stop := example(clerks)
	defer stop()
	_, err := pawl.Call(ctx, pawl.Actor[*Clerk]("Bob"), (*Clerk).Buy, pawl.None{})
	quota, ok := errors.AsType[*QuotaError](err)
	fmt.Println(err, ok, quota.Left)
	// Output: buy: 2 left true 2
}

func ExampleFinal() {
	ctx, _, stop := example(clerks)
	defer stop()
	_, err := pawl.Call(ctx, pawl.Actor[*Clerk]("Bob"), (*Clerk).Ask, pawl.None{})
	fmt.Println(errors.Is(err, pawl.ErrOverloaded), pawl.Temporary(err))
	// Output: true false
}

func ExampleTemporary() {
	err := fmt.Errorf("reserve: %w", &pawl.Error{Code: pawl.ErrUnavailable})
	fmt.Println(pawl.Temporary(err), pawl.Temporary(pawl.Final(err)))
	// Output: true false
}

func ExampleApp_Middleware() {
	_, app, stop := example(clerks)
	defer stop()
	handler := app.Middleware(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, err := pawl.Call(r.Context(), pawl.Actor[*Clerk]("Bob"), (*Clerk).Visit, pawl.None{})
		fmt.Fprintln(w, n, err)
	}))

	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequestWithContext(context.Background(), http.MethodGet, "/", nil))
	fmt.Print(w.Body)
	// Output: 1 <nil>
}
