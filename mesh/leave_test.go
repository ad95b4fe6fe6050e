package mesh_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/pawl-go/pawl/mesh"
)

// A node leaves whose actors are watched by great numbers: each monitor is told how its
// actor ended, before the goodbye ends the link that it is told by.
func TestLeaveTellsEachMonitor(t *testing.T) {
	everywhere(t, func(t *testing.T, w *world) {
		const actors, each = 8, 500
		var monitors []*mesh.Monitor
		for i := range actors {
			name := fmt.Sprint("n", i)
			spawn(t, w.b, name, ignore[number])
			for range each {
				m, err := on[number](w, name).Monitor(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				monitors = append(monitors, m)
			}
		}
		w.Leave("b")
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		lost := 0
		for _, m := range monitors {
			if e, err := m.Exit(ctx); err != nil || e.Reason != mesh.ExitNormal {
				if lost++; lost == 1 {
					t.Errorf("%+v, %v", e, err)
				}
			}
		}
		if lost > 0 {
			t.Errorf("%d of %d monitors are not told", lost, len(monitors))
		}
	})
}
