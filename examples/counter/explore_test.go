package counter

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/pawl-go/pawl"
	"github.com/pawl-go/pawl/pawltest"
)

// Whatever step the program dies at, once or twice, or in the store, before and
// after it has written: the counter goes up by one for each call.
func TestExplore(t *testing.T) {
	pawltest.Explore(t, func(w *pawltest.World) {
		store := NewStore(filepath.Join(w.TempDir(), "store.json"))
		w.Start(func(ctx context.Context, engine string) (*pawl.App, error) {
			return open(ctx, engine, func() *Counter { return &Counter{store: store, reached: pawltest.MayFail} })
		})
		for want := int64(1); want <= 2; want++ {
			got, err := pawl.Call(w.Context(), pawl.Actor[*Counter]("c"), (*Counter).Incr, pawl.None{})
			if got != want || err != nil {
				w.Errorf("increment %d gives %d, %v", want, got, err)
			}
		}
	})
}
