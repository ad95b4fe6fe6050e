package orders

import (
	"encoding/json"

	"github.com/pawl-go/pawl/service"
)

// Order is what a customer wants.
type Order struct {
	ID    int
	Item  string
	Count int
}

// Reserved says that the stock has what was ordered, and keeps it.
type Reserved Order

// Refused says that the stock does not have it.
type Refused Order

// Stock decides which orders can be met: each item is there so many times. What is
// left is its state, in memory; nothing stores it but the snapshots.
type Stock struct{ Left map[string]int }

// PerItem is how many of each item there are.
const PerItem = 1000

// NewStock makes a full stock.
func NewStock() *Stock { return &Stock{Left: map[string]int{}} }

// Order is called for each message of type Order, one at a time and in order.
func (s *Stock) Order(c *service.Context, o Order) error {
	left, known := s.Left[o.Item]
	if !known {
		left = PerItem
	}
	if o.Count > left {
		return c.Send(Refused(o))
	}
	s.Left[o.Item] = left - o.Count
	return c.Send(Reserved(o))
}

// Snapshot gives the state, so that a start need not replay every order.
func (s *Stock) Snapshot() ([]byte, error) { return json.Marshal(s) }

// Restore brings it back.
func (s *Stock) Restore(state []byte) error { return json.Unmarshal(state, s) }
