package pawltest_test

import (
	"context"
	"errors"

	"github.com/pawl-go/pawl"
)

// The actors of the guide (docs/testing.md): each mistake, and what is right.

// Cell is a number that can be got and set, and nothing else.
type Cell struct{ value pawl.Value[int] }

// Get returns the number.
func (c *Cell) Get(ctx context.Context, _ pawl.None) (int, error) { return c.value.Get(ctx), nil }

// Set sets it.
func (c *Cell) Set(ctx context.Context, v int) (int, error) {
	c.value.Set(ctx, v)
	return v, nil
}

// Counter counts in a Cell of its own name, or in a store outside.
type Counter struct{ store map[string]int }

func cellOf(ctx context.Context, c *Counter) pawl.Ref[*Cell] {
	return pawl.Actor[*Cell](pawl.Self(ctx, c).ID)
}

// IncrNested is wrong: a failure after Set has ended runs it again, and it reads
// what Set wrote.
func (c *Counter) IncrNested(ctx context.Context, _ pawl.None) (int, error) {
	v, err := pawl.Call(ctx, cellOf(ctx, c), (*Cell).Get, pawl.None{})
	if err != nil {
		return 0, err
	}
	return pawl.Call(ctx, cellOf(ctx, c), (*Cell).Set, v+1)
}

// IncrTail is right: the step that reads and the step that writes are two, and a
// failure runs one of them again, not both.
func (c *Counter) IncrTail(ctx context.Context, _ pawl.None) (int, error) {
	v, err := pawl.Call(ctx, cellOf(ctx, c), (*Cell).Get, pawl.None{})
	if err != nil {
		return 0, err
	}
	return pawl.TailCall(ctx, cellOf(ctx, c), (*Cell).Set, v+1)
}

// IncrOutside is wrong: a failure after the write, before the outcome, reads what
// it wrote.
func (c *Counter) IncrOutside(ctx context.Context, _ pawl.None) (int, error) {
	v := c.store[pawl.Self(ctx, c).ID] + 1
	c.store[pawl.Self(ctx, c).ID] = v
	return v, nil
}

// IncrSteps is right: it reads in one step and writes in the next.
func (c *Counter) IncrSteps(ctx context.Context, _ pawl.None) (int, error) {
	return pawl.TailSelf(ctx, (*Counter).Store, c.store[pawl.Self(ctx, c).ID]+1)
}

// Store writes to the store outside.
func (c *Counter) Store(ctx context.Context, v int) (int, error) {
	c.store[pawl.Self(ctx, c).ID] = v
	return v, nil
}

var errNoFunds = errors.New("not enough funds")

func init() { pawl.RegisterError("mistakes.no_funds", errNoFunds) }

// Account holds money.
type Account struct{ balance pawl.Value[int] }

// Add adds money, or takes it if n is negative.
func (a *Account) Add(ctx context.Context, n int) (int, error) {
	if a.balance.Get(ctx)+n < 0 {
		return 0, errNoFunds
	}
	return a.balance.Update(ctx, func(b int) int { return b + n }), nil
}

// Balance returns it.
func (a *Account) Balance(ctx context.Context, _ pawl.None) (int, error) {
	return a.balance.Get(ctx), nil
}

// Move is what a transfer is to do.
type Move struct {
	From   pawl.Ref[*Account] `json:"from"`
	To     pawl.Ref[*Account] `json:"to"`
	Amount int                `json:"amount"`
}

// Transfer moves money.
type Transfer struct{}

// Nested is wrong: a retry withdraws again.
func (t *Transfer) Nested(ctx context.Context, m Move) (int, error) {
	if _, err := pawl.Call(ctx, m.From, (*Account).Add, -m.Amount); err != nil {
		return 0, err
	}
	return pawl.Call(ctx, m.To, (*Account).Add, m.Amount)
}

// Once is right: a retry joins the calls of the attempt before.
func (t *Transfer) Once(ctx context.Context, m Move) (int, error) {
	if _, err := pawl.Call(ctx, m.From, (*Account).Add, -m.Amount, pawl.Once("out")); err != nil {
		return 0, err
	}
	return pawl.Call(ctx, m.To, (*Account).Add, m.Amount, pawl.Once("in"))
}

// Card charges at a service outside.
type Card struct{ service *charges }

// charges is the service: it keeps what was charged, and under which key.
type charges struct {
	total int
	keys  map[string]bool
}

// Charge charges an amount, once for each key. Without a key it charges each time.
func (s *charges) Charge(key string, amount int) {
	if key != "" && s.keys[key] {
		return
	}
	if s.keys == nil {
		s.keys = map[string]bool{}
	}
	s.keys[key] = true
	s.total += amount
}

// Charge charges the card, under the step's id, so that an attempt that is made
// again does not charge again.
func (c *Card) Charge(ctx context.Context, amount int) (string, error) {
	c.service.Charge(pawl.StepID(ctx), amount)
	return "receipt", nil
}

// Order is paid by card.
type Order struct{ receipt pawl.Value[string] }

// Pay is wrong: a retry makes another call, and that has another id.
func (o *Order) Pay(ctx context.Context, amount int) (string, error) {
	receipt, err := pawl.Call(ctx, cardOf(ctx, o), (*Card).Charge, amount)
	if err != nil {
		return "", err
	}
	o.receipt.Set(ctx, receipt)
	return receipt, nil
}

// PayOnce is right: a retry joins the call.
func (o *Order) PayOnce(ctx context.Context, amount int) (string, error) {
	receipt, err := pawl.Call(ctx, cardOf(ctx, o), (*Card).Charge, amount, pawl.Once("charge"))
	if err != nil {
		return "", err
	}
	o.receipt.Set(ctx, receipt)
	return receipt, nil
}

func cardOf(ctx context.Context, o *Order) pawl.Ref[*Card] {
	return pawl.Actor[*Card]("of " + pawl.Self(ctx, o).ID)
}

// Cart keeps its total where it must not.
type Cart struct {
	total int // wrong: it is gone with the memory
	items pawl.Value[[]string]
}

// Add adds a price.
func (c *Cart) Add(_ context.Context, price int) (int, error) {
	c.total += price
	return c.total, nil
}

// Put puts an item in.
func (c *Cart) Put(ctx context.Context, item string) (int, error) {
	c.items.Edit(ctx, func(items *[]string) { *items = append(*items, item) })
	return len(c.items.Get(ctx)), nil
}

// Rename is wrong: it changes the cell's own slice, which nobody records.
func (c *Cart) Rename(ctx context.Context, to string) ([]string, error) {
	items := c.items.Get(ctx)
	items[0] = to
	return items, nil
}
