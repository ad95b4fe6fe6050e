package ports

import (
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// Whatever is given is free, not given twice soon, and out of reach of what the system
// gives away.
func TestFree(t *testing.T) {
	seen := map[string]bool{}
	for range Most / 3 {
		three, err := Addresses(3)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range three {
			if seen[a] {
				t.Errorf("%s twice", a)
			}
			seen[a] = true
			l, err := net.Listen("tcp", a) //nolint:noctx // it is closed at once
			if err != nil {
				t.Fatal(err)
			}
			l.Close()
		}
	}
	if again, err := Addresses(1); err != nil || !seen[again[0]] {
		t.Errorf("after all have been given: %v, %v; want one of the block again", again, err)
	}
}

// A port at which somebody listens is left out.
func TestFreeLeavesOutWhatIsUsed(t *testing.T) {
	first, err := Free(1)
	if err != nil {
		t.Fatal(err)
	}
	for port := own.first + 1; port < own.first+blockSize; port++ {
		if port == first {
			continue
		}
		l, err := listen(port)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
	}
	for range 3 {
		if got, err := Free(1); err != nil || got != first {
			t.Fatalf("Free = %d, %v; only %d is free", got, err, first)
		}
	}
	if _, err := Free(2); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("two ports where one is free: %v", err)
	}
}

func TestFreeRefuses(t *testing.T) {
	for _, n := range []int{-1, 0, Most + 1} {
		if _, err := Free(n); err == nil {
			t.Errorf("Free(%d) gives no error", n)
		}
	}
}

// Two processes never share a block.
func TestTwoProcesses(t *testing.T) {
	const child = "PAWL_TEST_PORTS_CHILD"
	mine, err := Free(Most)
	if err != nil {
		t.Fatal(err)
	}
	if os.Getenv(child) != "" {
		os.Stdout.WriteString("block " + address(mine) + "\n")
		return
	}
	for range 3 {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestTwoProcesses$")
		cmd.Env = append(os.Environ(), child+"=1")
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(out), "block 127.0.0.1:") || strings.Contains(string(out), address(mine)+"\n") {
			t.Errorf("another process has %s, mine begins at %d", out, mine)
		}
	}
}
