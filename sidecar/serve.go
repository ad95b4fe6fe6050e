package sidecar

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/pawl-go/pawl/internal/v1"
	"github.com/pawl-go/pawl/sidecar/kar"
)

// timeouts say how long a client may take over the head of a request and over all of
// it, and how long a connection may be idle. Answers have no time limit: a call takes
// as long as its method.
type timeouts struct{ header, body, idle time.Duration }

var standardTimeouts = timeouts{header: 10 * time.Second, body: time.Minute, idle: 5 * time.Minute}

// maxStreams bounds the concurrent requests of one HTTP/2 connection. It is large,
// since a nested call may be what an open one waits for.
const maxStreams = 10_000

// serve answers the application: HTTP/1.1 and HTTP/2 without TLS on one port of
// the loopback interface.
func (s *sidecar) serve(ctx context.Context) error {
	s.kar = kar.New(kar.Config{
		Component: s.comp, Host: s.host, Name: s.name, Actors: s.cfg.Actors, Logger: s.cfg.Logger,
		Shutdown: func() {
			select {
			case s.shutdown <- struct{}{}:
			default: // asked for before
			}
		},
	})
	cfg := v1.Config{Runtime: v1.Of(s.comp), App: s.cfg.App, Logger: s.cfg.Logger}
	face, err := v1.New(cfg)
	if err != nil {
		return err
	}
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	requests := context.WithoutCancel(ctx)
	s.server = &http.Server{
		Handler:           v1.Stay(requests, paths(s.kar, face, s.metrics())),
		Protocols:         &protocols,
		HTTP2:             &http.HTTP2Config{MaxConcurrentStreams: maxStreams},
		ReadHeaderTimeout: s.cfg.timeouts.header,
		ReadTimeout:       s.cfg.timeouts.body,
		IdleTimeout:       s.cfg.timeouts.idle,
		MaxHeaderBytes:    64 << 10,
		BaseContext:       func(net.Listener) context.Context { return requests },
		ErrorLog:          slog.NewLogLogger(s.cfg.Logger.Handler(), slog.LevelDebug),
	}
	go func() { // Close ends it
		if err := s.server.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
			s.cfg.Logger.Error("serve the application", "address", s.listener.Addr(), "error", err)
		}
	}()
	s.controlSocket(ctx, cfg)
	for _, name := range s.cfg.Actors {
		go s.check(ctx, name)
	}
	return nil
}

// paths sends a request to its face. A ServeMux would clean the path, and so
// redirect ids that hold slashes or dots.
func paths(karFace, face, metrics http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasPrefix(r.URL.Path, "/v1/"):
			face.ServeHTTP(w, r)
		case r.URL.Path == "/metrics":
			metrics.ServeHTTP(w, r)
		default:
			karFace.ServeHTTP(w, r)
		}
	})
}

// check tells in the log when the application listens, but does not host a
// type that it was said to.
func (s *sidecar) check(ctx context.Context, name string) {
	ok, err := s.host.Hosts(ctx, name)
	if err == nil && !ok {
		s.cfg.Logger.Error("the application does not host the actor type: its calls will be answered 404", "type", name)
	}
}
