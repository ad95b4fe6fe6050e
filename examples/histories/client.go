package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/pawl-go/pawl/examples/histories/history"
)

const (
	patience  = 30 * time.Second // for one operation, over the deaths of the server
	giveUp    = 0.2              // share of interrupted operations that are not asked for again
	asksTwice = 0.06             // share of answered ones that are asked for again
	async     = 0.4              // share of invocations that are begun first and waited for then
)

// errPatience ends a round in which an operation was never answered.
var errPatience = fmt.Errorf("no answer for %v", patience)

// client does one operation after the other. It outlives the server: what is
// interrupted it asks for again, under the same idempotency key, or leaves open.
type client struct {
	*work
	rand *rand.Rand
	name int // a new one after each operation left open, which may yet happen
	seen int // the last life that broke
}

func (c *client) run(ctx context.Context) error {
	for {
		n, ok := c.next()
		if !ok {
			return nil
		}
		if err := c.operation(ctx, n); err != nil {
			return err
		}
	}
}

// operation does the nth operation of the round.
func (c *client) operation(ctx context.Context, n int) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errPatience)
	defer cancel()
	d := &c.deeds[c.rand.IntN(len(c.deeds))]
	id := c.idOf(n, c.rand)
	q := question{
		deed: d, id: id, courier: strconv.Itoa(c.rand.IntN(couriers)),
		key: fmt.Sprintf("%d-%d", c.seed, n), async: d.keyed() && c.rand.Float64() < async,
	}
	o := history.Operation{Key: d.on + "/" + id, Client: c.name, Kind: d.kind, Via: d.via, Arg: int64(n) + 1}
	switch d.kind {
	case history.Read:
		o.Arg = 0
	case history.Add:
		o.Arg = 1 + c.rand.Int64N(3)
	case history.CompareAndSet:
		o.Old = c.lastSeen(o.Key)
	}
	value, err := c.insist(ctx, &q, &o)
	if err == nil && !o.Open {
		err = tell(&o, value)
	}
	if err != nil {
		return fmt.Errorf("client %d: %s of %s: %w", c.name, o.Kind, o.Key, err)
	}
	c.done(&o)
	if o.Open {
		c.name = c.newName()
		return nil
	}
	if d.keyed() && c.rand.Float64() < asksTwice {
		return c.again(ctx, &q, &o, value)
	}
	return nil
}

// insist asks until there is an answer, or leaves the operation open.
func (c *client) insist(ctx context.Context, q *question, o *history.Operation) ([]byte, error) {
	for first := true; ; first = false {
		life, err := c.lives.after(ctx, c.seen)
		if err != nil {
			return nil, err
		}
		if first || !q.deed.keyed() { // a read that leaves nothing behind begins anew
			o.Call = c.recorder.Now()
		}
		value, err := q.ask(ctx, life.door, o)
		o.Return = c.recorder.Now()
		if !errors.Is(err, errBroken) {
			return value, err
		}
		c.seen = life.number
		c.interrupted.Add(1)
		if q.deed.keyed() && c.rand.Float64() < giveUp {
			o.Open, o.Return = true, 0
			return nil, nil
		}
		q.attach = c.rand.IntN(2) == 0
	}
}

// again asks for an operation that was answered, under its key: what it is told
// must be the same.
func (c *client) again(ctx context.Context, q *question, o *history.Operation, first []byte) error {
	life, err := c.lives.after(ctx, c.seen)
	if err != nil {
		return err
	}
	second, err := q.ask(ctx, life.door, o)
	switch {
	case errors.Is(err, errBroken):
		c.seen = life.number
		return nil
	case err != nil:
		return fmt.Errorf("client %d: asked again for %s of %s: %w", c.name, o.Kind, o.Key, err)
	case string(first) != string(second):
		return fmt.Errorf("client %d: %s of %s has two outcomes under the key %s: %s and %s",
			c.name, o.Kind, o.Key, q.key, first, second)
	}
	c.repeated.Add(1)
	return nil
}

// question is how an operation is asked for.
type question struct {
	deed    *deed
	id      string // of the actor
	courier string // the id of the one that is asked, where one is
	key     string // the idempotency key
	async   bool

	invocation string // its id, once one was given out
	attach     bool   // ask for that id, not by the key
}

// ask asks one life, and returns the value of the outcome.
func (q *question) ask(ctx context.Context, d *door, o *history.Operation) ([]byte, error) {
	if q.deed.cell != "" {
		a, err := d.state(ctx, q.deed.on, q.id, q.deed.cell)
		return a.value, err
	}
	a := answer{pending: true, id: q.invocation}
	if q.invocation == "" || !q.attach {
		kind, id, input := q.deed.target(q.id, q.courier, o)
		key := q.key
		if !q.deed.keyed() {
			key = ""
		}
		var err error
		if a, err = d.call(ctx, kind, id, q.deed.method, key, input, q.async); err != nil {
			return nil, err
		}
		if err := q.named(a.id); err != nil {
			return nil, err
		}
	}
	for a.pending {
		var err error
		if a, err = d.outcome(ctx, q.invocation); err != nil {
			return nil, err
		}
	}
	return a.value, nil
}

// named notes the id of the invocation. One key has one.
func (q *question) named(id string) error {
	if q.invocation != "" && id != q.invocation {
		return fmt.Errorf("the key %s has two invocations: %s and %s", q.key, q.invocation, id)
	}
	q.invocation = id
	return nil
}

// tell notes in an operation what its answer says.
func tell(o *history.Operation, value []byte) error {
	var into any = &o.Value
	switch {
	case o.Kind == history.Write, o.Kind == history.Read && len(value) == 0: // a cell that is not there
		return nil
	case o.Kind == history.CompareAndSet:
		into = &o.Set
	}
	if err := json.Unmarshal(value, into); err != nil {
		return fmt.Errorf("answered %q: %w", value, err)
	}
	return nil
}
