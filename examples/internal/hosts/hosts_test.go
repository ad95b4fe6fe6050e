package hosts

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/pawl-go/pawl/examples/internal/crash"
)

func TestMain(m *testing.M) {
	crash.Main(map[string]crash.App{
		"dies": func(context.Context, crash.Job, *crash.Reporter) error { return errors.New("out of luck") },
	})
	os.Exit(m.Run())
}

// A standby that has ended by itself cannot take over, and is not waited for.
func TestAStandbyThatHasEndedIsReported(t *testing.T) {
	h, err := New(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	_, err = crash.Run{Job: crash.Job{App: "dies", Units: 1}, Next: func(ctx context.Context, job crash.Job) (*crash.Life, error) {
		one, err := h.Next(ctx, job)
		if err != nil {
			return nil, err
		}
		for range one.Events {
		}
		if err := one.Wait(); err == nil || !strings.Contains(err.Error(), "out of luck") {
			t.Errorf("the source: %v", err)
		}
		return h.Next(ctx, job)
	}}.Do(t.Context())
	if err == nil || !strings.Contains(err.Error(), "host two ended while it stood by") || !strings.Contains(err.Error(), "out of luck") {
		t.Errorf("take-over by a host that has ended: %v", err)
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(h.sockets); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the directory of the sockets: %v, want it gone", err)
	}
}

func TestADirectoryThatIsNotThereIsRefused(t *testing.T) {
	if _, err := New(t.Context(), t.TempDir()+"/none"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v, want that there is no such directory", err)
	}
}
