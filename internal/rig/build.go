package rig

import (
	"os"
	"sync"
	"testing"

	"github.com/pawl-go/pawl/internal/stage"
)

// Pawl builds the command pawl, once for each test binary, and returns its path.
func Pawl(t testing.TB) string {
	t.Helper()
	return Build(t, "./cmd/pawl")
}

// built is what building a command gave.
type built struct {
	name string
	err  error
}

var builds = struct {
	sync.Mutex
	dir  string
	done map[string]built
}{done: map[string]built{}}

// Build builds a command of the module, named from its root such as ./cmd/pawl,
// once for each test binary, and returns its path.
func Build(t testing.TB, pkg string) string {
	t.Helper()
	builds.Lock()
	defer builds.Unlock()
	if builds.dir == "" {
		dir, err := os.MkdirTemp("", "pawl-rig") //nolint:usetesting // it outlives the test that asks first
		if err != nil {
			t.Fatal(err)
		}
		builds.dir = dir
	}
	b, done := builds.done[pkg]
	if !done {
		b.name, b.err = stage.Build(t.Context(), builds.dir, pkg)
		builds.done[pkg] = b
	}
	if b.err != nil {
		t.Fatal(b.err)
	}
	return b.name
}

// Clean removes what was built; for TestMain, after the tests.
func Clean() {
	builds.Lock()
	defer builds.Unlock()
	if builds.dir != "" {
		_ = os.RemoveAll(builds.dir) // a temporary directory
		builds.dir, builds.done = "", map[string]built{}
	}
}

// Root is the directory of go.mod.
func Root(t testing.TB) string {
	t.Helper()
	dir, err := stage.Root()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// NPM is stage.NPM, for a test: it fails, or is skipped, where that fails.
func NPM(t testing.TB, dir string) {
	t.Helper()
	skipNode(t)
	if err := stage.NPM(t.Context(), dir); err != nil {
		t.Fatalf("%v\nInstall nodejs and npm, with a registry that npm reaches, or set PAWL_SKIP_NODE=1 "+
			"to leave the tests out that need them.", err)
	}
}

// Node fails the test, or skips it, where there is no node.
func Node(t testing.TB) {
	t.Helper()
	skipNode(t)
	if err := stage.Node(t.Context()); err != nil {
		t.Fatalf("%v\nInstall nodejs, or set PAWL_SKIP_NODE=1 to leave the tests out that need it.", err)
	}
}

func skipNode(t testing.TB) {
	t.Helper()
	if os.Getenv("PAWL_SKIP_NODE") != "" && os.Getenv("CI") == "" {
		t.Skip("PAWL_SKIP_NODE is set: what runs on node is not tested")
	}
}

// Python returns the path of a Python 3, or fails the test.
func Python(t testing.TB) string {
	t.Helper()
	name, err := stage.Python()
	if err != nil {
		t.Fatal(err)
	}
	return name
}
