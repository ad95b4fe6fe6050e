package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/pawl-go/pawl"
	"github.com/pawl-go/pawl/internal/ports"
	"github.com/pawl-go/pawl/internal/tlsfiles/tlstest"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"pawl": main, "bank": bank, "node": node, "clerk": clerk, "shelf": shelf, "till": till})
}

// TestScripts runs testdata/script/*.txtar: the command line against the
// program bank, which is an application on the local engine in ./data.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"ready": ready, "exits": exits, "sees": sees, "readnode": readnode, "port": port, "certificates": certificates,
			"hosted": hosted,
		},
	})
}

// ready waits until the program answers at data/pawl.sock.
func ready(ts *testscript.TestScript, _ bool, _ []string) {
	path := ts.MkAbs("data/pawl.sock")
	for range 6000 {
		if c, err := net.Dial("unix", path); err == nil { //nolint:noctx // a test
			_ = c.Close()
			return
		}
		time.Sleep(5 * time.Millisecond) //nolint:forbidigo // another process
	}
	ts.Fatalf("nobody answers at %s", path)
}

// hosted waits until a component that has joined hosts a type: hosted Account.
func hosted(ts *testscript.TestScript, _ bool, args []string) {
	for range 600 {
		if ts.Exec("pawl", "ps", "-o", "json") == nil && strings.Contains(ts.ReadFile("stdout"), strconv.Quote(args[0])) {
			return
		}
		time.Sleep(100 * time.Millisecond) //nolint:forbidigo // another process
	}
	ts.Fatalf("nobody hosts %s", args[0])
}

// port puts a free port of the loopback into a variable.
func port(ts *testscript.TestScript, _ bool, args []string) {
	p, err := ports.Free(1)
	ts.Check(err)
	ts.Setenv(args[0], strconv.Itoa(p))
}

// certificates makes a directory with an authority, and what it has signed for a
// node: ca.pem, node.pem and node.key.
func certificates(ts *testscript.TestScript, _ bool, args []string) {
	dir := ts.MkAbs(args[0])
	ts.Check(os.Mkdir(dir, 0o700))
	ts.Check(tlstest.Make(dir, "node"))
}

// sees waits until a file has a text: sees told.txt alice.
func sees(ts *testscript.TestScript, _ bool, args []string) {
	path := ts.MkAbs(args[0])
	for range 6000 {
		if b, err := os.ReadFile(path); err == nil && strings.Contains(string(b), args[1]) {
			return
		}
		time.Sleep(10 * time.Millisecond) //nolint:forbidigo // another process
	}
	ts.Fatalf("%s never has %q", args[0], args[1])
}

// exits runs a command and wants an exit code: exits 3 pawl call x/y z.
func exits(ts *testscript.TestScript, _ bool, args []string) {
	err := ts.Exec(args[1], args[2:]...)
	code := 0
	if e, ok := errors.AsType[interface {
		error
		ExitCode() int
	}](err); ok {
		code = e.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if fmt.Sprint(code) != args[0] {
		ts.Fatalf("exit code %d, want %s", code, args[0])
	}
}

// Account is an actor of the program bank.
type Account struct {
	balance pawl.Value[int64]
	notes   pawl.Map[string, string]
}

type deposit struct {
	Amount int64 `json:"amount"`
}

// Deposit adds to the balance.
func (a *Account) Deposit(ctx context.Context, d deposit) (int64, error) {
	if d.Amount < 0 {
		return 0, errNegative
	}
	return a.balance.Update(ctx, func(b int64) int64 { return b + d.Amount }), nil
}

var errNegative = errors.New("the amount is negative")

// Balance only reads.
func (a *Account) Balance(ctx context.Context, _ pawl.None) (int64, error) {
	return a.balance.Get(ctx), nil
}

type note struct{ Key, Text string }

// Note keeps a note; it has no result.
func (a *Account) Note(ctx context.Context, n note) (pawl.None, error) {
	a.notes.Set(ctx, n.Key, n.Text)
	return pawl.None{}, nil
}

// Panic panics.
func (a *Account) Panic(context.Context, pawl.None) (pawl.None, error) { panic("on purpose") }

// Slow runs until there is something in the file, or its attempt ends.
func (a *Account) Slow(ctx context.Context, file string) (string, error) {
	for ctx.Err() == nil {
		if b, err := os.ReadFile(file); err == nil && len(b) > 0 {
			return string(b), nil
		}
		time.Sleep(time.Millisecond) //nolint:forbidigo // waits for another process
	}
	return "", ctx.Err()
}

// Die kills the process, once its caller has the id of the invocation, which takes a
// moment on a busy machine.
func (a *Account) Die(context.Context, pawl.None) (pawl.None, error) {
	time.Sleep(time.Second) //nolint:forbidigo // the caller is another process
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

// bank is the program, on the engine that its argument names, or its own in ./data.
func bank() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	pawl.RegisterError("bank.negative", errNegative)
	dir, _ := filepath.Abs("data")
	url := "local:" + dir
	if len(os.Args) > 1 {
		url = os.Args[1]
	}
	app, err := pawl.Open(ctx, url, pawl.Config{
		App: "bank", Component: "teller", Logger: slog.New(slog.DiscardHandler), DrainTimeout: 100 * time.Millisecond,
	})
	if err == nil {
		pawl.Register[Account](app, pawl.ReadOnly((*Account).Balance), pawl.MaxAttempts(2))
		err = app.Run(ctx)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
