package local

import (
	"context"
	"net/url"
	"sync"
	"testing"

	"github.com/pawl-go/pawl/engine"
)

// TestOpenWhileClosing: an engine opened in the moment in which the last one
// who had it open closes it is an open one.
func TestOpenWhileClosing(t *testing.T) {
	u := &url.URL{Scheme: "local", Opaque: t.TempDir(), RawQuery: "durability=process&cycle=1MiB"}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 15 {
				e, err := Open(context.Background(), u, engine.Options{App: "a"})
				if err != nil {
					t.Errorf("open: %v", err)
					return
				}
				if err := e.(*handle).stillUsable(); err != nil {
					t.Errorf("the engine is not usable: %v", err)
				}
				if err := e.Close(); err != nil {
					t.Errorf("close: %v", err)
				}
			}
		})
	}
	all.Wait()
}

func (h *handle) stillUsable() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.usable()
}
