// Command order is the Go component of the shop: its orders and shipments. Its
// argument is the URL of the engine.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/pawl-go/pawl"
	"github.com/pawl-go/pawl/examples/shop"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "order:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) (err error) {
	if len(os.Args) != 2 {
		return errors.New("use it as: order pawl:./data")
	}
	app, err := pawl.Open(ctx, os.Args[1], pawl.Config{App: "shop"})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, app.Close()) }()
	pawl.Register[shop.Order](app)
	pawl.Register[shop.Shipment](app)
	if err := app.Start(ctx); err != nil {
		return err
	}
	fmt.Printf("ready {\"pid\":%d}\n", os.Getpid())
	select {
	case <-ctx.Done():
		return nil
	case <-app.Fenced():
		return pawl.ErrFenced // the server is gone, or has given this process up
	}
}
