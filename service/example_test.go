package service_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"os"
	"time"

	"github.com/pawl-go/pawl/queue"
	"github.com/pawl-go/pawl/service"
)

// Order and Invoice are messages: their types are "Order" and "Invoice".
type Order struct {
	Item  string
	Cents int64
}

type Invoice struct {
	Number int
	Item   string
	Cents  int64
}

// Billing is a handler with a state: the number of the last invoice.
type Billing struct{ Last int }

func (b *Billing) Order(c *service.Context, o Order) error {
	if o.Cents <= 0 {
		return errors.New("an order must cost something")
	}
	b.Last++
	return c.Send(Invoice{b.Last, o.Item, o.Cents})
}

// Snapshot and Restore make it a service.Snapshotter.
func (b *Billing) Snapshot() ([]byte, error)  { return json.Marshal(b) }
func (b *Billing) Restore(state []byte) error { return json.Unmarshal(state, b) }

// queues opens queues in a new directory.
func queues(names ...string) (qs []*queue.Queue, remove func()) {
	dir, err := os.MkdirTemp("", "service")
	if err != nil {
		log.Fatal(err)
	}
	for _, name := range names {
		q, err := queue.Open(dir+"/"+name, queue.Config{})
		if err != nil {
			log.Fatal(err)
		}
		qs = append(qs, q)
	}
	return qs, func() {
		for _, q := range qs {
			_ = q.Close()
		}
		_ = os.RemoveAll(dir)
	}
}

// until runs a service until there are n entries on a queue.
func until(s *service.Service, q *queue.Queue, n int) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	t := q.NewTailer(0)
	defer t.Close()
	for range n {
		next := make(chan error, 1)
		go func() { _, _, err := t.Next(ctx); next <- err }()
		select {
		case err := <-ended:
			cancel()
			<-next
			return err
		case err := <-next:
			if err != nil {
				return err
			}
		}
	}
	cancel()
	return <-ended
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// Orders come in, invoices go out. A second service with a new handler goes on
// where the first one has ended, with its state.
func Example() {
	qs, remove := queues("orders", "invoices")
	defer remove()
	orders, invoices := qs[0], qs[1]
	publisher := service.NewPublisher(orders, service.PublisherConfig{})
	for _, item := range []string{"book", "lamp"} {
		if _, err := publisher.Publish(Order{item, 1999}); err != nil {
			log.Fatal(err)
		}
	}
	for n := range 2 {
		handler, err := service.Handle(&Billing{})
		if err != nil {
			log.Fatal(err)
		}
		billing, err := service.New(service.Config{
			Name:   "billing",
			Inputs: []service.Input{{ID: 1, Queue: orders, Acknowledged: orders.WaitDurable}},
			Output: service.Output{Queue: invoices},
			Logger: quiet(),
		}, handler)
		if err != nil {
			log.Fatal(err)
		}
		if err := until(billing, invoices, 3+n); err != nil { // the first entry says where it began
			log.Fatal(err)
		}
		if _, err := publisher.Publish(Order{"desk", 4999}); err != nil {
			log.Fatal(err)
		}
	}
	for e, err := range service.Messages(invoices, 0) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(e.Index, "from", e.History[0], e.Type, string(e.Payload))
	}
	// Output:
	// 1:1 from 1@1:0 Invoice {"Number":1,"Item":"book","Cents":1999}
	// 1:2 from 1@1:1 Invoice {"Number":2,"Item":"lamp","Cents":1999}
	// 1:3 from 1@1:2 Invoice {"Number":3,"Item":"desk","Cents":4999}
}

// What no handler takes, or a handler refuses, goes to a queue of its own, and the
// service goes on.
func ExampleConfig_deadLetters() {
	qs, remove := queues("orders", "invoices", "dead")
	defer remove()
	publisher := service.NewPublisher(qs[0], service.PublisherConfig{})
	for _, msg := range []any{Order{"gift", 0}, service.Opaque{Type: "Refund", Payload: []byte("7")}, Order{"book", 1}} {
		if _, err := publisher.Publish(msg); err != nil {
			log.Fatal(err)
		}
	}
	handler, err := service.Handle(&Billing{})
	if err != nil {
		log.Fatal(err)
	}
	billing, err := service.New(service.Config{
		Name:        "billing",
		Inputs:      []service.Input{{ID: 1, Queue: qs[0]}},
		Output:      service.Output{Queue: qs[1]},
		DeadLetters: service.Output{Queue: qs[2]},
		Logger:      quiet(),
	}, handler)
	if err != nil {
		log.Fatal(err)
	}
	if err := until(billing, qs[1], 4); err != nil {
		log.Fatal(err)
	}
	for e, err := range service.Messages(qs[2], 0) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(e.Type, string(e.Payload), "-", e.Reason)
	}
	// Output:
	// Order {"Item":"gift","Cents":0} - handle "Order" at 1@1:0: an order must cost something
	// Refund 7 - handle "Refund" at 1@1:1: no method takes messages of type "Refund": write one, or skip them with SkipUnknown
}

// The methods that take messages are found, and mistakes in them too.
func ExampleHandle() {
	handler, err := service.Handle(&Billing{})
	fmt.Println(handler.Types(), err)
	_, err = service.Handle(Billing{}) // its methods are on the pointer
	fmt.Println(err)
	// Output:
	// [Order] <nil>
	// service: service_test.Billing has no method of the form func(*service.Context, Message) error; is it a pointer?
}

// Copy is a handler that takes every type as it is.
type Copy struct{}

func (Copy) Any(c *service.Context, o service.Opaque) error { return c.Send(o) }

// A queue whose entries others write, here lines, is an input when it is told what
// they are. A service that keeps no state need not replay anything.
func ExampleOpaque() {
	qs, remove := queues("lines", "copies")
	defer remove()
	if _, err := qs[0].Append([]byte("hello")); err != nil {
		log.Fatal(err)
	}
	handler, err := service.Handle(Copy{})
	if err != nil {
		log.Fatal(err)
	}
	s, err := service.New(service.Config{
		Name:      "copy",
		Inputs:    []service.Input{{ID: 1, Queue: qs[0], Type: "Line"}},
		Output:    service.Output{Queue: qs[1]},
		Stateless: true,
		Logger:    quiet(),
	}, handler)
	if err != nil {
		log.Fatal(err)
	}
	if err := until(s, qs[1], 2); err != nil {
		log.Fatal(err)
	}
	for e, err := range service.Messages(qs[1], 0) {
		fmt.Println(e.Type, string(e.Payload), err)
	}
	// Output: Line hello <nil>
}

// A publisher dates its messages: it is the only clock that handlers have.
func ExamplePublisher() {
	qs, remove := queues("orders")
	defer remove()
	publisher := service.NewPublisher(qs[0], service.PublisherConfig{Now: func() time.Time { return time.Unix(1e9, 0) }})
	i, err := publisher.Publish(Order{"book", 1999})
	if err != nil {
		log.Fatal(err)
	}
	p, err := qs[0].Read(i)
	if err != nil {
		log.Fatal(err)
	}
	e, err := service.Decode(p)
	fmt.Println(e.Kind, e.Type, e.Time.Format(time.RFC3339), string(e.Payload), err)
	// Output: message Order 2001-09-09T01:46:40Z {"Item":"book","Cents":1999} <nil>
}
