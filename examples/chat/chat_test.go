package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/pawl-go/pawl/internal/ports"
)

// A test binary that finds this variable is the program.
const variable = "PAWL_CHAT"

func TestMain(m *testing.M) {
	if args := os.Getenv(variable); args != "" {
		os.Args = append(os.Args[:1], strings.Fields(args)...)
		main()
		return
	}
	os.Exit(m.Run())
}

// terminal is somebody at a terminal of their own.
type terminal struct {
	t     *testing.T
	name  string
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines chan string
}

func open(t *testing.T, name string, port int) *terminal {
	t.Helper()
	term := &terminal{t: t, name: name, cmd: exec.CommandContext(t.Context(), os.Args[0]), lines: make(chan string, 1000)}
	term.cmd.Env = append(os.Environ(), fmt.Sprintf("%s=--port %d --silence 30s %s", variable, port, name))
	term.cmd.Stderr = os.Stderr
	var err error
	if term.in, err = term.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := term.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := term.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(term.kill)
	go func() {
		defer close(term.lines)
		for s := bufio.NewScanner(out); s.Scan(); {
			term.lines <- s.Text()
		}
	}()
	term.sees("You are " + name)
	return term
}

// kill is kill -9.
func (term *terminal) kill() {
	if term.cmd.ProcessState == nil {
		term.cmd.Process.Kill()
		term.cmd.Wait()
	}
}

func (term *terminal) types(text string) { fmt.Fprintln(term.in, text) }

// sees waits for a line that begins so, or for each of several in any order.
func (term *terminal) sees(wanted ...string) {
	term.t.Helper()
	patience := time.After(time.Minute)
	for len(wanted) > 0 {
		select {
		case line, ok := <-term.lines:
			if !ok {
				term.t.Fatalf("%s has ended, and did not see %q", term.name, wanted)
			}
			for i, w := range wanted {
				if strings.HasPrefix(line, w) {
					wanted = append(wanted[:i], wanted[i+1:]...)
					break
				}
			}
		case <-patience:
			term.t.Fatalf("%s does not see %q", term.name, wanted)
		}
	}
}

// Three people chat; one is killed and comes back; one leaves.
func TestChat(t *testing.T) {
	port, err := ports.Free(places)
	if err != nil {
		t.Fatal(err)
	}
	ann, bob, carl := open(t, "ann", port), open(t, "bob", port), open(t, "carl", port)
	ann.sees("* bob is here", "* carl is here")
	bob.sees("* ann is here", "* carl is here")
	carl.sees("* ann is here", "* bob is here")
	bob.types("hello")
	ann.sees("bob: hello")
	carl.sees("bob: hello")
	ann.types("/ping bob")
	ann.sees("* bob answers after")

	bob.kill()
	ann.sees("* bob is gone")
	carl.sees("* bob is gone")
	ann.types("poor bob")
	carl.sees("ann: poor bob")

	bob = open(t, "bob", port)
	bob.sees("* ann is here", "* carl is here")
	ann.sees("* bob is here")
	carl.sees("* bob is here")
	bob.types("I am back")
	ann.sees("bob: I am back")
	carl.sees("bob: I am back")

	carl.types("/quit")
	ann.sees("* carl has left")
	bob.sees("* carl has left")
	if err := carl.cmd.Wait(); err != nil {
		t.Error(err)
	}
	ann.types("/who")
	ann.sees("* ann at", "* bob at")
}
