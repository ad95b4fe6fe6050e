package local

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// What was acknowledged is there after kill -9, and nothing was done twice.
func TestKilledProcessLosesNothing(t *testing.T) {
	kills := 8
	if testing.Short() {
		kills = 2
	}
	for _, parameters := range []string{
		"durability=process&cycle=64KiB&checkpoint=64KiB&retain=0s",
		"durability=disk&cycle=1MiB&checkpoint=128KiB",
	} {
		t.Run(parameters, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "data")
			seen := 0
			for range kills {
				seen = killAfter(t, dir, parameters, seen, 1+rand.IntN(3000))
			}
			w := prepareWorld(t, parameters)
			w.url = "local:" + dir + "?" + parameters
			w.open()
			defer w.h.Close()
			v, ok, err := w.e.lookup(call0("A", "1").Actor, put("n", "").Key)
			if n := 0; err != nil || !ok {
				t.Fatalf("lookup: %v %v", ok, err)
			} else if fmt.Sscan(string(v), &n); n < seen || n > seen+1 {
				t.Errorf("the counter is %d, acknowledged were %d", n, seen)
			}
		})
	}
}

// killAfter runs a child until it has counted some more, and kills it. It
// returns what the child has acknowledged.
func killAfter(t *testing.T, dir, parameters string, seen, more int) int {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), childDir+"="+dir, "PAWL_TEST_CHILD_PARAMETERS="+parameters)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	sc := bufio.NewScanner(out)
	first := true
	for sc.Scan() {
		var n int
		if first {
			first = false
			if _, err := fmt.Sscanf(sc.Text(), "begins %d", &n); err != nil {
				t.Fatalf("child says %q", sc.Text())
			}
			if n < seen || n > seen+1 {
				t.Fatalf("the child finds %d, acknowledged were %d", n, seen)
			}
			seen = n
			continue
		}
		if _, err := fmt.Sscan(sc.Text(), &n); err != nil {
			continue // the kill cut the line
		}
		if n != seen+1 {
			t.Fatalf("the child counts %d after %d", n, seen)
		}
		seen = n
		if more--; more == 0 {
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	_ = cmd.Wait() // it was killed
	if more > 0 {
		t.Fatalf("the child ended by itself at %d", seen)
	}
	return seen
}
