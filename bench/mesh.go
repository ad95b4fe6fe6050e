package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"time"

	"github.com/pawl-go/pawl/bench/messages"
	"github.com/pawl-go/pawl/bench/rounds"
)

// MeshOptions are the options of Mesh. Zero fields take the default.
type MeshOptions struct {
	Start    Starter       // required
	Rounds   int           // of which each figure is the median; default 5
	Duration time.Duration // of a round of a job; default 500 ms
	// Progress is told what is measured now and how far it is, from 0 to 1.
	Progress func(what string, done float64, ops int64)
}

// Mesh measures messages between actors of package mesh, in this process and to a
// second one over loopback, beside a Go channel and bare TCP: the jobs of package
// messages.
func Mesh(ctx context.Context, o MeshOptions) (*rounds.Report, error) {
	if o.Start == nil {
		return nil, errors.New("bench mesh: MeshOptions.Start is missing")
	}
	r, err := messages.Run(ctx, meshSystems(), messages.Options{
		Rounds: cmp.Or(o.Rounds, 5), Duration: cmp.Or(o.Duration, 500*time.Millisecond), Progress: o.Progress,
		Start: func(ctx context.Context, system string) *exec.Cmd {
			return o.Start.command(ctx, job{Do: "mesh", System: system})
		},
	})
	if err != nil {
		return nil, fmt.Errorf("bench mesh: %w", err)
	}
	return r, nil
}

func meshSystems() []messages.System {
	return []messages.System{messages.Pawl(), messages.PawlNotQuick(), messages.TCP(), messages.Channel()}
}
