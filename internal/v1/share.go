package v1

import (
	"context"
	"net/http"
	"path/filepath"
	"slices"
	"sync"

	"github.com/pawl-go/pawl/internal/socket"
)

// SocketName is the name of the socket in a data directory.
const SocketName = "pawl.sock"

// sharings are the open sockets of this process, by data directory.
var sharings struct {
	sync.Mutex
	open map[string]*sharing
}

// sharing is one socket for all components of this process that use the same
// data: the oldest living one answers.
type sharing struct {
	server *Server

	mu       sync.Mutex
	handlers []*Handler
}

func (s *sharing) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	h := s.handlers[0] // there is one until the server is closed
	s.mu.Unlock()
	h.ServeHTTP(w, r)
}

// ServeShared serves a Handler made of cfg at the socket in the data directory
// dir. Several components of one process may do so for one directory. What it
// returns ends that, and is called once.
func ServeShared(ctx context.Context, dir string, cfg Config) (func() error, error) {
	h, err := New(cfg)
	if err != nil {
		return nil, err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, err
	}
	sharings.Lock()
	defer sharings.Unlock()
	if s := sharings.open[dir]; s != nil {
		s.mu.Lock()
		s.handlers = append(s.handlers, h)
		s.mu.Unlock()
		return func() error { return s.leave(dir, h) }, nil
	}
	l, err := socket.Listen(ctx, filepath.Join(dir, SocketName))
	if err != nil {
		return nil, err
	}
	s := &sharing{handlers: []*Handler{h}}
	s.server = Serve(l, s, cfg.Logger)
	if sharings.open == nil {
		sharings.open = map[string]*sharing{}
	}
	sharings.open[dir] = s
	return func() error { return s.leave(dir, h) }, nil
}

func (s *sharing) leave(dir string, h *Handler) error {
	sharings.Lock()
	defer sharings.Unlock()
	s.mu.Lock()
	last := len(s.handlers) == 1
	if !last {
		s.handlers = slices.DeleteFunc(s.handlers, func(other *Handler) bool { return other == h })
	}
	s.mu.Unlock()
	if !last {
		return nil
	}
	delete(sharings.open, dir)
	return s.server.Close()
}
