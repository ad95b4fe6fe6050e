package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/pawl-go/pawl/engine/remote"
	"github.com/pawl-go/pawl/internal/socket"
	"github.com/pawl-go/pawl/internal/v1"
	"github.com/pawl-go/pawl/queue"
)

const (
	leastSpace = 1 << 30 // free bytes: a journal has room for some cycles
	leastNodes = 10_000  // free inodes: a file per cycle, index and table, for long
	leastFiles = 1024    // a server has a file per segment, table and connection
	mostSkew   = time.Minute
)

func examineSpace(free uint64, err error) finding {
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		return finding{"space", true, "not looked at on this system"}
	case err != nil:
		return finding{"space", false, err.Error()}
	case free < leastSpace:
		return finding{"space", false, fmt.Sprintf("%s are free, under %s: free some, or have less kept (retain= of the engine's URL)",
			bytesText(int64(free)), bytesText(leastSpace))} //nolint:gosec // under leastSpace
	}
	return finding{"space", true, bytesText(int64(min(free, 1<<62))) + " are free"} //nolint:gosec // bounded
}

// examineInodes looks whether more files can be made. Some file systems have no fixed
// number of inodes; they say that they have none.
func examineInodes(free, all uint64, err error) finding {
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		return finding{"inodes", true, "not looked at on this system"}
	case err != nil:
		return finding{"inodes", false, err.Error()}
	case all == 0:
		return finding{"inodes", true, "the file system makes them as needed"}
	case free < leastNodes:
		return finding{"inodes", false, fmt.Sprintf("%d of %d are free, under %d: the disk has room for few more files; remove some, or have less kept (retain= of the engine's URL)",
			free, all, leastNodes)}
	}
	return finding{"inodes", true, fmt.Sprintf("%d of %d are free", free, all)}
}

func examineFiles(limit uint64, err error) finding {
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		return finding{"open files", true, "not looked at on this system"}
	case err != nil:
		return finding{"open files", false, err.Error()}
	case limit < leastFiles:
		return finding{"open files", false, fmt.Sprintf("a process may have %d open, under %d: raise it (ulimit -n, LimitNOFILE)", limit, leastFiles)}
	}
	return finding{"open files", true, fmt.Sprintf("a process may have %d open", limit)}
}

// examineTimes compares the clock with the newest file of the data directory: it
// was written by a clock that had come further.
func examineTimes(dir string, now time.Time) finding {
	var newest time.Time
	err := filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		fi, err := e.Info()
		if err == nil && fi.ModTime().After(newest) {
			newest = fi.ModTime()
		}
		if errors.Is(err, fs.ErrNotExist) { // a file that is gone by now
			return nil
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return finding{"file times", false, err.Error()}
	}
	if ahead := newest.Sub(now); ahead > mostSkew {
		return finding{"file times", false, fmt.Sprintf("files are newer than the clock by %v: it was set back; "+
			"reminders wait until it has caught up; set it", ahead.Round(time.Second))}
	}
	return finding{"file times", true, "none is ahead of the clock"}
}

// examineFileSystem asks what the journal asks before it maps its files.
func examineFileSystem(dir string) finding {
	d, err := queue.OS().OpenDir(dir, false)
	if err != nil {
		return finding{"file system", false, err.Error()}
	}
	defer func() { _ = d.Close() }()
	k, ok := d.(interface{ Kind() (string, bool, error) })
	if !ok {
		return finding{"file system", true, "not looked at on this system"}
	}
	kind, coherent, err := k.Kind()
	return fileSystemFinding(kind, coherent, err)
}

func fileSystemFinding(kind string, coherent bool, err error) finding {
	switch {
	case err != nil:
		return finding{"file system", false, err.Error()}
	case !coherent:
		return finding{"file system", false, kind + " cannot be mapped safely: put the data directory on a local disk"}
	}
	return finding{"file system", true, "it can be mapped safely"}
}

// examineSocket looks at a socket of the data directory: who may use it, and
// whether somebody answers.
func examineSocket(ctx context.Context, dir, name string) finding {
	path := filepath.Join(dir, name)
	fi, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return finding{name, true, "not there: nobody serves it"}
	case err != nil:
		return finding{name, false, err.Error()}
	case fi.Mode().Type() != fs.ModeSocket:
		return finding{name, false, path + " is not a socket: move it away"}
	case fi.Mode().Perm()&0o077 != 0:
		return finding{name, false, fmt.Sprintf("%s has mode %v: others may use it; chmod 600", path, fi.Mode().Perm())}
	}
	conn, err := socket.Dial(ctx, path)
	if err != nil {
		return finding{name, false, "nobody answers, its process was killed: start it again, which replaces the socket, or remove " + path}
	}
	_ = conn.Close()
	return finding{name, true, "somebody answers"}
}

// examineJournal says who has the journal open, and whether this binary can read
// it; nothing is said where there is none.
func examineJournal(dir string) []finding {
	path := filepath.Join(dir, "journal")
	d, err := queue.OS().OpenDir(path, false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return []finding{{"lock", false, err.Error()}}
	}
	held, by, err := d.Locked("lock")
	out := []finding{lockFinding(held, by, err)}
	names, err := d.List()
	if err = errors.Join(err, d.Close()); err == nil {
		err = readFirst(path, names)
	}
	if err != nil {
		return append(out, finding{"journal", false, err.Error() + "; pawl queue verify " + path})
	}
	return append(out, finding{"journal", true, "this version reads it"})
}

// readFirst reads the first entry of the oldest cycle of a journal, whose files
// names are; that there is none is no error.
func readFirst(path string, names []string) error {
	oldest := uint64(0)
	for _, name := range names {
		digits, _, _ := strings.Cut(name, ".")
		if c, err := strconv.ParseUint(digits, 10, 32); err == nil && (oldest == 0 || c < oldest) {
			oldest = c
		}
	}
	q, err := queue.OpenReadOnly(path, queue.Config{AnyFileSystem: true, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	if _, err = q.Read(queue.NewIndex(uint32(oldest), 0)); !errors.As(err, new(*queue.CorruptError)) { //nolint:gosec // of 32 bits
		err = nil
	}
	return errors.Join(err, q.Close())
}

func lockFinding(held bool, by []byte, err error) finding {
	var h queue.Holder
	switch {
	case err != nil:
		return finding{"lock", false, err.Error()}
	case !held:
		return finding{"lock", true, "nobody has the data directory open"}
	case json.Unmarshal(by, &h) != nil:
		return finding{"lock", true, "held by a process that has not named itself"}
	}
	return finding{"lock", true, fmt.Sprintf("held by process %d on %s (%s) since %s", h.PID, h.Host, h.Command, h.Since.Format(time.RFC3339))}
}

// sockets are those that a data directory may have.
var sockets = []string{v1.SocketName, remote.SocketName}
