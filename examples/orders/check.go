package orders

import (
	"encoding/json"
	"fmt"
	"path/filepath"

	"github.com/pawl-go/pawl/queue"
	"github.com/pawl-go/pawl/service"
)

// Report is what Check has counted.
type Report struct{ Orders, Reserved, Refused, Invoices int }

// Check reads the three queues in dir and holds them to each other: each order has
// exactly one decision, in order and the right one; each reservation has exactly
// one invoice, and their numbers have no gap. All must have been dealt with.
func Check(dir string) (Report, error) {
	var r Report
	decisions, err := read(dir, "reservations")
	if err != nil {
		return r, err
	}
	invoices, err := read(dir, "invoices")
	if err != nil {
		return r, err
	}
	orders, err := read(dir, "orders")
	if err != nil {
		return r, err
	}
	if r.Orders = len(orders); len(decisions) != r.Orders {
		return r, fmt.Errorf("%d orders have %d decisions", r.Orders, len(decisions))
	}
	left := map[string]int{}
	for k, d := range decisions {
		var o, was Order
		if err := decode(d, &o, orders[k], &was); err != nil {
			return r, err
		}
		if o != was || d.History[0] != (service.Hop{Source: ordersID, Index: orders[k].Index}) {
			return r, fmt.Errorf("decision %s is of order %d by input %s, want order %d", d.Index, o.ID, d.History[0], was.ID)
		}
		if _, ok := left[o.Item]; !ok {
			left[o.Item] = PerItem
		}
		if want := map[bool]string{true: "Reserved", false: "Refused"}[o.Count <= left[o.Item]]; d.Type != want {
			return r, fmt.Errorf("order %d is %s, want %s: %d of %s are left", o.ID, d.Type, want, left[o.Item], o.Item)
		}
		if d.Type == "Refused" {
			r.Refused++
			continue
		}
		left[o.Item] -= o.Count
		if r.Reserved++; r.Reserved > len(invoices) {
			return r, fmt.Errorf("order %d has no invoice", o.ID)
		}
		var v Invoice
		if err := json.Unmarshal(invoices[r.Reserved-1].Payload, &v); err != nil {
			return r, err
		}
		if v.Number != r.Reserved || v.Order != o.ID {
			return r, fmt.Errorf("invoice %d of order %d, want %d of %d", v.Number, v.Order, r.Reserved, o.ID)
		}
	}
	if r.Invoices = len(invoices); r.Invoices != r.Reserved {
		return r, fmt.Errorf("%d reservations have %d invoices", r.Reserved, r.Invoices)
	}
	return r, nil
}

func decode(a service.Entry, to *Order, b service.Entry, and *Order) error {
	if err := json.Unmarshal(a.Payload, to); err != nil {
		return err
	}
	return json.Unmarshal(b.Payload, and)
}

// read gives the messages of a queue.
func read(dir, name string) ([]service.Entry, error) {
	q, err := queue.OpenReadOnly(filepath.Join(dir, name), queue.Config{})
	if err != nil {
		return nil, err
	}
	defer q.Close()
	var all []service.Entry
	for e, err := range service.Messages(q, 0) {
		if err != nil {
			return nil, err
		}
		e.Payload = append([]byte(nil), e.Payload...)
		all = append(all, e)
	}
	return all, nil
}
