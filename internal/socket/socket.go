// Package socket makes and reaches the Unix sockets of the house: for their
// owner only, in the place of what a dead process has left, and whatever the
// length of their path.
package socket

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
)

// limit is how long a path may be that the system is given: what sun_path holds
// where it is shortest among the systems Go runs on is 104 bytes with its end.
const limit = 103

// Listen opens a socket at path, for its owner only. It replaces the socket that a
// dead process left behind; one that is answered, and a file that is no socket,
// is an error. Closing the listener removes the socket.
func Listen(ctx context.Context, path string) (net.Listener, error) {
	if err := replaceable(ctx, path); err != nil {
		return nil, fmt.Errorf("listen on %s: %w", path, err)
	}
	short, release, err := shorten(path)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", path, err)
	}
	defer release()
	// The mode is set before the socket has a name, so that nobody else can
	// ever connect, and after, where a system does not heed that.
	lc := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		return c.Control(func(fd uintptr) { _ = syscall.Fchmod(int(fd), 0o600) })
	}}
	l, err := lc.Listen(ctx, "unix", short)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", path, err)
	}
	ul := l.(*net.UnixListener)
	ul.SetUnlinkOnClose(false) // by its short path, which is gone by then
	if err := os.Chmod(path, 0o600); err != nil {
		_ = ul.Close()
		return nil, fmt.Errorf("listen on %s: %w", path, err)
	}
	return &listener{UnixListener: ul, path: path}, nil
}

// listener removes its socket when it is closed.
type listener struct {
	*net.UnixListener
	path string
}

func (l *listener) Close() error {
	err := l.UnixListener.Close()
	if !errors.Is(err, net.ErrClosed) {
		_ = os.Remove(l.path) // a stale socket does no harm
	}
	return err
}

// replaceable removes what a dead process left at path.
func replaceable(ctx context.Context, path string) error {
	switch fi, err := os.Lstat(path); {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case fi.Mode().Type() != fs.ModeSocket:
		return errors.New("there is a file of that name that is not a socket; move it away")
	}
	c, err := Dial(ctx, path)
	if err == nil {
		_ = c.Close()
		return errors.New("another process answers there; stop it, or use another data directory")
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("look who answers there: %w", err)
	}
	return os.Remove(path)
}

// Dial connects to the socket at path.
func Dial(ctx context.Context, path string) (net.Conn, error) {
	short, release, err := shorten(path)
	if err != nil {
		return nil, fmt.Errorf("dial %s: %w", path, err)
	}
	defer release()
	var d net.Dialer
	return d.DialContext(ctx, "unix", short)
}

// shorten gives a path by which the system can bind or reach a socket: the
// path itself, or one through a symbolic link in the temporary directory, which
// is needed only until the socket is bound or reached.
func shorten(path string) (short string, release func(), err error) {
	if len(path) <= limit {
		return path, func() {}, nil
	}
	full, err := filepath.Abs(filepath.Dir(path))
	if err != nil {
		return "", nil, err
	}
	tmp, err := os.MkdirTemp("", "pawl")
	if err != nil {
		return "", nil, fmt.Errorf("the path has %d bytes, a socket's may have %d, and a shorter way to it cannot be made: %w",
			len(path), limit, err)
	}
	release = func() { _ = os.RemoveAll(tmp) }
	link := filepath.Join(tmp, "d")
	if err := os.Symlink(full, link); err != nil {
		release()
		return "", nil, fmt.Errorf("the path has %d bytes, a socket's may have %d, and a shorter way to it cannot be made: %w",
			len(path), limit, err)
	}
	short = filepath.Join(link, filepath.Base(path))
	if len(short) > limit {
		release()
		return "", nil, fmt.Errorf("the path has %d bytes, a socket's may have %d, and the temporary directory (TMPDIR) is no shorter way: use a shorter data directory",
			len(path), limit)
	}
	return short, release, nil
}
