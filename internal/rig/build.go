package rig

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// Pawl builds the command pawl, once for each test binary, and returns its path.
func Pawl(t testing.TB) string {
	t.Helper()
	return Build(t, "./cmd/pawl")
}

var builds = struct {
	sync.Mutex
	dir  string
	done map[string]error
}{done: map[string]error{}}

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
	name := filepath.Join(builds.dir, filepath.Base(pkg))
	err, done := builds.done[pkg]
	if !done {
		cmd := exec.CommandContext(context.Background(), "go", "build", "-o", name, pkg)
		cmd.Dir = Root(t)
		if out, failed := cmd.CombinedOutput(); failed != nil {
			err = fmt.Errorf("build %s: %w\n%s", pkg, failed, out)
		}
		builds.done[pkg] = err
	}
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// Clean removes what was built; for TestMain, after the tests.
func Clean() {
	builds.Lock()
	defer builds.Unlock()
	if builds.dir != "" {
		_ = os.RemoveAll(builds.dir) // a temporary directory
		builds.dir, builds.done = "", map[string]error{}
	}
}

// Root is the directory of go.mod.
func Root(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			t.Fatal("the tests are not run inside of the module")
		}
		dir = up
	}
}

// NPM makes sure that what dir/package-lock.json names is installed in
// dir/node_modules, and that there is a node to run it.
func NPM(t testing.TB, dir string) {
	t.Helper()
	if os.Getenv("PAWL_SKIP_NODE") != "" && os.Getenv("CI") == "" {
		t.Skip("PAWL_SKIP_NODE is set: what runs on node is not tested")
	}
	if err := npm(dir); err != nil {
		t.Fatalf("this test needs node 18 or newer and npm, and a registry that npm reaches: %v\n"+
			"Install nodejs and npm, or set PAWL_SKIP_NODE=1 to leave the tests out that need them.", err)
	}
}

var installs sync.Mutex

// npm installs by the lock file, if what is there was not installed by it.
func npm(dir string) error {
	installs.Lock()
	defer installs.Unlock()
	if out, err := exec.CommandContext(context.Background(), "node", "--version").CombinedOutput(); err != nil {
		return fmt.Errorf("node --version: %w\n%s", err, out)
	}
	lock, err := os.ReadFile(filepath.Join(dir, "package-lock.json"))
	if err != nil {
		return err
	}
	stamp := filepath.Join(dir, "node_modules", ".installed-by")
	if last, err := os.ReadFile(stamp); err == nil && string(last) == string(lock) {
		return nil
	}
	cmd := exec.CommandContext(context.Background(), "npm", "ci", "--prefer-offline", "--no-audit", "--no-fund")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("npm ci in %s: %w\n%s", dir, err, strings.TrimSpace(string(out)))
	}
	return os.WriteFile(stamp, lock, 0o600)
}

// Python returns the name of a Python 3, or fails the test.
func Python(t testing.TB) string {
	t.Helper()
	name, err := exec.LookPath("python3")
	if err != nil {
		t.Fatalf("this test needs python3, of which it uses the standard library alone: %v", err)
	}
	return name
}
