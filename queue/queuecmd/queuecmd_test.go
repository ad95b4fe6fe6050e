package queuecmd

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pawl-go/pawl/queue"
)

func run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	c := Command()
	var out bytes.Buffer
	c.SetOut(&out)
	c.SetErr(&out)
	c.SetArgs(args)
	err := c.ExecuteContext(t.Context())
	return out.String(), err
}

func TestCommands(t *testing.T) {
	dir := t.TempDir()
	q, err := queue.Open(dir, queue.Config{CycleBytes: queue.MinCycleBytes})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{"one", "two\n", strings.Repeat("x", 3000), "four", strings.Repeat("y", 2000)} {
		if _, err := q.Append([]byte(p)); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := run(t, "verify", dir); err != nil || !strings.Contains(out, "open for appending by process") {
		t.Fatalf("verify of an open queue: %v\n%s", err, out)
	}
	if err := q.Close(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		want []string
	}{
		{[]string{"dump", dir}, []string{"1:0\t3\t\"one\"\n", "1:1\t4\t\"two\\n\"\n", "...\n", "2:0\t"}},
		{[]string{"dump", dir, "--from", "1:1", "--to", "1:1"}, []string{"1:1\t4\t"}},
		{[]string{"dump", dir, "-n", "1", "--json"}, []string{`{"index":"1:0","bytes":3,"payload":"b25l"}`}},
		{[]string{"dump", dir, "--raw", "-n", "2"}, []string{"one\ntwo\n\n"}},
		{[]string{"stats", dir}, []string{"5 entries", "2 cycles (1 sealed)", "first 1:0, last 2:0"}},
		{[]string{"stats", dir, "--json"}, []string{`"entries": 5`}},
		{[]string{"verify", dir}, []string{"everything checks", "sealed"}},
		{[]string{"verify", dir, "--json"}, []string{`"problems": null`}},
	} {
		out, err := run(t, c.args...)
		if err != nil {
			t.Fatalf("%q: %v\n%s", c.args, err, out)
		}
		for _, w := range c.want {
			if !strings.Contains(out, w) {
				t.Errorf("%q: no %q in\n%s", c.args, w, out)
			}
		}
	}
	path := filepath.Join(dir, "0000000001.cycle")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b[4096+17] ^= 1
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := run(t, "verify", dir)
	if !errors.Is(err, ErrDamaged) || !strings.Contains(out, "DAMAGE") || !strings.Contains(out, "offset 4096, index 1:0") {
		t.Fatalf("verify of a damaged queue: %v\n%s", err, out)
	}
	if _, err := run(t, "dump", dir, "--from", "nonsense"); err == nil {
		t.Fatal("dump takes a bad index")
	}
}
