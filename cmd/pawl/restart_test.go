package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/pawl-go/pawl"
	"github.com/pawl-go/pawl/engine/remote"
	"github.com/pawl-go/pawl/internal/socket"
	"github.com/pawl-go/pawl/spec/check"
)

// Order is an actor of the program clerk.
type Order struct {
	placed pawl.Value[int]
	taken  pawl.Value[int]
}

// Place takes from the stock, in another process, and notes what it got.
func (o *Order) Place(ctx context.Context, shelf string) (int, error) {
	n, err := pawl.Call(ctx, pawl.Actor[*Stock](shelf), (*Stock).Take, pawl.None{}, pawl.Once("take"))
	if err != nil {
		return 0, err
	}
	o.taken.Set(ctx, n)
	return o.placed.Update(ctx, func(p int) int { return p + 1 }), nil
}

// Placed says how often it was placed, which is once.
func (o *Order) Placed(ctx context.Context, _ pawl.None) (int, error) { return o.placed.Get(ctx), nil }

// Stock is an actor of the program shelf.
type Stock struct{ out pawl.Value[int] }

// Take takes one out.
func (s *Stock) Take(ctx context.Context, _ pawl.None) (int, error) {
	return s.out.Update(ctx, func(n int) int { return n + 1 }), nil
}

// Out says how many are out.
func (s *Stock) Out(ctx context.Context, _ pawl.None) (int, error) { return s.out.Get(ctx), nil }

// clerk and shelf are components of one application, on the engine that their
// argument names. When they have joined they say so, and write the file that a
// second argument names.
func clerk() {
	component(func(app *pawl.App) { pawl.Register[Order](app, pawl.ReadOnly((*Order).Placed)) })
}

func shelf() {
	component(func(app *pawl.App) { pawl.Register[Stock](app, pawl.ReadOnly((*Stock).Out)) })
}

func component(register func(*pawl.App)) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	app, err := pawl.Open(ctx, os.Args[1], pawl.Config{App: "orders", Logger: slog.New(slog.NewTextHandler(os.Stderr, nil))})
	if err == nil {
		register(app)
		err = app.Start(ctx)
	}
	if err == nil {
		fmt.Fprintln(os.Stdout, "ready")
		if len(os.Args) > 2 {
			err = os.WriteFile(os.Args[2], []byte("joined"), 0o600)
		}
	}
	if err == nil {
		select {
		case <-ctx.Done():
			err = errors.Join(app.Drain(context.WithoutCancel(ctx)), app.Close())
		case <-app.Fenced():
			err = pawl.ErrFenced
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// served is a pawl serve in a process of its own, with what the tests do to it.
type served struct {
	t     *testing.T
	dir   string
	trace string
	args  []string
	cmd   *exec.Cmd
}

func newServed(t *testing.T, args ...string) *served {
	t.Helper()
	s := &served{t: t, dir: filepath.Join(t.TempDir(), "data"), trace: filepath.Join(t.TempDir(), "trace"), args: args}
	s.start()
	t.Cleanup(func() { _ = s.cmd.Process.Kill() })
	return s
}

// start starts it and returns when it answers.
func (s *served) start() {
	s.t.Helper()
	args := append([]string{"serve", "--app", "orders", "--data", s.dir, "--listen", "", "--trace", s.trace}, s.args...)
	s.cmd = spawn(s.t, "pawl", args...)
	path := filepath.Join(s.dir, remote.SocketName)
	for range 12000 {
		if c, err := socket.Dial(s.t.Context(), path); err == nil {
			_ = c.Close()
			return
		}
		time.Sleep(5 * time.Millisecond) //nolint:forbidigo // another process
	}
	s.t.Fatalf("nobody answers at %s", path)
}

func (s *served) kill() {
	s.t.Helper()
	if err := s.cmd.Process.Kill(); err != nil {
		s.t.Fatal(err)
	}
	_ = s.cmd.Wait() // it says that it was killed
}

// end ends it and holds the trace of all its lives to the rules.
func (s *served) end() {
	s.t.Helper()
	quit(s.t, s.cmd)
	r, err := check.File(s.trace, check.Options{Settled: true})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Log(r.String())
}

func spawn(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Stderr = t.Output()
	if name != "pawl" {
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if s := bufio.NewScanner(out); !s.Scan() || s.Text() != "ready" {
				t.Fatalf("%s says %q", name, s.Text())
			}
		}()
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd
}

func quit(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("%s: %v", cmd.Path, err)
	}
}

// TestServerKilled kills the server with -9 again and again, and a component,
// while calls across two components are in flight: none is lost, none counts
// twice, all that happened keeps the rules, and nobody but who was killed has to be
// started anew.
func TestServerKilled(t *testing.T) {
	const orders, shelves, kills, clients = 300, 5, 6, 8
	s := newServed(t, "--durability", "disk")
	first := spawn(t, "clerk", "pawl:"+s.dir)
	second := spawn(t, "shelf", "pawl:"+s.dir)
	app, err := pawl.Open(t.Context(), "pawl:"+s.dir, pawl.Config{App: "orders", Logger: slog.New(slog.NewTextHandler(t.Output(), nil))})
	if err != nil {
		t.Fatal(err)
	}
	defer app.Close() // before the end of the test, to which it logs
	if err := app.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx := app.Context(t.Context())
	var next, placed atomic.Int32
	answered := make(chan struct{}, orders)
	var wg sync.WaitGroup
	for range clients {
		wg.Go(func() {
			for n := next.Add(1); n <= orders; n = next.Add(1) {
				got, err := pawl.Call(ctx, pawl.Actor[*Order](strconv.Itoa(int(n))), (*Order).Place, strconv.Itoa(int(n)%shelves))
				if err != nil || got != 1 {
					t.Errorf("order %d was placed %d times: %v", n, got, err)
				}
				placed.Add(1)
				answered <- struct{}{}
			}
		})
	}
	for kill := range kills {
		for range orders / (kills + 2) {
			<-answered
		}
		if kill == kills/2 {
			if err := second.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = second.Wait() // it says that it was killed
			second = spawn(t, "shelf", "pawl:"+s.dir)
			continue
		}
		s.kill()
		s.start()
	}
	wg.Wait()
	out := 0
	for n := range shelves {
		got, err := pawl.Call(ctx, pawl.Actor[*Stock](strconv.Itoa(n)), (*Stock).Out, pawl.None{})
		if err != nil {
			t.Fatal(err)
		}
		out += got
	}
	if out != orders || placed.Load() != orders {
		t.Errorf("%d are out of stock, %d calls were answered, want %d", out, placed.Load(), orders)
	}
	if err := app.Close(); err != nil {
		t.Error(err)
	}
	quit(t, first)
	quit(t, second)
	s.end()
}
