package shop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pawl-go/pawl"
)

// books are what the actors have written.
type books struct {
	Paid     map[string]int            // by order, as the order has it
	Accounts map[string]account        // by customer, as the payments have it
	Sent     map[string]map[string]int // by city: number by order
}

// account is what Payment.account answers.
type account struct {
	Sum    int            `json:"sum"`
	Orders map[string]int `json:"orders"`
}

// readBooks asks every actor of the orders.
func readBooks(ctx context.Context, dir string, orders []sold) (b books, err error) {
	b = books{Paid: map[string]int{}, Accounts: map[string]account{}, Sent: map[string]map[string]int{}}
	app, err := pawl.Open(ctx, "pawl:"+filepath.Join(dir, "data"), pawl.Config{App: appName, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return b, err
	}
	defer func() { err = errors.Join(err, app.Close()) }()
	if err := app.Start(ctx); err != nil {
		return b, err
	}
	ctx = app.Context(ctx)
	for _, o := range orders {
		if b.Paid[o.order], err = pawl.Call(ctx, pawl.Actor[*Order](o.order), (*Order).Paid, pawl.None{}); err != nil {
			return b, err
		}
		if _, known := b.Accounts[o.due.Customer]; !known {
			answer, err := pawl.CallRaw(ctx, "Payment", o.due.Customer, "account", json.RawMessage("[]"))
			if err != nil {
				return b, err
			}
			var a account
			if err := json.Unmarshal(answer, &a); err != nil {
				return b, err
			}
			b.Accounts[o.due.Customer] = a
		}
	}
	for _, city := range cities {
		if b.Sent[city], err = pawl.Call(ctx, pawl.Actor[*Shipment](city), (*Shipment).Sent, pawl.None{}); err != nil {
			return b, err
		}
	}
	return b, nil
}

// check says what is wrong with the books, given what the customers were told.
func (b *books) check(orders []sold) error {
	var wrong []string
	complain := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	sums, entries, parcels := map[string]int{}, map[string]int{}, map[string]int{}
	for _, o := range orders {
		customer, city, amount := o.due.Customer, o.due.City, o.due.Amount
		sums[customer] += amount
		entries[customer]++
		parcels[city]++
		if o.told.Order != o.order || o.told.Paid != amount || b.Paid[o.order] != amount {
			complain("%s: %d were due, the customer was told %+v, and the order has %d", o.order, amount, o.told, b.Paid[o.order])
		}
		if got := b.Accounts[customer].Orders[o.order]; got != amount {
			complain("%s: %s has paid %d, not %d", o.order, customer, got, amount)
		}
		if got := b.Sent[city][o.order]; got == 0 || got != o.told.Parcel || o.told.City != city {
			complain("%s: parcel %d goes to %s, and the customer was told %+v", o.order, got, city, o.told)
		}
	}
	for customer, a := range b.Accounts {
		if a.Sum != sums[customer] || len(a.Orders) != entries[customer] {
			complain("%s has paid %d for %d orders, and owed %d for %d", customer, a.Sum, len(a.Orders), sums[customer], entries[customer])
		}
	}
	for city, sent := range b.Sent {
		numbers := slices.Sorted(maps.Values(sent))
		if len(sent) != parcels[city] || len(slices.Compact(numbers)) != len(sent) {
			complain("%s gets %d parcels for %d orders, with the numbers %v", city, len(sent), parcels[city], numbers)
		}
	}
	if len(wrong) > 0 {
		slices.Sort(wrong)
		return errors.New(strings.Join(wrong, "\n"))
	}
	return nil
}
