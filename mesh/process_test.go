package mesh_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pawl-go/pawl/internal/ports"
	"github.com/pawl-go/pawl/mesh"
)

// A test binary that finds this variable is a node: "name listen peer=addr".
const nodeVariable = "PAWL_MESH_TEST_NODE"

func TestMain(m *testing.M) {
	if spec := os.Getenv(nodeVariable); spec != "" {
		if err := beNode(strings.Fields(spec)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// beNode runs a node with an actor that answers and one that does not, until its
// standard input is closed.
func beNode(spec []string) error {
	peer, addr, _ := strings.Cut(spec[2], "=")
	cfg := mesh.Config{ID: spec[0], Listen: spec[1], Secret: secret, Members: mesh.Static(mesh.Peer{ID: peer, Addr: addr}), Timing: fast}
	cfg.Logger = slog.New(slog.NewTextHandler(io.Discard, nil))
	messages(&cfg)
	n, err := mesh.Start(cfg)
	if err != nil {
		return err
	}
	defer n.Close()
	if _, err := mesh.Spawn(n, "echo", func(c *mesh.Context, m number) error { return c.Reply(m.N) }); err != nil {
		return err
	}
	if _, err := mesh.Spawn(n, "silent", func(c *mesh.Context, _ number) error { _, err := c.ReplyTo(); return err }); err != nil {
		return err
	}
	if _, err := mesh.Spawn(n, "sink", func(*mesh.Context, any) error { return nil }); err != nil {
		return err
	}
	fmt.Fprintln(os.Stdout, n.Addr())
	bufio.NewReader(os.Stdin).ReadByte() // until the test ends
	return nil
}

var fast = mesh.Timing{
	Heartbeat: 100 * time.Millisecond, Silence: time.Second, Dial: time.Second,
	RedialMin: 10 * time.Millisecond, RedialMax: 100 * time.Millisecond,
}

// process is a node in a process of its own.
type process struct {
	*exec.Cmd
	addr string
}

// startProcess starts a node; prefix is a command to run it under.
func startProcess(t *testing.T, spec string, prefix ...string) *process {
	t.Helper()
	args := append(prefix, os.Args[0])
	p := &process{Cmd: exec.CommandContext(t.Context(), args[0], args[1:]...)}
	p.Env = append(os.Environ(), nodeVariable+"="+spec)
	p.Stderr = os.Stderr
	if _, err := p.StdinPipe(); err != nil { // held open as long as we live
		t.Fatal(err)
	}
	out, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the process says nothing: %v", err)
	}
	p.addr = strings.TrimSpace(line)
	return p
}

// kill is kill -9.
func (p *process) kill() {
	if p.ProcessState == nil {
		p.Process.Kill()
		p.Wait()
	}
}

func freeAddr(t *testing.T) string {
	t.Helper()
	addresses, err := ports.Addresses(1)
	if err != nil {
		t.Fatal(err)
	}
	return addresses[0]
}

// A process is killed with a call in flight and a monitor set: both end at once.
// It is started again on its address, a hundred times.
func TestKilledProcess(t *testing.T) {
	addr := freeAddr(t)
	a := startTCP(t, "a", func(c *mesh.Config) {
		c.Timing = fast
		c.Timing.Silence = time.Minute // it is not by its silence that one who is killed is noticed
		c.Members = mesh.Static(mesh.Peer{ID: "b", Addr: addr})
	})
	rounds := 100
	if testing.Short() || raceEnabled {
		rounds = 5
	}
	for round := range rounds {
		p := startProcess(t, "b "+addr+" a="+a.Addr())
		if err := a.WaitForMembers(t.Context(), 2); err != nil {
			t.Fatal(err)
		}
		echo := mesh.At(a, mesh.Address[number]{Node: "b", Name: "echo"})
		if got, err := mesh.Call[int](t.Context(), echo, number{round}); err != nil || got != round {
			t.Fatal(got, err)
		}
		monitor, err := echo.Monitor(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		failed := callSilent(t, a)
		begun := time.Now()
		p.kill()
		if err := <-failed; !errors.Is(err, mesh.ReplyDisconnected) {
			t.Errorf("a call to who is killed: %v", err)
		}
		if _, err := monitor.Exit(t.Context()); !errors.Is(err, mesh.ReplyDisconnected) {
			t.Errorf("a monitor on who is killed: %v", err)
		}
		if took := time.Since(begun); took > 10*time.Second { // a few ms, if nobody else is busy
			t.Errorf("it took %v to notice", took)
		}
	}
}

// prompt counts sends, and those among them that took 10 ms or more.
type prompt struct{ all, slow int }

func (p *prompt) send(f func() error) error {
	begun := time.Now()
	err := f()
	p.all++
	if time.Since(begun) >= 10*time.Millisecond {
		p.slow++
	}
	return err
}

// check allows for a few that were not slow, but had to wait for a processor.
func (p *prompt) check(t *testing.T) {
	t.Helper()
	t.Logf("%d of %d took 10 ms or more", p.slow, p.all)
	if p.all < 300 || p.slow > p.all/20 {
		t.Errorf("%d of %d sends took 10 ms or more", p.slow, p.all)
	}
}

// What is cast to a process that is killed, or hangs, returns at once: before that is
// noticed, while it is dialled again, and when it is unreachable.
func TestCastToDeadProcess(t *testing.T) {
	for name, signal := range map[string]syscall.Signal{"killed": syscall.SIGKILL, "hung": syscall.SIGSTOP} {
		t.Run(name, func(t *testing.T) {
			a := startTCP(t, "a", func(c *mesh.Config) { c.Timing = fast })
			p := startProcess(t, "b "+freeAddr(t)+" a="+a.Addr())
			if err := a.WaitForMembers(t.Context(), 2); err != nil {
				t.Fatal(err)
			}
			sink := mesh.At(a, mesh.Address[number]{Node: "b", Name: "sink"})
			if err := p.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			var sent prompt
			unreachable := 0
			for begun := time.Now(); unreachable < 300; {
				err := sent.send(func() error { return sink.Cast(t.Context(), number{}) })
				if errors.Is(err, mesh.SendUnreachable) {
					unreachable++
				} else if err != nil {
					t.Fatal(err)
				}
				if time.Since(begun) > time.Minute {
					t.Fatal("it is never unreachable")
				}
				time.Sleep(3 * time.Millisecond)
			}
			sent.check(t)
			if gone := a.Counters().Dropped; gone[mesh.ReasonReconnecting]+gone[mesh.ReasonLost] == 0 {
				t.Errorf("nothing is counted as dropped: %v", gone)
			}
		})
	}
}

// A process that hangs reads nothing: its lane is full, and TryCast says so without
// waiting, until the node is unreachable.
func TestTryCastNeverBlocks(t *testing.T) {
	a := startTCP(t, "a", func(c *mesh.Config) { c.Timing = fast })
	p := startProcess(t, "b "+freeAddr(t)+" a="+a.Addr())
	if err := a.WaitForMembers(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	sink := mesh.At(a, mesh.Address[[]byte]{Node: "b", Name: "sink"})
	if err := p.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	var sent prompt
	full := 0
	m := make([]byte, 10_000)
	for begun := time.Now(); ; {
		err := sent.send(func() error { return sink.TryCast(m) })
		if errors.Is(err, mesh.SendUnreachable) {
			break
		}
		if errors.Is(err, mesh.SendFull) {
			full++
		} else if err != nil {
			t.Fatal(err)
		}
		if time.Since(begun) > time.Minute {
			t.Fatal("it is never unreachable")
		}
		if full > 0 {
			time.Sleep(time.Millisecond)
		}
	}
	sent.check(t)
	if full == 0 {
		t.Error("the lane was never full")
	}
}

// callSilent calls the actor that does not answer, and returns when the call has
// arrived there.
func callSilent(t *testing.T, a *mesh.Node) <-chan error {
	t.Helper()
	silent := mesh.At(a, mesh.Address[number]{Node: "b", Name: "silent"})
	before, err := silent.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	failed := make(chan error, 1)
	go func() { _, err := mesh.Call[int](t.Context(), silent, number{}); failed <- err }()
	for {
		now, err := silent.Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if now.Taken > before.Taken {
			return failed
		}
	}
}

// A process that is stopped, and not killed, is noticed by its silence, and comes
// back as the same incarnation when it goes on.
func TestHungProcess(t *testing.T) {
	a := startTCP(t, "a", func(c *mesh.Config) { c.Timing = fast })
	p := startProcess(t, "b "+freeAddr(t)+" a="+a.Addr())
	if err := a.WaitForMembers(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	before := a.Members()[1].Incarnation
	failed := callSilent(t, a)
	if err := p.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if err := <-failed; !errors.Is(err, mesh.ReplyDisconnected) {
		t.Errorf("a call to who hangs: %v", err)
	}
	if err := p.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if err := a.WaitForMembers(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	if now := a.Members()[1].Incarnation; now != before {
		t.Errorf("incarnation %d, was %d", now, before)
	}
}

// The cable between two machines is pulled: two network namespaces, one link.
func TestCutCable(t *testing.T) {
	net, outside, inside := cable(t)
	a := startTCP(t, "a", func(c *mesh.Config) { c.Listen = net + ".1:0"; c.Timing = fast })
	startProcess(t, "b "+net+".2:7400 a="+a.Addr(), inside...)
	events := a.Subscribe()
	defer events.Close()
	if err := a.WaitForMembers(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	failed := callSilent(t, a)
	begun := time.Now()
	run(t, "ip", "link", "set", outside, "down")
	if err := <-failed; !errors.Is(err, mesh.ReplyDisconnected) {
		t.Errorf("a call over the cable: %v", err)
	}
	if took := time.Since(begun); took > 10*time.Second {
		t.Errorf("it took %v to notice, with %v of silence allowed", took, fast.Silence)
	}
	if _, err := nextOf(t, events, mesh.MemberUnreachable); err != nil {
		t.Fatal(err)
	}
	echo := mesh.At(a, mesh.Address[number]{Node: "b", Name: "echo"})
	if err := echo.Cast(t.Context(), number{}); !errors.Is(err, mesh.SendUnreachable) {
		t.Errorf("a cast without a cable: %v", err)
	}
	run(t, "ip", "link", "set", outside, "up")
	if _, err := nextOf(t, events, mesh.MemberReachable); err != nil {
		t.Fatal(err)
	}
	if got, err := mesh.Call[int](t.Context(), echo, number{7}); err != nil || got != 7 {
		t.Errorf("with the cable back: %d, %v", got, err)
	}
}

// cable makes a network namespace that a cable leads to, and returns the network
// they share, the name of the cable on this side, and the command that runs something
// on the other.
func cable(t *testing.T) (net, outside string, inside []string) {
	t.Helper()
	net = fmt.Sprintf("10.%d.%d", 200+os.Getpid()/250%50, os.Getpid()%250)
	ns, outside := fmt.Sprint("pawl", os.Getpid()), fmt.Sprint("pawl", os.Getpid()%100000, "o")
	if out, err := exec.CommandContext(t.Context(), "ip", "netns", "add", ns).CombinedOutput(); err != nil {
		t.Skipf("no network namespaces here: %v %s", err, out)
	}
	t.Cleanup(func() {
		exec.CommandContext(context.Background(), "ip", "netns", "del", ns).Run()
	})
	if out, err := exec.CommandContext(t.Context(), "ip", "link", "add", outside, "type", "veth", "peer", "name", "eth0", "netns", ns).CombinedOutput(); err != nil {
		t.Skipf("no virtual cables here: %v %s", err, out)
	}
	run(t, "ip", "addr", "add", net+".1/24", "dev", outside)
	run(t, "ip", "link", "set", outside, "up")
	inside = []string{"ip", "netns", "exec", ns}
	run(t, append(inside, "ip", "addr", "add", net+".2/24", "dev", "eth0")...)
	run(t, append(inside, "ip", "link", "set", "eth0", "up")...)
	return net, outside, inside
}

func run(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), args[0], args[1:]...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %v %s", args, err, out)
	}
}
