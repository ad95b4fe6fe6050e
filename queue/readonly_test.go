package queue

import (
	"bufio"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// nobody is a user without any right of its own.
const nobody = 65534

// readAll is a reading process that may write nowhere: it reads a queue in every
// way there is, and waits for more.
func readAll(dir, _ string) error {
	if f, err := os.OpenFile(filepath.Join(dir, "canary"), os.O_CREATE|os.O_RDWR, 0o600); err == nil {
		return errors.Join(fmt.Errorf("the directory of the test can be written to by %d", os.Getuid()), f.Close())
	}
	q, err := OpenReadOnly(dir, Config{Logger: quiet()})
	if err != nil {
		return err
	}
	n, lost := 0, 0
	for _, err := range q.Entries(0) {
		if err != nil {
			lost++
			break
		}
		n++
	}
	t := q.NewTailer(q.Last() + 1)
	for {
		_, _, ok, err := t.TryPrev()
		if err != nil {
			return err
		}
		if !ok {
			break
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), coldAfter+2*coldLook)
	defer cancel()
	if _, _, err := q.NewTailer(q.Last() + 1).Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("waiting at the end: %w", err)
	}
	if _, _, err := q.Search(func(Index, []byte) int { return -1 }); err != nil {
		return err
	}
	if _, err := q.Positions(); err != nil {
		return err
	}
	if _, err := q.OpenPosition("p", PositionOptions{}); !errors.Is(err, ErrReadOnly) {
		return fmt.Errorf("opening a position: %w", err)
	}
	if _, err := Verify(dir, CheckOptions{}); err != nil {
		return err
	}
	q.Cycles()
	q.Stats()
	fmt.Fprintln(os.Stdout, n)
	t.Close()
	return q.Close()
}

// TestReadOnlyProcessWritesNothing: a process without the right to write reads a
// queue that was never closed, a torn tail and a position included. Every name,
// length, time of change and hash is the same afterwards.
func TestReadOnlyProcessWritesNothing(t *testing.T) {
	live := t.TempDir()
	q := mustOpen(t, live, small())
	for k := range 100 {
		mustAppend(t, q, content(k))
	}
	n := mustNamed(t, q, "p", PositionOptions{HoldBack: true})
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	dir := image(t, live)
	copyFile(t, filepath.Join(live, "p"+positionSuffix), filepath.Join(dir, "p"+positionSuffix))
	for name := range hashes(t, dir) {
		if err := os.Chmod(filepath.Join(dir, name), 0o444); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(dir, 0o555); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(dir, 0o755) })
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	before := hashes(t, dir)
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe")
	cmd.Env = append(os.Environ(), roleEnv+"=read", dirEnv+"="+dir)
	if os.Getuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil || strings.TrimSpace(string(out)) != "100" {
		t.Fatalf("the process says %q, %v", out, err)
	}
	after := hashes(t, dir)
	if len(after) != len(before) {
		t.Fatalf("%d files before, %d after", len(before), len(after))
	}
	for name, was := range before {
		if after[name] != was {
			t.Errorf("file %s has changed: %s, %s", name, was, after[name])
		}
	}
}

// hashes describes each file of a directory by length, time of change and hash.
func hashes(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	is := map[string]string{}
	for _, e := range entries {
		f, err := os.Open(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		info, err := f.Stat()
		if err != nil {
			t.Fatal(err)
		}
		h := sha256.New()
		if _, err := io.Copy(h, bufio.NewReader(f)); err != nil {
			t.Fatal(err)
		}
		is[e.Name()] = fmt.Sprintf("%d bytes of %s, %x", info.Size(), info.ModTime().Format(time.RFC3339Nano), h.Sum(nil))
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return is
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// kindFS is the operating system's file system that says it is another one.
type kindFS struct {
	FS
	kind string
}

type kindDir struct {
	Dir
	kind string
}

func (f kindFS) OpenDir(path string, create bool) (Dir, error) {
	d, err := f.FS.OpenDir(path, create)
	return kindDir{d, f.kind}, err
}

func (d kindDir) Kind() (string, bool, error) { return d.kind, d.kind == "", nil }

// TestFileSystemsOfTheNetworkAreRefused, for appending, reading, checking and
// repairing, unless told otherwise.
func TestFileSystemsOfTheNetworkAreRefused(t *testing.T) {
	dir := t.TempDir()
	cfg := small()
	cfg.FS = kindFS{OS(), "nfs"}
	use := map[string]func() error{
		"Open":         func() error { q, err := Open(dir, cfg); return errors.Join(err, closeIf(q)) },
		"OpenReadOnly": func() error { q, err := OpenReadOnly(dir, cfg); return errors.Join(err, closeIf(q)) },
		"Verify": func() error {
			_, err := Verify(dir, CheckOptions{FS: cfg.FS, AnyFileSystem: cfg.AnyFileSystem})
			return err
		},
		"Repair": func() error {
			_, err := Repair(dir, CheckOptions{FS: cfg.FS, AnyFileSystem: cfg.AnyFileSystem})
			return err
		},
	}
	for name, f := range use {
		if err := f(); !errors.As(err, new(*FileSystemError)) || !strings.Contains(err.Error(), "nfs") || !strings.Contains(err.Error(), "AnyFileSystem") {
			t.Errorf("%s: %v", name, err)
		}
	}
	cfg.AnyFileSystem = true
	for _, name := range []string{"Open", "OpenReadOnly", "Verify", "Repair"} {
		if err := use[name](); err != nil {
			t.Errorf("%s, told to: %v", name, err)
		}
	}
}

func closeIf(q *Queue) error {
	if q == nil {
		return nil
	}
	return q.Close()
}

// TestKindsOfFileSystems: the table against the kernel's names for the types, and
// the one the tests run on.
func TestKindsOfFileSystems(t *testing.T) {
	for magic, want := range map[uint32]string{
		unix.NFS_SUPER_MAGIC: "nfs", unix.SMB_SUPER_MAGIC: "smb", unix.CIFS_SUPER_MAGIC: "cifs", unix.SMB2_SUPER_MAGIC: "smb2",
		unix.FUSE_SUPER_MAGIC: "fuse", unix.V9FS_MAGIC: "9p", unix.CEPH_SUPER_MAGIC: "ceph", unix.AFS_SUPER_MAGIC: "afs",
		unix.AFS_FS_MAGIC: "afs", unix.CODA_SUPER_MAGIC: "coda", unix.NCP_SUPER_MAGIC: "ncp", unix.OCFS2_SUPER_MAGIC: "ocfs2",
		unix.EXT4_SUPER_MAGIC: "", unix.XFS_SUPER_MAGIC: "", unix.BTRFS_SUPER_MAGIC: "", unix.TMPFS_MAGIC: "", unix.OVERLAYFS_SUPER_MAGIC: "",
	} {
		if incoherent[magic] != want {
			t.Errorf("type %x is %q, want %q", magic, incoherent[magic], want)
		}
	}
	d, err := OS().OpenDir(t.TempDir(), false)
	if err != nil {
		t.Fatal(err)
	}
	if name, ok, err := d.(kinder).Kind(); !ok || err != nil {
		t.Errorf("the file system of the tests is %s: %t %v", name, ok, err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
}
