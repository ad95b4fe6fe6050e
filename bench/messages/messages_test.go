package messages_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/pawl-go/pawl/bench/messages"
	"github.com/pawl-go/pawl/bench/rounds"
)

var systems = []messages.System{messages.Pawl(), messages.PawlNotQuick(), messages.TCP(), messages.Channel()}

func TestMain(m *testing.M) {
	if system := os.Getenv("PAWL_MESSAGES_SYSTEM"); system != "" {
		if err := messages.Serve(systems, system, os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func run(t *testing.T, systems ...messages.System) (*rounds.Report, error) {
	t.Helper()
	return messages.Run(t.Context(), systems, messages.Options{
		Rounds: 1, Duration: time.Millisecond,
		Start: func(ctx context.Context, system string) *exec.Cmd {
			cmd := exec.CommandContext(ctx, os.Args[0])
			cmd.Env = append(os.Environ(), "PAWL_MESSAGES_SYSTEM="+system)
			return cmd
		},
	})
}

// Each system does the jobs for which it has actors.
func TestSmoke(t *testing.T) {
	r, err := run(t, systems...)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]string{}
	for _, f := range r.Figures {
		got[f.System] = append(got[f.System], f.Job)
		if f.Ops <= 0 || f.OpsPerS <= 0 {
			t.Errorf("%+v", f)
		}
	}
	local, remote := "local-tell local-ask", "remote-tell remote-ask remote-ask-64 behind-large with-large"
	for system, want := range map[string]string{"pawl mesh": local + " " + remote, "pawl, not quick": local + " " + remote, "bare TCP": remote, "channel": local} {
		if jobs := strings.Join(got[system], " "); jobs != want {
			t.Errorf("%s did %q, want %q", system, jobs, want)
		}
	}
}

// lossy is a channel that loses the hundredth message.
func lossy() messages.System {
	s := messages.Channel()
	return messages.System{Name: "lossy", Open: func(ctx context.Context, addr string) (*messages.Client, error) {
		c, err := s.Open(ctx, addr)
		actor := c.Actors[messages.Here]
		tell, n := actor.Tell, 0
		actor.Tell = func(m []byte) error {
			if n++; n == 100 {
				return nil
			}
			return tell(m)
		}
		return c, err
	}}
}

// A system that loses a message has no figures.
func TestLossIsFound(t *testing.T) {
	if _, err := run(t, lossy()); err == nil || !strings.Contains(err.Error(), "of 50000 messages 49999 were handled") {
		t.Error(err)
	}
}

func TestAProcessThatDoesNotServe(t *testing.T) {
	s := messages.TCP()
	s.Name = "unknown to it"
	if _, err := run(t, s); err == nil || !strings.Contains(err.Error(), "open unknown to it: the other process does not say where it is") {
		t.Error(err)
	}
}
