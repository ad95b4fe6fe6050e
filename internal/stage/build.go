package stage

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
)

// Root is the directory of the module that the working directory is in.
func Root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", errors.New("the working directory is not inside of the module")
		}
		dir = up
	}
}

// Build builds a command of the module, named from its root such as ./cmd/pawl,
// into dir, and returns its path.
func Build(ctx context.Context, dir, pkg string) (string, error) {
	root, err := Root()
	if err != nil {
		return "", err
	}
	name := filepath.Join(dir, filepath.Base(pkg))
	return name, run(ctx, root, "go", "build", "-o", name, pkg)
}

// Pawl builds the command pawl into dir and returns its path.
func Pawl(ctx context.Context, dir string) (string, error) { return Build(ctx, dir, "./cmd/pawl") }

// Node says whether there is a node.
func Node(ctx context.Context) error {
	if err := run(ctx, "", "node", "--version"); err != nil {
		return fmt.Errorf("node 18 or newer is needed: %w", err)
	}
	return nil
}

var installs sync.Mutex

// NPM makes sure that what dir/package-lock.json names is installed in
// dir/node_modules, and that there is a node to run it.
func NPM(ctx context.Context, dir string) error {
	installs.Lock()
	defer installs.Unlock()
	if err := Node(ctx); err != nil {
		return err
	}
	lock, err := os.ReadFile(filepath.Join(dir, "package-lock.json"))
	if err != nil {
		return err
	}
	stamp := filepath.Join(dir, "node_modules", ".installed-by")
	if last, err := os.ReadFile(stamp); err == nil && string(last) == string(lock) {
		return nil
	}
	if err := run(ctx, dir, "npm", "ci", "--prefer-offline", "--no-audit", "--no-fund"); err != nil {
		return fmt.Errorf("npm is needed: %w", err)
	}
	return os.WriteFile(stamp, lock, 0o600)
}

// Python is the path of a Python 3.
func Python() (string, error) {
	name, err := exec.LookPath("python3")
	if err != nil {
		return "", fmt.Errorf("python3 is needed, of which the standard library alone is used: %w", err)
	}
	return name, nil
}

// run runs a command to its end; the error has what it has printed.
func run(ctx context.Context, dir, command string, args ...string) error {
	cmd := exec.CommandContext(ctx, command, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}
