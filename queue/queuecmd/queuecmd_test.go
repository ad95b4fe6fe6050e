package queuecmd

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pawl-go/pawl/queue"
)

func run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	return runWith(t, "", args...)
}

func runWith(t *testing.T, in string, args ...string) (string, error) {
	t.Helper()
	c := Command()
	c.SilenceUsage = true
	c.SetIn(strings.NewReader(in))
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
		{[]string{"stats", dir, "-o", "jsonl"}, []string{`"files":[{"number":1,`}},
		{[]string{"tail", dir, "-n", "2", "--raw"}, []string{"four\n"}},
		{[]string{"positions", dir}, []string{"POSITION"}},
		{[]string{"repair", dir, "--dry-run"}, []string{"there is no damage"}},
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
	for _, args := range [][]string{
		{"dump", dir, "--from", "nonsense"},
		{"dump", dir, "-o", "yaml"},
		{"dump", dir, "-o", "json", "--raw"},
		{"stats", dir, "-o", "id"},
		{"append", dir, "--durability", "never"},
	} {
		if out, err := run(t, args...); err == nil {
			t.Errorf("%q is taken:\n%s", args, out)
		}
	}
	out, err = run(t, "repair", dir, "--dry-run")
	if !errors.Is(err, ErrDamaged) || !strings.Contains(out, "1:0") || !strings.Contains(out, "nothing was changed") {
		t.Fatalf("repair --dry-run: %v\n%s", err, out)
	}
	if out, err := run(t, "repair", dir); err != nil || !strings.Contains(out, "set aside: torn-repair-") {
		t.Fatalf("repair: %v\n%s", err, out)
	}
	if out, err := run(t, "verify", dir); err != nil || !strings.Contains(out, "everything checks") {
		t.Fatalf("verify after repair: %v\n%s", err, out)
	}
	out, err = run(t, "dump", dir, "-n", "2")
	if err != nil || !strings.HasPrefix(out, "1:0\tlost: given up by a repair\n1:1\t4\t\"two\\n\"\n") {
		t.Fatalf("dump after repair: %v\n%s", err, out)
	}
	if out, err := run(t, "repair", dir, "-o", "jsonl"); err != nil || !strings.Contains(out, `"mends":null`) {
		t.Fatalf("a second repair: %v\n%s", err, out)
	}
}

// TestAppendAndTail: what append takes from standard input, tail prints; under a
// name each entry once.
func TestAppendAndTail(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made")
	step := func(in, want string, args ...string) {
		t.Helper()
		out, err := runWith(t, in, args...)
		if err != nil || out != want {
			t.Fatalf("%q: %v\n%s\nwant\n%s", args, err, out, want)
		}
	}
	step("a\n\nlast", "appended 3 entries of 5 bytes, 1:0 to 1:2\n", "append", dir)
	step("", "nothing to append\n", "append", dir)
	step("b\nc\x00d\x00", "appended 2 entries of 4 bytes, 1:3 to 1:4\n", "append", dir, "-0")
	step("e\nf\n", `{"entries":1,"bytes":4,"first":"1:5","last":"1:5"}`+"\n", "append", dir, "--whole", "-o", "jsonl", "--durability", "every-append")
	step(`{"payload":"Zw=="}`+"\n", "appended 1 entries of 1 bytes, 1:6 to 1:6\n", "append", dir, "--objects")
	if out, err := runWith(t, "a\n{}\n", "append", dir, "--objects"); err == nil || !strings.Contains(err.Error(), "line 1") {
		t.Fatalf("an object that is none: %v\n%s", err, out)
	}
	step("", "d\ne\nf\n\ng\n", "tail", dir, "-n", "3", "--raw")
	step("", "1:6\t1\t\"g\"\n", "tail", dir, "-n", "1")
	step("", "a\n\nlast\nb\nc\nd\ne\nf\n\ng\n", "tail", dir, "--name", "n", "--hold-back", "--raw")
	step("h\n", "appended 1 entries of 1 bytes, 1:7 to 1:7\n", "append", dir)
	step("", "h\n", "tail", dir, "--name", "n", "--hold-back", "--raw")
	step("", "", "tail", dir, "--name", "n", "--hold-back", "--raw")
	out, err := run(t, "stats", dir)
	if err != nil || !strings.Contains(out, "n         1:8   0       true") {
		t.Fatalf("stats: %v\n%s", err, out)
	}
	step("", "", "positions", dir, "--remove", "n")
	if out, err := run(t, "positions", dir, "--remove", "n"); !errors.Is(err, queue.ErrNotFound) {
		t.Fatalf("removing it again: %v\n%s", err, out)
	}
}

// TestTailFollows prints what comes, and ends when it is interrupted.
func TestTailFollows(t *testing.T) {
	dir := t.TempDir()
	q, err := queue.Open(dir, queue.Config{CycleBytes: queue.MinCycleBytes})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	r, w := io.Pipe()
	c := Command()
	c.SetOut(w)
	c.SetArgs([]string{"tail", dir, "-f", "--raw"})
	ended := make(chan error, 1)
	go func() { ended <- errors.Join(c.ExecuteContext(ctx), w.Close()) }()
	lines := bufio.NewScanner(r)
	for k := range 5 {
		p := strings.Repeat("x", 900*k) + "end"
		if _, err := q.Append([]byte(p)); err != nil {
			t.Fatal(err)
		}
		if !lines.Scan() || lines.Text() != p {
			t.Fatalf("entry %d is %.20q, %v", k, lines.Text(), lines.Err())
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if err := q.Close(); err != nil {
		t.Fatal(err)
	}
}
