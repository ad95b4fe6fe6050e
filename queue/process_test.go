package queue

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc64"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// The test binary is also the other process: it runs a role instead of the tests.
const roleEnv, dirEnv, argEnv = "PAWL_QUEUE_ROLE", "PAWL_QUEUE_DIR", "PAWL_QUEUE_ARG"

func TestMain(m *testing.M) {
	roles := map[string]func(dir, arg string) error{
		"append": appendUntilKilled, "tail": tailCount, "hold": holdLock,
		"cold": tailCold, "latency": latencyTail, "read": readAll,
	}
	role := roles[os.Getenv(roleEnv)]
	if role == nil {
		goleak.VerifyTestMain(m)
		return
	}
	if err := role(os.Getenv(dirEnv), os.Getenv(argEnv)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// child starts the test binary in a role.
func child(t testing.TB, role, dir, arg string) (*exec.Cmd, *bufio.Reader) {
	t.Helper()
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), os.Args[0])
	cmd.Env = append(os.Environ(), roleEnv+"="+role, dirEnv+"="+dir, argEnv+"="+arg)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd, bufio.NewReader(out)
}

// numbered is a payload that says its number and proves itself.
func numbered(k uint64, extra int) []byte {
	b := binary.LittleEndian.AppendUint64(nil, k)
	b = append(b, bytes.Repeat([]byte{byte(k)}, extra)...)
	return binary.LittleEndian.AppendUint64(b, crc64.Checksum(b, crc64.MakeTable(crc64.ISO)))
}

func number(b []byte) (uint64, error) {
	if len(b) < 16 {
		return 0, fmt.Errorf("entry of %d bytes", len(b))
	}
	n := len(b) - 8
	if crc64.Checksum(b[:n], crc64.MakeTable(crc64.ISO)) != binary.LittleEndian.Uint64(b[n:]) {
		return 0, errors.New("entry does not prove itself")
	}
	return binary.LittleEndian.Uint64(b), nil
}

// appendUntilKilled appends numbers, going on behind the last one, and prints
// each once it is acknowledged.
func appendUntilKilled(dir, arg string) error {
	d, err := strconv.Atoi(arg)
	if err != nil {
		return err
	}
	q, err := Open(dir, Config{CycleBytes: 64 << 10, Durability: Durability(d), Logger: quiet(), FlushEvery: 5 * time.Millisecond})
	if err != nil {
		return err
	}
	next := uint64(1)
	if last := q.Last(); last > 0 {
		p, err := q.Read(last)
		if err != nil {
			return err
		}
		if next, err = number(p); err != nil {
			return err
		}
		next++
	}
	out := bufio.NewWriterSize(os.Stdout, 64)
	r := rand.New(rand.NewPCG(uint64(os.Getpid()), next))
	for {
		i, n := Index(0), uint64(1)
		switch r.IntN(4) {
		case 0:
			n = 3
			if i, err = q.AppendBatch(numbered(next, r.IntN(300)), numbered(next+1, 0), numbered(next+2, r.IntN(5000))); err == nil {
				i += 2
			}
		case 1:
			var s *Slot
			p := numbered(next, r.IntN(200))
			if s, err = q.Reserve(len(p)); err == nil {
				copy(s.Bytes(), p)
				i, err = s.Commit()
			}
		default:
			i, err = q.Append(numbered(next, r.IntN(400)))
		}
		if err == nil && d == int(Disk) {
			err = q.WaitDurable(context.Background(), i)
		}
		if err != nil {
			return err
		}
		next += n
		if _, err := fmt.Fprintln(out, next-1); err != nil {
			return err
		}
		if err := out.Flush(); err != nil {
			return err
		}
	}
}

// TestKill9 kills a process that appends, over and over, and compares what it
// had acknowledged with what is there. Set PAWL_QUEUE_ROUNDS for thousands.
func TestKill9(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 9))
	dir := t.TempDir()
	checked, last := NewIndex(1, 0), uint64(0)
	for k := range rounds(t, 50) {
		cmd, out := child(t, "append", dir, strconv.Itoa(r.IntN(2)))
		acked := last
		kill := r.IntN(200)
		for n := 0; ; n++ {
			line, err := out.ReadString('\n')
			if err != nil {
				break // dead; a line cut short does not count
			}
			if acked, err = strconv.ParseUint(strings.TrimSpace(line), 10, 64); err != nil {
				t.Fatal(err)
			}
			if n == kill {
				if err := cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := cmd.Wait(); err == nil || cmd.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
			t.Fatalf("round %d: the child ended by itself: %v", k, err)
		}
		q := mustOpen(t, dir, Config{CycleBytes: 64 << 10, Logger: quiet()})
		is, ps := all(t, q, checked)
		for j, p := range ps {
			n, err := number([]byte(p))
			if err != nil || n != last+1 {
				t.Fatalf("round %d: entry %s is number %d after %d: %v", k, is[j], n, last, err)
			}
			last = n
		}
		if last < acked {
			t.Fatalf("round %d: %d was acknowledged, the last one is %d", k, acked, last)
		}
		if len(is) > 0 {
			checked = is[len(is)-1] + 1
		}
		if k%10 == 9 {
			if err := q.ReleaseBefore(checked); err != nil {
				t.Fatal(err)
			}
		}
		mustClose(t, q)
	}
	if rep, err := Verify(dir, CheckOptions{}); err != nil || len(rep.Problems) > 0 {
		t.Fatalf("verify: %+v %v", rep.Problems, err)
	}
}

// tailCount reads so many entries and prints a sum over them.
func tailCount(dir, arg string) error {
	n, err := strconv.Atoi(arg)
	if err != nil {
		return err
	}
	q, err := OpenReadOnly(dir, Config{Logger: quiet()})
	if err != nil {
		return err
	}
	fmt.Fprintln(os.Stdout, "ready")
	t := q.NewTailer(0)
	sum := crc64.New(crc64.MakeTable(crc64.ISO))
	for range n {
		i, p, err := t.Next(context.Background())
		if err != nil {
			return err
		}
		sumEntry(sum, i, p)
	}
	fmt.Fprintln(os.Stdout, sum.Sum64())
	t.Close()
	return q.Close()
}

func sumEntry(w io.Writer, i Index, p []byte) {
	_, _ = w.Write(binary.LittleEndian.AppendUint64(nil, uint64(i)))
	_, _ = w.Write(p)
}

// TestTwoProcessesTailWhileOneAppendsAndRolls.
func TestTwoProcessesTailWhileOneAppendsAndRolls(t *testing.T) {
	dir := t.TempDir()
	q := mustOpen(t, dir, Config{CycleBytes: 64 << 10, Logger: quiet()})
	const n = 6000
	var outs []*bufio.Reader
	for range 2 {
		_, out := child(t, "tail", dir, strconv.Itoa(n))
		if line, err := out.ReadString('\n'); err != nil || line != "ready\n" {
			t.Fatal(line, err)
		}
		outs = append(outs, out)
	}
	sum := crc64.New(crc64.MakeTable(crc64.ISO))
	for k := range n {
		p := numbered(uint64(k), k%700)
		i, err := q.Append(p)
		if err != nil {
			t.Fatal(err)
		}
		sumEntry(sum, i, p)
	}
	if q.Last().Cycle() < 10 {
		t.Fatalf("only %d cycles", q.Last().Cycle())
	}
	for _, out := range outs {
		line, err := out.ReadString('\n')
		if err != nil || strings.TrimSpace(line) != strconv.FormatUint(sum.Sum64(), 10) {
			t.Fatalf("the other process read %q, want %d: %v", line, sum.Sum64(), err)
		}
	}
}

// holdLock opens the queue for appending and keeps it until its input ends.
func holdLock(dir, _ string) error {
	q, err := Open(dir, Config{CycleBytes: 8 << 10, Logger: quiet()})
	if err != nil {
		return err
	}
	fmt.Fprintln(os.Stdout, "ready")
	_, err = io.Copy(io.Discard, os.Stdin)
	return errors.Join(err, q.Close())
}

// TestTheLockNamesItsHolder, another process, and ends with it.
func TestTheLockNamesItsHolder(t *testing.T) {
	dir := t.TempDir()
	cmd, out := child(t, "hold", dir, "")
	if line, err := out.ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatal(line, err)
	}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	_, err = Open(dir, small())
	locked, ok := errors.AsType[*LockedError](err)
	if !ok || locked.Holder.PID != cmd.Process.Pid || locked.Holder.Host != host || locked.Holder.Since.IsZero() ||
		!strings.Contains(locked.Holder.Command, os.Args[0]) {
		t.Fatalf("got %+v", err)
	}
	if !strings.Contains(err.Error(), strconv.Itoa(cmd.Process.Pid)) {
		t.Fatalf("the message does not name the process: %v", err)
	}
	r, err := Verify(dir, CheckOptions{})
	if err != nil || !r.Appending || r.Holder.PID != cmd.Process.Pid {
		t.Fatalf("verify: %+v %v", r, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	q := mustOpen(t, dir, small())
	if _, err := Open(dir, small()); !errors.As(err, &locked) || locked.Holder.PID != os.Getpid() {
		t.Fatalf("second opening in one process: %v", err)
	}
	mustClose(t, q)
}
