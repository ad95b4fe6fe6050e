package v1

import (
	"context"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/internal/runtime"
)

// Of is the Runtime of a component.
func Of(c *runtime.Component) Runtime { return component{c} }

type component struct{ *runtime.Component }

func (c component) Go(ctx context.Context, call runtime.Call) (Pending, error) {
	p, err := c.Component.Go(ctx, call)
	if err != nil {
		return nil, err
	}
	return p, nil
}

func (c component) Attach(id engine.ID) Pending { return c.Component.Attach(id) }
