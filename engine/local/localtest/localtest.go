// Package localtest makes local engines fail, for the conformance suite and
// for tests of what stands on an engine.
package localtest

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/pawl-go/pawl/engine"
	_ "github.com/pawl-go/pawl/engine/local" // the scheme
	"github.com/pawl-go/pawl/engine/trace"
)

// Harness is a local engine in a directory of the test. It implements
// enginetest.Harness.
type Harness struct {
	// Params are the parameters of the engine's URL.
	Params string

	options engine.Options
	dir     string
	eng     engine.Engine
}

// New makes a harness for an engine with small files. Checkpoints are far
// apart: the copy that Crash makes is not of one moment, as a death would be.
func New(durability string) *Harness {
	return &Harness{Params: "durability=" + durability + "&cycle=1MiB"}
}

// Open opens an engine in a fresh directory.
func (h *Harness) Open(t *testing.T, o engine.Options) engine.Engine {
	h.options, h.dir = o, t.TempDir()
	return h.open(t)
}

func (h *Harness) open(t *testing.T) engine.Engine {
	t.Helper()
	eng, err := engine.Open(context.Background(), "local:"+h.dir+"?"+h.Params, h.options)
	if err != nil {
		t.Fatalf("open engine: %v", err)
	}
	h.eng = eng
	t.Cleanup(func() { _ = eng.Close() })
	return eng
}

// Fail declares the component of a session failed.
func (h *Harness) Fail(t *testing.T, s engine.Session) {
	t.Helper()
	if err := h.eng.(interface{ Fail(engine.Session) error }).Fail(s); err != nil {
		t.Fatalf("fail session: %v", err)
	}
}

// Crash opens a copy of the directory as it is at this moment: what a process
// killed with -9 would find. The old engine goes on as a zombie with a
// directory that nobody reads any more; if a *trace.Life records what it does,
// that ends here, and the next life begins.
func (h *Harness) Crash(t *testing.T) engine.Engine {
	t.Helper()
	old := h.dir
	h.dir = filepath.Join(t.TempDir(), "copy")
	copied := func() {
		if err := os.CopyFS(h.dir, os.DirFS(old)); err != nil {
			t.Fatalf("copy data: %v", err)
		}
	}
	if life, ok := h.options.Trace.(*trace.Life); ok {
		h.options.Trace = life.Kill(copied)
	} else {
		copied()
	}
	return h.open(t)
}
