package engine

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pawl-go/pawl/engine/trace"
)

// Options are what an application asks of whatever engine it opens.
type Options struct {
	App            string // the application's name; an engine's data belong to one
	Logger         *slog.Logger
	MissingTimeout time.Duration    // how long a call that has not begun waits for a host of its type; default 2 min
	Mailbox        int              // requests waiting for one actor, from outside; default 10,000
	Pending        int              // requests waiting in the application; default 1,000,000
	Now            func() time.Time // the wall clock; default time.Now
	Trace          trace.Recorder   // of everything that happens, to check or to show it; nil: off
}

// Opener opens an engine by a URL of its scheme. Opened twice in a process
// for the same data it gives the same engine; the last Close ends it.
type Opener func(ctx context.Context, u *url.URL, o Options) (Engine, error)

var registry struct {
	sync.Mutex
	openers map[string]Opener
}

// Register makes an engine known by its URL scheme. It is called from the
// init function of the engine's package, and panics for a scheme taken.
func Register(scheme string, open Opener) {
	registry.Lock()
	defer registry.Unlock()
	if registry.openers == nil {
		registry.openers = map[string]Opener{}
	}
	if registry.openers[scheme] != nil {
		panic("engine: scheme " + scheme + " registered twice")
	}
	registry.openers[scheme] = open
}

// Open opens the engine that rawURL names: "local:./data?durability=disk".
func Open(ctx context.Context, rawURL string, o Options) (Engine, error) {
	u, err := url.Parse(rawURL)
	if err != nil {
		return nil, fmt.Errorf("open engine %q: %w", rawURL, err)
	}
	registry.Lock()
	open := registry.openers[u.Scheme]
	known := make([]string, 0, len(registry.openers))
	for s := range registry.openers {
		known = append(known, s+":")
	}
	registry.Unlock()
	if open == nil {
		slices.Sort(known)
		return nil, fmt.Errorf("open engine %q: unknown scheme %q (known: %s); import the package of the engine",
			rawURL, u.Scheme, strings.Join(known, ", "))
	}
	return open(ctx, u, o)
}
