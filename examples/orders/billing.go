package orders

import (
	"encoding/json"

	"github.com/pawl-go/pawl/service"
)

// Invoice is what a customer pays.
type Invoice struct {
	Number int // 1, 2, 3 and so on, without a gap
	Order  int // ID of the order
	Date   string
}

// Billing numbers the invoices.
type Billing struct{ Last int }

// Reserved writes an invoice, dated by the order: a service has no other clock.
func (b *Billing) Reserved(c *service.Context, r Reserved) error {
	b.Last++
	return c.Send(Invoice{Number: b.Last, Order: r.ID, Date: c.Time().Format("2006-01-02")})
}

// Refused orders cost nothing.
func (b *Billing) Refused(*service.Context, Refused) error { return nil }

// Snapshot gives the state.
func (b *Billing) Snapshot() ([]byte, error) { return json.Marshal(b) }

// Restore brings it back.
func (b *Billing) Restore(state []byte) error { return json.Unmarshal(state, b) }
