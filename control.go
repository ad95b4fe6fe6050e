package pawl

import (
	"context"
	"reflect"

	"github.com/pawl-go/pawl/internal/runtime"
	"github.com/pawl-go/pawl/internal/v1"
)

// openControl opens what lets others talk to a running program: the control
// socket of an engine that has a data directory, DIR/pawl.sock (0600), with
// /v1. What it opens it adds to a.mu.onClose, which Close runs before the
// component leaves. Start calls it with a.mu held, once the component has
// joined.
func (a *App) openControl(ctx context.Context, comp *runtime.Component) {
	eng, ok := a.eng.(interface{ DataDir() string })
	if !ok || eng.DataDir() == "" {
		return
	}
	stop, err := v1.ServeShared(ctx, eng.DataDir(), v1.Config{
		Runtime:      v1.Of(comp),
		App:          a.cfg.App,
		MapCells:     a.reg.mapCells,
		Schema:       a.schema,
		PayloadLimit: int64(a.cfg.Limits.Payload),
		Logger:       a.cfg.Logger,
	})
	if err != nil {
		// The application does its work without; only the command line does not
		// reach it.
		a.cfg.Logger.Warn("no control socket: the command line will not find this program", "error", err)
		return
	}
	a.mu.onClose = append(a.mu.onClose, stop)
}

// mapCells names the map cells of a type, as their keys are recorded. The
// registry does not change any more.
func (g *registry) mapCells(kind string) []string {
	t := g.byName[kind]
	if t == nil {
		return nil
	}
	var names []string
	for _, c := range t.cells {
		if c.inMap {
			names = append(names, c.name)
		}
	}
	return names
}

// schema gives the JSON Schemas of a method's input and result, if they are JSON.
func (a *App) schema(kind, name string) (in, out map[string]any) {
	t := a.reg.byName[kind]
	if _, isJSON := a.cfg.Codec.(jsonCodec); t == nil || !isJSON || t.rt.Methods[name] == nil {
		return nil, nil
	}
	m, ok := t.rt.Methods[name].Host.(*method)
	if !ok {
		return nil, nil
	}
	of := func(t reflect.Type) map[string]any {
		if t == reflect.TypeFor[None]() {
			return nil
		}
		return v1.SchemaOf(t)
	}
	return of(m.in), of(m.out)
}
