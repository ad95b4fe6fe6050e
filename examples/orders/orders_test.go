package orders

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pawl-go/pawl/queue"
	"github.com/pawl-go/pawl/service"
)

// The test binary is also the process that is killed.
const serveEnv = "ORDERS_SERVE"

func TestMain(m *testing.M) {
	if dir := os.Getenv(serveEnv); dir != "" {
		fmt.Fprintln(os.Stderr, Serve(context.Background(), dir, quiet()))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

func TestOrdeal(t *testing.T) {
	o := Ordeal{Dir: t.TempDir(), Orders: 3000, Kills: 5, Seed: rand.Uint64(), Out: io.Discard, Log: quiet()}
	t.Logf("seed %d", o.Seed)
	o.Command = func(ctx context.Context) *exec.Cmd {
		cmd := exec.CommandContext(ctx, os.Args[0])
		cmd.Env = append(os.Environ(), serveEnv+"="+o.Dir)
		cmd.Stderr = os.Stderr
		return cmd
	}
	r, err := o.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if r.Orders != 3000 || r.Refused == 0 || r.Reserved == 0 {
		t.Fatalf("%+v", r)
	}
}

// TestCheckFindsMistakes: a verdict that cannot fail is worth nothing.
func TestCheckFindsMistakes(t *testing.T) {
	dir := t.TempDir()
	if err := Publish(dir, 2, 1, quiet()); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"reservations", "invoices"} {
		q, err := queue.Open(filepath.Join(dir, name), queue.Config{Logger: quiet()})
		if err != nil {
			t.Fatal(err)
		}
		defer q.Close()
		// Nobody may write these besides the services: no history is on this.
		if name == "reservations" {
			for range 3 {
				if _, err := service.NewPublisher(q, service.PublisherConfig{}).Publish(Reserved{}); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if _, err := Check(dir); err == nil || !strings.Contains(err.Error(), "2 orders have 3 decisions") {
		t.Fatal(err)
	}
}
