package bank

import (
	"context"
	"errors"
	"fmt"

	"github.com/pawl-go/pawl"
)

// Open opens a bank on an engine, such as "local:./data", and starts it.
func Open(ctx context.Context, engine string) (*pawl.App, error) {
	app, err := pawl.Open(ctx, engine, pawl.Config{App: "bank"})
	if err != nil {
		return nil, fmt.Errorf("open bank: %w", err)
	}
	pawl.Register[Account](app, pawl.ReadOnly((*Account).Statement))
	pawl.Register[Transfer](app)
	pawl.Register[Ledger](app)
	if err := app.Start(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("start bank: %w", err), app.Close())
	}
	return app, nil
}
