package orders

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os/exec"
	"path/filepath"

	"github.com/pawl-go/pawl/queue"
	"github.com/pawl-go/pawl/service"
)

// Ordeal is a run in which the process of the services is killed.
type Ordeal struct {
	Dir     string // of the queues
	Orders  int    // to be published
	Kills   int
	Seed    uint64
	Command func(ctx context.Context) *exec.Cmd // runs Serve on Dir, in another process
	Out     io.Writer                           // is told of each kill
	Log     *slog.Logger
}

var items = []string{"book", "lamp", "desk", "chair", "clock"}

// Run publishes the orders, kills the process so many times at moments that the
// seed says, lets it end its work, and checks the whole.
func (o *Ordeal) Run(ctx context.Context) (Report, error) {
	in, err := queue.Open(filepath.Join(o.Dir, "orders"), queue.Config{Logger: o.Log})
	if err != nil {
		return Report{}, err
	}
	defer in.Close()
	// The process makes this one too; it is made here so that it can be watched.
	watched := filepath.Join(o.Dir, "reservations")
	q, err := queue.Open(watched, queue.Config{Logger: o.Log})
	if err == nil {
		err = q.Close()
	}
	if err != nil {
		return Report{}, err
	}
	r := rand.New(rand.NewPCG(o.Seed, 0))
	published := 0
	for kill := range o.Kills {
		upTo := o.Orders * (kill + 1) / o.Kills
		if err := publish(in, r, published, upTo); err != nil {
			return Report{}, err
		}
		published = upTo
		at := r.IntN(o.Orders/o.Kills + 1)
		if err := o.life(ctx, watched, at); err != nil {
			return Report{}, err
		}
		fmt.Fprintf(o.Out, "kill -9 number %d of %d, after %d of %d orders\n", kill+1, o.Kills, at, published)
	}
	if err := o.last(ctx); err != nil {
		return Report{}, err
	}
	return Check(o.Dir)
}

// Publish puts n orders on the queue in dir.
func Publish(dir string, n int, seed uint64, log *slog.Logger) error {
	q, err := queue.Open(filepath.Join(dir, "orders"), queue.Config{Logger: log})
	if err != nil {
		return err
	}
	return errors.Join(publish(q, rand.New(rand.NewPCG(seed, 0)), 0, n), q.Close())
}

// publish makes the orders behind from, up to upTo.
func publish(q *queue.Queue, r *rand.Rand, from, upTo int) error {
	p := service.NewPublisher(q, service.PublisherConfig{})
	for id := from + 1; id <= upTo; id++ {
		if _, err := p.Publish(Order{id, items[r.IntN(len(items))], 1 + r.IntN(5)}); err != nil {
			return err
		}
	}
	return nil
}

// life starts the process and kills it when it has written some decisions.
func (o *Ordeal) life(ctx context.Context, watched string, decisions int) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	q, err := queue.OpenReadOnly(watched, queue.Config{Logger: o.Log})
	if err != nil {
		return err
	}
	defer q.Close()
	t := q.NewTailer(q.Last() + 1)
	defer t.Close()
	cmd := o.Command(ctx)
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() {
		ended <- cmd.Wait()
		cancel()
	}()
	for range decisions {
		if _, _, err = t.Next(ctx); err != nil {
			break
		}
	}
	_ = cmd.Process.Kill() // it may have ended
	if exit := <-ended; err != nil {
		return fmt.Errorf("the process has ended by itself: %w", exit)
	}
	return nil
}

// last runs the services here until every order is dealt with.
func (o *Ordeal) last(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		defer cancel()
		ended <- Serve(ctx, o.Dir, o.Log)
	}()
	types, err := o.await(ctx, "reservations", o.Orders)
	if err == nil {
		_, err = o.await(ctx, "invoices", types["Reserved"])
	}
	cancel()
	return errors.Join(err, <-ended)
}

// await reads a queue until it has so many messages, and counts them by type.
func (o *Ordeal) await(ctx context.Context, name string, n int) (map[string]int, error) {
	q, err := queue.OpenReadOnly(filepath.Join(o.Dir, name), queue.Config{Logger: o.Log})
	if err != nil {
		return nil, err
	}
	defer q.Close()
	t := q.NewTailer(0)
	defer t.Close()
	types := map[string]int{}
	for seen := 0; seen < n; {
		_, p, err := t.Next(ctx)
		if err != nil {
			return nil, err
		}
		e, err := service.Decode(p)
		if err != nil {
			return nil, err
		}
		if e.Kind == service.Message {
			types[e.Type]++
			seen++
		}
	}
	return types, nil
}
