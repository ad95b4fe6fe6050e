//go:build linux

package soak

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/pawl-go/pawl/queue/replica"
)

// ownNetwork says that this process has a network namespace of its own.
const ownNetwork = "PAWL_QUEUE_SOAK_NETWORK"

// TestRealCuts: three hosts, each in a network namespace of its own, on a bridge that is
// in one too. The cable of the source is pulled, so that what it sends is lost without
// a word; another host takes over; the cable is put back.
//
//	the test, again, in a namespace        bridge
//	                                 ┌───────┼───────┐
//	                               port1   port2   port3     pulled: link set down
//	                                 │       │       │
//	hosts, in one each             10.77.0.1  .2     .3
//
// It takes the right to make namespaces, and ip and nsenter; it is skipped otherwise.
func TestRealCuts(t *testing.T) {
	if os.Getenv(ownNetwork) == "" {
		inOwnNetwork(t)
		return
	}
	s := newSoak(Options{Seed: 1, Dir: t.TempDir(), Program: program(t)})
	defer s.cleanUp()
	if err := s.wire(); err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	for round := range 4 {
		if err := s.progress(ctx); err != nil {
			t.Fatal(err)
		}
		old := s.sourceHost()
		next := s.hosts[int(old.id())%hosts]
		if err := cable(old, "down"); err != nil {
			t.Fatal(err)
		}
		next.tell("takeover")
		if !s.until(ctx, time.Minute, func() bool { return s.sourceHost() == next }) {
			t.Fatalf("round %d: host %d does not take over:%s", round, next.id(), s.states(ctx))
		}
		if !s.heard(ctx, old) {
			t.Fatalf("round %d: host %d does not answer", round, old.id())
		}
		from, alone := s.ackedBy(next), s.ackedBy(old)
		if !s.until(ctx, time.Minute, func() bool { return s.ackedBy(next) >= from+50 }) {
			t.Fatalf("round %d: nothing goes on:%s", round, s.states(ctx))
		}
		if n := s.ackedBy(old) - alone; n > old.orders.Writers { // each may have had one on its lips
			t.Fatalf("round %d: host %d has acknowledged %d appends alone", round, old.id(), n)
		}
		if err := cable(old, "up"); err != nil {
			t.Fatal(err)
		}
		if round%2 == 1 { // also one whose machine has gone down meanwhile
			old.kill()
			if err := old.start(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := s.settle(ctx); err != nil {
		t.Fatal(err)
	}
	if err := s.check(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", s.report)
}

// inOwnNetwork runs the test in another process, which has a network of its own.
func inOwnNetwork(t *testing.T) {
	t.Helper()
	for _, tool := range []string{"ip", "nsenter"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(err)
		}
	}
	run := func(name string, args ...string) ([]byte, error) {
		cmd := exec.CommandContext(t.Context(), name, args...)
		cmd.Env = append(os.Environ(), ownNetwork+"=1")
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
		return cmd.CombinedOutput()
	}
	if out, err := run("ip", "link", "add", "pawl-try", "type", "veth", "peer", "name", "pawl-try2"); err != nil {
		t.Skipf("no namespaces and bridges here: %v %s", err, out)
	}
	out, err := run(program(t), "-test.run=^TestRealCuts$", "-test.v")
	t.Logf("%s", out)
	if err != nil {
		t.Fatal(err)
	}
}

// heard waits until all is read that a host has said so far.
func (s *soak) heard(ctx context.Context, h *host) bool {
	h.mu.Lock()
	h.mu.stats = ""
	h.mu.Unlock()
	h.tell("stats")
	return s.until(ctx, time.Minute, func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		return h.mu.stats != ""
	})
}

// wire makes the bridge, and starts the hosts on it.
func (s *soak) wire() error {
	if err := ip("link", "add", "pawl", "type", "bridge"); err != nil {
		return err
	}
	if err := ip("link", "set", "pawl", "up"); err != nil {
		return err
	}
	var peers []replica.Peer
	for id := replica.HostID(1); id <= hosts; id++ {
		peers = append(peers, replica.Peer{ID: id, Addr: fmt.Sprintf("10.77.0.%d:7001", id)})
	}
	for id := replica.HostID(1); id <= hosts; id++ {
		dir := filepath.Join(s.o.Dir, fmt.Sprintf("host%d", id))
		log, err := os.Create(dir + ".log")
		if err != nil {
			return err
		}
		h := &host{s: s, log: log, orders: orders{Self: id, Dir: dir, Listen: ":7001", Peers: peers, Writers: 2}}
		h.attributes = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
		h.started = h.plug
		s.hosts = append(s.hosts, h)
		if err := h.start(); err != nil {
			return err
		}
	}
	return nil
}

// plug connects the namespace of a process that was just started with the bridge. The
// cable of one that is dead has gone with it; the address of its card, which the others
// remember, is the same again.
func (h *host) plug(pid int) error {
	port, far, process := portOf(h), fmt.Sprintf("pawl-%d", h.id()), strconv.Itoa(pid)
	inside := func(args ...string) error {
		return tool("nsenter", append([]string{"-t", process, "-n", "ip"}, args...)...)
	}
	_ = ip("link", "delete", port) // of a process that is not quite gone
	for _, step := range []func() error{
		func() error {
			return ip("link", "add", port, "type", "veth", "peer", "name", far, "address", fmt.Sprintf("02:00:00:00:00:%02x", h.id()))
		},
		func() error { return ip("link", "set", port, "master", "pawl", "up") },
		func() error { return ip("link", "set", far, "netns", process) },
		func() error { return inside("addr", "add", fmt.Sprintf("10.77.0.%d/24", h.id()), "dev", far) },
		func() error { return inside("link", "set", far, "up") },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func portOf(h *host) string { return fmt.Sprintf("pawl-port%d", h.id()) }

// cable pulls the cable of a host, with "down", or puts it back, with "up".
func cable(h *host, to string) error { return ip("link", "set", portOf(h), to) }

func ip(args ...string) error { return tool("ip", args...) }

func tool(name string, args ...string) error {
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil { //nolint:noctx // it takes a moment
		return errors.Join(fmt.Errorf("%s %q: %w", name, args, err), errors.New(string(out)))
	}
	return nil
}
