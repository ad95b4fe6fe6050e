package shop

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/pawl-go/pawl/internal/stage"
)

// Day is a run of the example. All fields are required, but Kills.
type Day struct {
	Dir       string // a new directory for the data; its path is short, since a socket is in it
	Pawl      string // path of the command pawl
	Order     string // path of the command order
	Orders    int    // of all customers
	Customers int
	Kills     int
	Seed      uint64
	Out       io.Writer // is told of each kill
}

// Report says what has happened on a day on which all was right.
type Report struct {
	Orders  int // acknowledged; each is paid and shipped once
	Kills   int
	Again   int           // times that a customer had to ask again
	Longest time.Duration // that a customer waited for an answer
}

func (d *Day) validate() error {
	if d.Orders < 2 || d.Customers < 1 || d.Kills < 0 || d.Kills >= d.Orders {
		return errors.New("there must be at least two orders and one customer, and fewer kills than orders")
	}
	return nil
}

// Run opens the shop, kills while the customers order, and checks the books. The
// error says what was wrong, if anything was. Nothing that it starts is left when it
// returns.
func (d *Day) Run(ctx context.Context) (Report, error) {
	if err := d.validate(); err != nil {
		return Report{}, err
	}
	root, err := stage.Root()
	if err != nil {
		return Report{}, err
	}
	python, err := stage.Python()
	if err != nil {
		return Report{}, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	s := d.newStaff(root, python)
	var keepers sync.WaitGroup
	defer keepers.Wait()
	defer cancel(nil)
	for _, w := range s.workers() {
		keepers.Go(func() {
			if err := w.keep(ctx); err != nil {
				cancel(err)
			}
		})
	}
	c := newCounter(s.front)
	killed := make(chan error, 1)
	go func() {
		err := d.kill(ctx, s, c)
		if err != nil {
			cancel(err)
		}
		killed <- err
	}()
	orders, err := d.sell(ctx, c)
	if err != nil {
		cancel(err)
	}
	if err := errors.Join(err, <-killed); err != nil {
		return Report{}, err
	}
	// The last order passes all that was killed: it is up again.
	last, err := d.buy(ctx, c, d.Orders-1, "customer 1")
	if err != nil {
		return Report{}, err
	}
	orders = append(orders, last)
	r := Report{Orders: len(orders), Kills: d.Kills, Again: c.again, Longest: c.longest}
	b, err := readBooks(ctx, d.Dir, orders)
	if err != nil {
		return r, err
	}
	return r, b.check(orders)
}

// kill kills so many times, each time after a few more orders, and tells how long the
// next order of each customer took.
func (d *Day) kill(ctx context.Context, s *staff, c *counter) error {
	r := rand.New(rand.NewPCG(d.Seed, 0))
	share := (d.Orders - 1) / max(1, d.Kills)
	for k := range d.Kills {
		if _, err := c.wait(ctx, k*share+r.IntN(share)); err != nil {
			return err
		}
		victim := r.IntN(len(victims))
		if err := s.kill(ctx, victim); err != nil {
			return err
		}
		begun := time.Now()
		sold, err := c.wait(ctx, 0)
		if err != nil {
			return err
		}
		next := min(d.Customers, d.Orders-1-sold)
		if _, err := c.wait(ctx, sold+next); err != nil {
			return err
		}
		fmt.Fprintf(d.Out, "kill -9 number %d of %d, after %d orders: %s; the next %d orders took %v\n",
			k+1, d.Kills, sold, victims[victim].name, next, time.Since(begun).Round(time.Millisecond))
	}
	return nil
}

// cities are where parcels go.
var cities = []string{"Oslo", "Lima", "Accra"}

// sold is an order and what its customer was told.
type sold struct {
	order string
	due   Purchase
	told  Receipt
}

// sell lets all customers order, each one order after the other, but for the last
// order.
func (d *Day) sell(ctx context.Context, c *counter) ([]sold, error) {
	var mu sync.Mutex
	var all []sold
	var errs []error
	var customers sync.WaitGroup
	for i := range d.Customers {
		customers.Go(func() {
			for n := i; n < d.Orders-1; n += d.Customers {
				o, err := d.buy(ctx, c, n, fmt.Sprintf("customer %d", i+1))
				mu.Lock()
				all, errs = append(all, o), append(errs, err)
				mu.Unlock()
				if err != nil {
					return
				}
			}
		})
	}
	customers.Wait()
	return all, errors.Join(errs...)
}

// buy is one order of the day, from its number on.
func (d *Day) buy(ctx context.Context, c *counter, n int, customer string) (sold, error) {
	o := sold{
		order: fmt.Sprintf("order %d", n+1),
		due:   Purchase{Customer: customer, City: cities[n%len(cities)], Amount: 1 + n%9},
	}
	var err error
	o.told, err = c.order(ctx, o.order, o.due)
	return o, err
}
