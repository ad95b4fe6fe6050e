package main

import (
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pawl-go/pawl/internal/ports"
	"github.com/pawl-go/pawl/internal/v1"
	"github.com/pawl-go/pawl/queue"
)

// TestDoctorFinds makes each check of the host and the data directory fail.
func TestDoctorFinds(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("unix", filepath.Join(dir, "open")) //nolint:noctx // a test
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(dir, "open"), 0o666); err != nil { //nolint:gosec // what is found
		t.Fatal(err)
	}
	ln.(*net.UnixListener).SetUnlinkOnClose(false)
	socketOf := func(name string) finding { return examineSocket(t.Context(), dir, name) }
	tests := []struct {
		found finding
		says  string
	}{
		{examineSpace(1<<20, nil), "free some"},
		{examineSpace(0, errors.New("broken")), "broken"},
		{examineInodes(9, 100_000, nil), "9 of 100000 are free"},
		{examineInodes(0, 0, errors.New("broken")), "broken"},
		{examineVersion("v2.0.0", "v1.0.0"), "it is of version v1.0.0, this doctor of v2.0.0: use"},
		{examineVersion("v2.0.0", ""), "older than this doctor (v2.0.0)"},
		{examineFiles(100, nil), "ulimit -n"},
		{fileSystemFinding("nfs", false, nil), "nfs cannot be mapped safely: put"},
		{examineTimes(dir, time.Now().Add(-time.Hour)), "set back"}, //nolint:forbidigo // against a file's
		{socketOf("file"), "move it away"},
		{socketOf("open"), "chmod 600"},
		{lockFinding(false, nil, errors.New("no lock")), "no lock"},
	}
	for _, test := range tests {
		if test.found.OK || !strings.Contains(test.found.Says, test.says) {
			t.Errorf("%+v, want it to say %q", test.found, test.says)
		}
	}
	_ = ln.Close()
	if err := os.Chmod(filepath.Join(dir, "open"), 0o600); err != nil {
		t.Fatal(err)
	}
	if f := socketOf("open"); f.OK || !strings.Contains(f.Says, "nobody answers") {
		t.Errorf("a stale socket: %+v", f)
	}
}

// TestDoctorOfPorts: a port that is free, one that another process has, one of Pawl's, and
// what is none.
func TestDoctorOfPorts(t *testing.T) {
	free, err := ports.Free(1)
	if err != nil {
		t.Fatal(err)
	}
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(free))
	if f := examinePort(t.Context(), address); !f.OK || f.Says != "it is free" {
		t.Errorf("a free one: %+v", f)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // a test
	if err != nil {
		t.Fatal(err)
	}
	go func() { // no HTTP
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_ = c.Close()
		}
	}()
	who := "held by process " + strconv.Itoa(os.Getpid()) + " ("
	if runtime.GOOS != "linux" {
		who = "held by a process that the system does not tell"
	}
	if f := examinePort(t.Context(), l.Addr().String()); f.OK || !strings.Contains(f.Says, who) || !strings.Contains(f.Says, "--listen") {
		t.Errorf("another's: %+v, want %q", f, who)
	}
	_ = l.Close()
	if f := examinePort(t.Context(), "127.0.0.1:port"); f.OK || !strings.Contains(f.Says, "HOST:PORT") {
		t.Errorf("none: %+v", f)
	}
	if l, err = v1.ListenTCP(t.Context(), "127.0.0.1:0", "", nil); err != nil {
		t.Fatal(err)
	}
	s := v1.Serve(l, v1.Protect(http.NotFoundHandler(), "token"), slog.New(slog.DiscardHandler))
	defer func() { _ = s.Close() }()
	if f := examinePort(t.Context(), l.Addr().String()); f.OK {
		t.Errorf("an HTTP server that is not Pawl's: %+v", f)
	}
}

// TestDoctorOfJournals: a journal of a version to come is found, a lock is told.
func TestDoctorOfJournals(t *testing.T) {
	dir := t.TempDir()
	journal := filepath.Join(dir, "journal")
	q, err := queue.Open(journal, queue.Config{})
	if err == nil {
		_, err = q.Append([]byte("an entry"))
	}
	if err == nil {
		err = q.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	if f := lockFinding(true, []byte(`{"pid":7,"host":"h","command":"bank"}`), nil); !f.OK || !strings.Contains(f.Says, "held by process 7 on h (bank)") {
		t.Errorf("%+v", f)
	}
	found := examineJournal(dir)
	if len(found) != 2 || !found[0].OK || !strings.Contains(found[0].Says, "nobody") || !found[1].OK {
		t.Errorf("%+v", found)
	}
	files, err := os.ReadDir(journal)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if fi, err := file.Info(); err != nil || fi.Size() < 1<<12 {
			continue
		}
		f, err := os.OpenFile(filepath.Join(journal, file.Name()), os.O_WRONLY, 0)
		if err == nil {
			_, err = f.WriteAt([]byte{99}, 8) // the version
			err = errors.Join(err, f.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if found = examineJournal(dir); len(found) != 2 || found[1].OK || !strings.Contains(found[1].Says, "pawl queue verify") {
		t.Errorf("of another version: %+v", found)
	}
	if f := examineSocket(t.Context(), dir, v1.SocketName); !f.OK {
		t.Errorf("%+v", f)
	}
}
