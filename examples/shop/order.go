package shop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/pawl-go/pawl"
)

// Purchase is what a customer wants. Its order's id is that of the actor.
type Purchase struct {
	Customer string `json:"customer"`
	City     string `json:"city"`
	Amount   int    `json:"amount"`
}

// Receipt is what the customer gets.
type Receipt struct {
	Order  string `json:"order"`
	Paid   int    `json:"paid"`
	City   string `json:"city"`
	Parcel int    `json:"parcel"` // its number among those of the city
}

// Order is one order.
type Order struct{ paid pawl.Value[int] }

// ErrNothing refuses an order of nothing.
var ErrNothing = errors.New("an order has a customer, a city, and an amount above zero")

// Place charges the customer and hands the parcel over. The charge is a nested call
// made Once: if this process dies while it is out, the next attempt joins it. Its
// end and the beginning of the shipment are one record, so a paid order is
// shipped, and the answer of the shipment is the one to the customer.
func (o *Order) Place(ctx context.Context, in Purchase) (Receipt, error) {
	if in.Customer == "" || in.City == "" || in.Amount <= 0 {
		return Receipt{}, ErrNothing
	}
	id := pawl.Self(ctx, o).ID
	paid, err := charge(ctx, in.Customer, id, in.Amount)
	if err != nil {
		return Receipt{}, err
	}
	o.paid.Set(ctx, paid)
	return pawl.TailCall(ctx, pawl.Actor[*Shipment](in.City), (*Shipment).Send, Parcel{Order: id, Paid: paid})
}

// Paid is what was paid for the order.
func (o *Order) Paid(ctx context.Context, _ pawl.None) (int, error) { return o.paid.Get(ctx), nil }

// charge calls the actor in Python, by names: it is no Go type.
func charge(ctx context.Context, customer, order string, amount int) (paid int, err error) {
	in, err := json.Marshal([]any{order, amount})
	if err != nil {
		return 0, err
	}
	out, err := pawl.CallRaw(ctx, "Payment", customer, "charge", in, pawl.Once("charge"))
	if err != nil {
		return 0, fmt.Errorf("charge %s for %s: %w", customer, order, err)
	}
	return paid, json.Unmarshal(out, &paid)
}

// Shipment is what leaves for a city.
type Shipment struct {
	sent    pawl.Value[int]
	parcels pawl.Map[string, int] // number by order
}

// Parcel is an order on its way.
type Parcel struct {
	Order string `json:"order"`
	Paid  int    `json:"paid"`
}

// Send gives the parcel a number.
func (s *Shipment) Send(ctx context.Context, p Parcel) (Receipt, error) {
	n := s.sent.Update(ctx, func(n int) int { return n + 1 })
	s.parcels.Set(ctx, p.Order, n)
	return Receipt{Order: p.Order, Paid: p.Paid, City: pawl.Self(ctx, s).ID, Parcel: n}, nil
}

// Sent lists the parcels: their numbers by order.
func (s *Shipment) Sent(ctx context.Context, _ pawl.None) (map[string]int, error) {
	sent := map[string]int{}
	for e, err := range s.parcels.All(ctx) {
		if err != nil {
			return nil, err
		}
		sent[e.Key] = e.Value
	}
	return sent, nil
}
