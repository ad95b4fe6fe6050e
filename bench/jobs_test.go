package bench_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/pawl-go/pawl/bench"
	"github.com/pawl-go/pawl/internal/rig"
)

func TestMain(m *testing.M) {
	if argument := os.Getenv("PAWL_BENCH_CHILD"); argument != "" {
		if err := bench.Child(context.Background(), argument, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	code := m.Run()
	rig.Clean()
	os.Exit(code)
}

func child(ctx context.Context, argument string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), "PAWL_BENCH_CHILD="+argument)
	return cmd
}

func TestSizeSmoke(t *testing.T) {
	r, err := bench.Size(t.Context(), bench.SizeOptions{
		Start: child, Dir: t.TempDir(), Few: 100, Many: 1000, Actors: 500, Live: 50, Settle: time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	if r.AfterFew.RSS == 0 || r.SomeLive.Goroutines == 0 {
		t.Errorf("%+v", r)
	}
	r.Print(t.Output())
}

func TestReopenSmoke(t *testing.T) {
	r, err := bench.Reopen(t.Context(), bench.ReopenOptions{Start: child, Dir: t.TempDir(), Rounds: 2, Keys: 20, Calls: 200})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Figures) != 3 || len(r.Ratios) != 2 {
		t.Errorf("%+v", r)
	}
	for _, f := range r.Figures {
		if f.Ops != 2 || f.P50 <= 0 || f.Max < f.P50 {
			t.Errorf("%+v", f)
		}
	}
	r.Print(t.Output())
}

func TestMeshSmoke(t *testing.T) {
	r, err := bench.Mesh(t.Context(), bench.MeshOptions{Start: child, Rounds: 1, Duration: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Figures) != 2*7+5+2 || len(r.Ratios) != 7+5+2 {
		t.Errorf("%+v", r)
	}
	for _, f := range r.Figures {
		if f.OpsPerS <= 0 || f.CPUPerOp <= 0 {
			t.Errorf("%+v", f)
		}
	}
	r.Print(t.Output())
}

func TestCheckpointSmoke(t *testing.T) {
	r, err := bench.Checkpoint(t.Context(), bench.CheckpointOptions{
		Dir: t.TempDir(), Clients: 4, Keys: 50, Every: "64KiB", Rounds: 2, Duration: 200 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Figures) != 2 || len(r.Ratios) != 1 || r.Figures[0].OpsPerS == 0 || r.Figures[1].P50 == 0 {
		t.Errorf("%+v", r)
	}
	r.Print(t.Output())
}

func TestQueueSmoke(t *testing.T) {
	r, err := bench.Queue(t.Context(), bench.QueueOptions{
		Start: child, Dir: t.TempDir(), Rounds: 1, Duration: 20 * time.Millisecond, Cycles: 20,
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Figures) != 6*2+2+3 || len(r.Ratios) != 7 {
		t.Errorf("%+v", r)
	}
	for _, f := range r.Figures {
		if f.Ops <= 0 || f.OpsPerS+f.P50 <= 0 {
			t.Errorf("%+v", f)
		}
	}
	r.Print(t.Output())
}

func TestReplicaSmoke(t *testing.T) {
	r, err := bench.Replica(t.Context(), bench.ReplicaOptions{
		Dir: t.TempDir(), Rounds: 1, Duration: 20 * time.Millisecond, Bytes: 1 << 20,
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Figures) != 3+3+2+2+3+1+1+2 || len(r.Ratios) != 2+2+1+1+2+1 {
		t.Errorf("%+v", r)
	}
	for _, f := range r.Figures {
		if f.Ops <= 0 || f.OpsPerS+f.P50 <= 0 {
			t.Errorf("%+v", f)
		}
	}
	r.Print(t.Output())
}

func TestHTTPSmoke(t *testing.T) {
	dir, err := os.MkdirTemp("", "pawl") //nolint:usetesting // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	r, err := bench.HTTP(t.Context(), bench.HTTPOptions{
		Pawl: rig.Pawl(t), Dir: dir, Rounds: 1, Duration: 50 * time.Millisecond, Clients: 4, Keys: 8,
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Figures) != 4*3+4*4 || len(r.Ratios) != 4*2+4*3 {
		t.Errorf("%+v", r)
	}
	for _, f := range r.Figures {
		if f.Ops <= 0 || f.P50 <= 0 {
			t.Errorf("%+v", f)
		}
	}
	r.Print(t.Output())
}

func TestRecoverySmoke(t *testing.T) {
	dir, err := os.MkdirTemp("", "pawl") //nolint:usetesting // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	r, err := bench.Recovery(t.Context(), bench.RecoveryOptions{
		Pawl: rig.Pawl(t), Dir: dir, Rounds: 1, Failures: 1, Duration: 200 * time.Millisecond, Heartbeat: 2 * time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Figures) != 3+1+2 {
		t.Errorf("%+v", r)
	}
	for _, f := range r.Figures {
		if f.Ops <= 0 || f.P50 <= 0 || f.Max < f.P50 {
			t.Errorf("%+v", f)
		}
	}
	r.Print(t.Output())
}
