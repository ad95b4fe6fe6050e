package pawl_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/pawl-go/pawl"
)

// Deposit is what Account.Deposit takes.
type Deposit struct {
	Amount int64 `json:"amount"`
}

// Account has a durable balance.
type Account struct{ balance pawl.Value[int64] }

// Deposit adds to the balance and returns the new one: exactly once.
func (a *Account) Deposit(ctx context.Context, d Deposit) (int64, error) {
	return a.balance.Update(ctx, func(b int64) int64 { return b + d.Amount }), nil
}

// Balance is read-only: it waits for nobody.
func (a *Account) Balance(ctx context.Context, _ pawl.None) (int64, error) {
	return a.balance.Get(ctx), nil
}

// example starts an app on a fresh directory and gives a context to call with.
func example(register func(app *pawl.App)) (ctx context.Context, app *pawl.App, stop func()) {
	dir, err := os.MkdirTemp("", "pawl-example-")
	if err != nil {
		log.Fatal(err)
	}
	app, err = pawl.Open(context.Background(), "local:"+dir+"?durability=process", pawl.Config{App: "bank"})
	if err != nil {
		log.Fatal(err)
	}
	register(app)
	if err := app.Start(context.Background()); err != nil {
		log.Fatal(err)
	}
	return app.Context(context.Background()), app, func() {
		app.Close()
		os.RemoveAll(dir)
	}
}

func accounts(app *pawl.App) {
	pawl.Register[Account](app, pawl.ReadOnly((*Account).Balance))
}

func Example() {
	dir, err := os.MkdirTemp("", "pawl-example-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()

	app, err := pawl.Open(ctx, "local:"+dir+"?durability=process", pawl.Config{App: "bank"})
	if err != nil {
		log.Fatal(err)
	}
	defer app.Close()
	pawl.Register[Account](app)
	if err := app.Start(ctx); err != nil {
		log.Fatal(err)
	}
	balance, err := pawl.Call(app.Context(ctx), pawl.Actor[*Account]("alice"), (*Account).Deposit, Deposit{Amount: 5})
	fmt.Println(balance, err)
	// Output: 5 <nil>
}

func ExampleCall() {
	ctx, _, stop := example(accounts)
	defer stop()
	alice := pawl.Actor[*Account]("alice")
	pawl.Call(ctx, alice, (*Account).Deposit, Deposit{Amount: 5})
	balance, err := pawl.Call(ctx, alice, (*Account).Balance, pawl.None{})
	fmt.Println(balance, err)
	// Output: 5 <nil>
}

func ExampleKey() {
	ctx, _, stop := example(accounts)
	defer stop()
	alice := pawl.Actor[*Account]("alice")
	for range 3 { // a client that tries again
		balance, err := pawl.Call(ctx, alice, (*Account).Deposit, Deposit{Amount: 5}, pawl.Key("order 17"))
		fmt.Println(balance, err)
	}
	// Output:
	// 5 <nil>
	// 5 <nil>
	// 5 <nil>
}

func ExampleGo() {
	ctx, _, stop := example(accounts)
	defer stop()
	a := pawl.Go(ctx, pawl.Actor[*Account]("alice"), (*Account).Deposit, Deposit{Amount: 5})
	b := pawl.Go(ctx, pawl.Actor[*Account]("bob"), (*Account).Deposit, Deposit{Amount: 7})
	fmt.Println(a.Wait(ctx))
	fmt.Println(b.Wait(ctx))
	// Output:
	// 5 <nil>
	// 7 <nil>
}

func ExampleTell() {
	ctx, _, stop := example(accounts)
	defer stop()
	alice := pawl.Actor[*Account]("alice")
	if err := pawl.Tell(ctx, alice, (*Account).Deposit, Deposit{Amount: 5}); err != nil {
		log.Fatal(err) // it is not in the flow
	}
	// Requests of one sender to one actor run in order.
	balance, _ := pawl.Call(ctx, alice, (*Account).Deposit, Deposit{})
	fmt.Println(balance)
	// Output: 5
}

func ExampleStart() {
	ctx, _, stop := example(accounts)
	defer stop()
	f, err := pawl.Start(ctx, pawl.Actor[*Account]("alice"), (*Account).Deposit, Deposit{Amount: 5})
	if err != nil {
		log.Fatal(err)
	}
	id := f.ID() // send it to whoever wants to wait, in any process

	fmt.Println(pawl.Attach[int64](ctx, id).Wait(ctx))
	// Output: 5 <nil>
}

func ExampleAttach() {
	ctx, _, stop := example(accounts)
	defer stop()
	_, err := pawl.Attach[int64](ctx, "77-1").Wait(ctx)
	fmt.Println(errors.Is(err, pawl.ErrNotFound))
	// Output: true
}

func ExampleCallRaw() {
	ctx, _, stop := example(accounts)
	defer stop()
	out, err := pawl.CallRaw(ctx, "Account", "alice", "Deposit", []byte(`{"amount": 5}`))
	fmt.Println(string(out), err)
	// Output: 5 <nil>
}

func ExampleApp_Run() {
	dir, err := os.MkdirTemp("", "pawl-example-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	app, err := pawl.Open(context.Background(), "local:"+dir, pawl.Config{App: "bank"})
	if err != nil {
		log.Fatal(err)
	}
	pawl.Register[Account](app)

	// In a program: signal.NotifyContext(context.Background(), os.Interrupt).
	ctx, interrupt := context.WithCancel(context.Background())
	time.AfterFunc(10*time.Millisecond, interrupt)
	fmt.Println(app.Run(ctx))
	// Output: <nil>
}

func ExampleApp_Admin() {
	ctx, app, stop := example(accounts)
	defer stop()
	admin := app.Admin()
	admin.Pause(ctx, "Account", "alice")
	f, err := pawl.Start(ctx, pawl.Actor[*Account]("alice"), (*Account).Deposit, Deposit{Amount: 5})
	if err != nil {
		log.Fatal(err)
	}
	for inv, err := range admin.Invocations(ctx, pawl.Query{Kind: "Account"}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(inv.Status, inv.Actor, inv.Method, string(inv.Input))
	}
	admin.Cancel(ctx, f.ID(), "closed")
	_, err = f.Wait(ctx)
	fmt.Println(errors.Is(err, pawl.ErrCanceled))
	// Output:
	// pending Account/alice Deposit {"amount":5}
	// true
}
