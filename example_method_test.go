package pawl_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/pawl-go/pawl"
)

// Order is what Transfer.Start takes.
type Order struct {
	From, To pawl.Ref[*Account]
	Amount   int64
}

// Transfer moves money in two steps, and has no half.
type Transfer struct{ order pawl.Value[Order] }

// Start takes the money and goes on with Withdrawn, in one step.
func (t *Transfer) Start(ctx context.Context, o Order) (int64, error) {
	t.order.Set(ctx, o)
	// A retry finds the withdrawal that an earlier attempt has made.
	_, err := pawl.Call(ctx, o.From, (*Account).Deposit, Deposit{Amount: -o.Amount}, pawl.Once("withdraw"))
	if err != nil {
		return 0, err
	}
	return pawl.TailSelf(ctx, (*Transfer).Withdrawn, pawl.None{})
}

// Withdrawn gives the money; the result is that of the deposit.
func (t *Transfer) Withdrawn(ctx context.Context, _ pawl.None) (int64, error) {
	o := t.order.Get(ctx)
	return pawl.TailCall(ctx, o.To, (*Account).Deposit, Deposit{Amount: o.Amount})
}

func ExampleTailCall() {
	ctx, _, stop := example(func(app *pawl.App) {
		pawl.Register[Account](app)
		pawl.Register[Transfer](app)
	})
	defer stop()
	balance, err := pawl.Call(ctx, pawl.Actor[*Transfer]("t1"), (*Transfer).Start, Order{
		From: pawl.Actor[*Account]("alice"), To: pawl.Actor[*Account]("bob"), Amount: 5,
	})
	fmt.Println(balance, err)
	// Output: 5 <nil>
}

// RoomAPI is a contract, for callers that do not import the implementation.
type RoomAPI interface {
	Join(ctx context.Context, guest string) (int, error)
}

// Rooms is the actor type behind the contract.
const Rooms pawl.Kind[RoomAPI] = "Room"

// room implements it.
type room struct {
	guests pawl.Map[string, time.Time]
}

func (*room) ActorType() string { return "Room" }

func (r *room) Join(ctx context.Context, guest string) (int, error) {
	r.guests.Set(ctx, guest, time.Unix(0, 0))
	return r.guests.Len(ctx)
}

func (r *room) List(ctx context.Context, from string) ([]string, error) {
	var names []string
	for guest, err := range r.guests.From(ctx, from) {
		if err != nil {
			return nil, err
		}
		names = append(names, guest.Key)
	}
	return names, nil
}

func rooms(app *pawl.App) { pawl.Register[room](app) }

func ExampleKind() {
	ctx, _, stop := example(rooms)
	defer stop()
	n, err := pawl.Call(ctx, Rooms.Actor("lobby"), RoomAPI.Join, "Ada")
	fmt.Println(n, err)
	// Output: 1 <nil>
}

func ExampleMap() {
	ctx, _, stop := example(rooms)
	defer stop()
	for _, guest := range []string{"Grace", "Ada", "Barbara"} {
		pawl.Call(ctx, Rooms.Actor("lobby"), RoomAPI.Join, guest)
	}
	fmt.Println(pawl.Call(ctx, pawl.Actor[*room]("lobby"), (*room).List, "B"))
	// Output: [Barbara Grace] <nil>
}

// ErrNoStock travels by its code.
var ErrNoStock = errors.New("no stock")

func init() { pawl.RegisterError("shop.no_stock", ErrNoStock) }

// Store sells.
type Store struct {
	reminded chan string
	seen     pawl.Value[[]string]
}

// Sell fails.
func (s *Store) Sell(_ context.Context, item string) (pawl.None, error) {
	return pawl.None{}, fmt.Errorf("sell %s: %w", item, ErrNoStock)
}

// Order sells by way of another store.
func (s *Store) Order(ctx context.Context, item string) (pawl.None, error) {
	return pawl.Call(ctx, pawl.Actor[*Store]("central"), (*Store).Sell, item)
}

// Reopen is what a reminder calls.
func (s *Store) Reopen(_ context.Context, note string) (pawl.None, error) {
	s.reminded <- note
	return pawl.None{}, nil
}

// Seen edits its state in place.
func (s *Store) Seen(ctx context.Context, item string) ([]string, error) {
	s.seen.Edit(ctx, func(seen *[]string) { *seen = append(*seen, item) })
	return s.seen.Get(ctx), nil
}

// Charge acts on the outside world.
func (s *Store) Charge(ctx context.Context, amount int) (string, error) {
	if err := pawl.Sync(ctx); err != nil { // what was written so far stands
		return "", err
	}
	key := pawl.StepID(ctx) // the same over all attempts
	return fmt.Sprintf("charge %d under a key of %t", amount, key != ""), nil
}

// Raw looks at its state untyped.
func (s *Store) Raw(ctx context.Context, key string) (string, error) {
	value, ok, err := pawl.State(ctx).Get(ctx, key)
	return fmt.Sprintf("%s %t", value, ok), err
}

// Flaky is retried, as the infrastructure's errors are.
func (s *Store) Flaky(ctx context.Context, _ pawl.None) (int, error) {
	if pawl.Attempt(ctx) < 3 {
		return 0, pawl.RetryAfter(errors.New("the warehouse is busy"), time.Millisecond)
	}
	return pawl.Attempt(ctx), nil
}

func stores(reminded chan string) func(app *pawl.App) {
	return func(app *pawl.App) {
		pawl.RegisterFunc(app, func(string) *Store { return &Store{reminded: reminded} })
	}
}

func ExampleRegisterError() {
	ctx, _, stop := example(stores(nil))
	defer stop()
	_, err := pawl.Call(ctx, pawl.Actor[*Store]("corner"), (*Store).Order, "tea")
	fmt.Println(err, errors.Is(err, ErrNoStock))
	// Output: sell tea: no stock true
}

func ExampleRemind() {
	reminded := make(chan string, 1)
	ctx, _, stop := example(stores(reminded))
	defer stop()
	corner := pawl.Actor[*Store]("corner")
	err := pawl.Remind(ctx, corner, "reopen", (*Store).Reopen, "good morning", pawl.After(time.Millisecond))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(<-reminded)
	// Output: good morning
}

func ExampleEvery() {
	ctx, _, stop := example(stores(nil))
	defer stop()
	corner := pawl.Actor[*Store]("corner")
	monday := time.Date(2100, 1, 4, 8, 0, 0, 0, time.UTC)
	when := pawl.Every(7 * 24 * time.Hour).From(monday).Misfire(pawl.FireOnce)
	if err := pawl.Remind(ctx, corner, "week", (*Store).Reopen, "a new week", when); err != nil {
		log.Fatal(err)
	}
	reminders, _ := pawl.Reminders(ctx, corner)
	fmt.Println(reminders[0].Name, reminders[0].Next.UTC(), reminders[0].Every)
	fmt.Println(pawl.Unremind(ctx, corner, "week"))
	// Output:
	// week 2100-01-04 08:00:00 +0000 UTC 168h0m0s
	// <nil>
}

func ExampleValue_Edit() {
	ctx, _, stop := example(stores(nil))
	defer stop()
	corner := pawl.Actor[*Store]("corner")
	pawl.Call(ctx, corner, (*Store).Seen, "tea")
	fmt.Println(pawl.Call(ctx, corner, (*Store).Seen, "milk"))
	// Output: [tea milk] <nil>
}

func ExampleState() {
	ctx, _, stop := example(stores(nil))
	defer stop()
	corner := pawl.Actor[*Store]("corner")
	pawl.Call(ctx, corner, (*Store).Seen, "tea")
	fmt.Println(pawl.Call(ctx, corner, (*Store).Raw, "seen"))
	// Output: ["tea"] true <nil>
}

func ExampleSync() {
	ctx, _, stop := example(stores(nil))
	defer stop()
	fmt.Println(pawl.Call(ctx, pawl.Actor[*Store]("corner"), (*Store).Charge, 5))
	// Output: charge 5 under a key of true <nil>
}

func ExampleRetryAfter() {
	ctx, _, stop := example(stores(nil))
	defer stop()
	fmt.Println(pawl.Call(ctx, pawl.Actor[*Store]("corner"), (*Store).Flaky, pawl.None{}))
	// Output: 3 <nil>
}
