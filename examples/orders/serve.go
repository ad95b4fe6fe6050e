package orders

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"

	"github.com/pawl-go/pawl/queue"
	"github.com/pawl-go/pawl/service"
)

// Numbers of the queues in histories.
const (
	ordersID       = 1
	reservationsID = 2
)

// Serve runs both services on the queues in dir until ctx ends. It reads the queue
// of orders, which another process writes.
func Serve(ctx context.Context, dir string, log *slog.Logger) (err error) {
	cfg := queue.Config{Logger: log}
	in, err := queue.OpenReader(filepath.Join(dir, "orders"), cfg)
	if err != nil {
		return err
	}
	defer in.Close()
	reservations, err := queue.Open(filepath.Join(dir, "reservations"), cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, reservations.Close()) }()
	invoices, err := queue.Open(filepath.Join(dir, "invoices"), cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, invoices.Close()) }()

	snapshots := service.Snapshots{Dir: filepath.Join(dir, "snapshots"), Every: 1000}
	stock, err := build(NewStock(), service.Config{
		Name:      "stock",
		Inputs:    []service.Input{{ID: ordersID, Queue: in}},
		Output:    service.Output{Queue: reservations},
		Snapshots: snapshots,
		Logger:    log,
	})
	if err != nil {
		return err
	}
	billing, err := build(&Billing{}, service.Config{
		Name:      "billing",
		Inputs:    []service.Input{{ID: reservationsID, Queue: reservations}},
		Output:    service.Output{Queue: invoices},
		Snapshots: snapshots,
		Logger:    log,
	})
	if err != nil {
		return err
	}
	return both(ctx, stock, billing)
}

func build(handler any, cfg service.Config) (*service.Service, error) {
	h, err := service.Handle(handler)
	if err != nil {
		return nil, err
	}
	return service.New(cfg, h)
}

// both runs two services until ctx ends, or one of them.
func both(ctx context.Context, a, b *service.Service) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	errs := make(chan error, 1)
	go func() {
		defer cancel()
		errs <- a.Run(ctx)
	}()
	err := b.Run(ctx)
	cancel()
	return errors.Join(err, <-errs)
}
