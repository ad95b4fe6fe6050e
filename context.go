package pawl

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/pawl-go/pawl/internal/runtime"
)

// appContext puts an app into a context.
type appContext struct {
	context.Context
	app *App
}

type (
	appKey      struct{}
	detachedKey struct{}
)

// Value implements context.Context.
func (c *appContext) Value(key any) any {
	if key == (appKey{}) {
		return c.app
	}
	return c.Context.Value(key)
}

// Context gives a context by which code outside of methods calls actors. In a
// method of the same app it changes nothing: the ctx of the method still says
// who calls.
func (a *App) Context(ctx context.Context) context.Context {
	return &appContext{ctx, a}
}

// Middleware puts the app into the requests of an HTTP server, so that handlers
// call actors with r.Context(). The end of a request ends its waits, not the
// invocations that it began.
func (a *App) Middleware(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(w, r.WithContext(a.Context(r.Context())))
	})
}

// Detach gives a context whose calls are independent of the method's: not
// nested in it, so that it may end before they do. A wait for them still counts
// for the detection of deadlocks. Outside of methods it changes nothing.
func Detach(ctx context.Context) context.Context {
	return context.WithValue(ctx, detachedKey{}, true)
}

// origin is where a call comes from: a method, or a client outside.
type origin struct {
	inv      *runtime.Invocation // nil outside of methods
	app      *App
	comp     *runtime.Component
	detached bool
}

// originOf reads the origin off a context. An app around the context of another
// app's method makes a client of it.
func originOf(ctx context.Context) (origin, error) {
	if inv, ok := ctx.(*runtime.Invocation); ok {
		return methodOrigin(inv)
	}
	app, _ := ctx.Value(appKey{}).(*App)
	if inv := runtime.From(ctx); inv != nil {
		o, err := methodOrigin(inv)
		if err == nil && (app == nil || app == o.app) {
			o.detached, _ = ctx.Value(detachedKey{}).(bool)
			return o, nil
		}
	}
	if app == nil {
		return origin{}, misuse(ErrNoApp, errors.New("the context comes neither from App.Context nor from a method"))
	}
	comp := app.comp.Load()
	if comp == nil {
		return origin{}, misuse(ErrNoApp, errors.New("the app is not started"))
	}
	return origin{app: app, comp: comp}, nil
}

func methodOrigin(inv *runtime.Invocation) (origin, error) {
	app, ok := inv.Component().Host().(*App)
	if !ok {
		return origin{}, misuse(ErrNoApp, errors.New("the method is not hosted by an App"))
	}
	return origin{inv: inv, app: app, comp: inv.Component()}, nil
}

// errNeedsMethod is the cause of an ErrNotInMethod.
var errNeedsMethod = errors.New("the context is not that of a method")

// inMethod gives the invocation of ctx, and panics with the place if there is
// none.
func inMethod(ctx context.Context, what string) *runtime.Invocation {
	inv := runtime.From(ctx)
	if inv == nil {
		panic(misuse(ErrNotInMethod, fmt.Errorf("%s: %w", what, errNeedsMethod)))
	}
	return inv
}
