package main

import (
	"context"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// A test binary that finds this variable is the program.
const variable = "PAWL_MESH_SOAK_ARGS"

func TestMain(m *testing.M) {
	if args := os.Getenv(variable); args != "" {
		os.Args = append(os.Args[:1], strings.Fields(args)...)
		main()
		return
	}
	os.Exit(m.Run())
}

func again(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), variable+"="+strings.Join(args, " "))
	return cmd
}

// The soak, for a moment.
func TestSoak(t *testing.T) {
	o := options{messages: 200_000, seed: rand.Uint64(), progress: t.Output(), child: again}
	if testing.Short() {
		o.messages = 20_000
	}
	t.Logf("seed %d", o.seed)
	r, err := soak(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Log(r)
	if r.sent < uint64(o.messages) {
		t.Errorf("%d of %d sent", r.sent, o.messages)
	}
	if err := r.verdict(); err != nil {
		t.Error(err)
	}
}

// A verdict that cannot be bad is worth nothing.
func TestVerdict(t *testing.T) {
	good := result{sent: 10, handled: 8, refused: 1, dropped: 1, cuts: 1}
	if err := good.verdict(); err != nil {
		t.Error(err)
	}
	for _, spoil := range []func(*result){
		func(r *result) { r.handled-- }, func(r *result) { r.dropped++ }, func(r *result) { r.cuts = 0 },
		func(r *result) { r.wrongs = []string{"1 after 1"} }, func(r *result) { r.handled, r.dropped = 1, 8 },
	} {
		bad := good
		if spoil(&bad); bad.verdict() == nil {
			t.Errorf("%+v passes", bad)
		}
	}
	var w witness
	for _, n := range []uint64{1, 2, 5, 5, 4, 6} {
		if err := w.handle(nil, numbered(n)); err != nil {
			t.Error(err)
		}
	}
	if got := strings.Join(w.seen(), ", "); got != "5 after 5, 4 after 5" {
		t.Error(got)
	}
}
