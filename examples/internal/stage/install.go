package stage

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// module is the path of the module that the examples are in.
const module = "github.com/pawl-go/pawl"

// Dir returns the directory of a package of the module, such as examples/shop.
// The working directory must be inside of the module.
func Dir(ctx context.Context, pkg string) (string, error) {
	return output(ctx, "", "go", "list", "-f", "{{.Dir}}", module+"/"+pkg)
}

// Pawl builds the command pawl into dir and returns its path.
func Pawl(ctx context.Context, dir string) (string, error) {
	name := filepath.Join(dir, "pawl")
	_, err := output(ctx, "", "go", "build", "-o", name, module+"/cmd/pawl")
	return name, err
}

// NPM installs what dir/package-lock.json names, unless that has been done.
func NPM(ctx context.Context, dir string) error {
	lock, err := os.ReadFile(filepath.Join(dir, "package-lock.json"))
	if err != nil {
		return err
	}
	stamp := filepath.Join(dir, "node_modules", ".installed-by")
	if last, err := os.ReadFile(stamp); err == nil && string(last) == string(lock) {
		return nil
	}
	if _, err := output(ctx, dir, "npm", "ci", "--prefer-offline", "--no-audit", "--no-fund"); err != nil {
		return fmt.Errorf("this example needs node 18 or newer, and npm: %w", err)
	}
	return os.WriteFile(stamp, lock, 0o600)
}

// output runs a command to its end and returns what it has printed.
func output(ctx context.Context, dir, command string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, command, args...)
	cmd.Dir = dir
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, strings.TrimSpace(errs.String()+string(out)))
	}
	return strings.TrimSpace(string(out)), nil
}
