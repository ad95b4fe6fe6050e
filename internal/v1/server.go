package v1

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

// Server serves a Handler on a listener until it is closed.
type Server struct {
	http http.Server
	stop context.CancelFunc // ends the long polls
	done sync.WaitGroup
}

// The server's timeouts. Answers have none: a call is waited for as long as
// its client asks, at most Config.MaxWait.
const (
	readHeaderTimeout = 10 * time.Second
	readTimeout       = time.Minute
	idleTimeout       = 2 * time.Minute
	closeTimeout      = 2 * time.Second
)

// maxStreams bounds the concurrent requests of one HTTP/2 connection.
const maxStreams = 1000

// Serve begins to answer requests on l with h, over HTTP/1.1 and HTTP/2
// without TLS. The server owns l. Close ends it.
func Serve(l net.Listener, h http.Handler, log *slog.Logger) *Server {
	if log == nil {
		log = slog.Default()
	}
	base, stop := context.WithCancel(context.Background())
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	s := &Server{stop: stop, http: http.Server{
		Handler:           Stay(base, h),
		Protocols:         &protocols,
		ReadHeaderTimeout: readHeaderTimeout,
		ReadTimeout:       readTimeout,
		IdleTimeout:       idleTimeout,
		HTTP2:             &http.HTTP2Config{MaxConcurrentStreams: maxStreams},
		MaxHeaderBytes:    64 << 10,
		BaseContext:       func(net.Listener) context.Context { return base },
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}}
	s.done.Go(func() {
		if err := s.http.Serve(l); err != nil && !errors.Is(err, http.ErrServerClosed) {
			log.Error("serve /v1", "address", l.Addr(), "error", err)
		}
	})
	return s
}

// Close stops listening, ends the long polls, lets other requests end for two
// seconds, and drops what is left. It is called once.
func (s *Server) Close() error {
	s.stop()
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	err := s.http.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = s.http.Close()
	}
	s.done.Wait()
	if err != nil {
		return fmt.Errorf("close server: %w", err)
	}
	return nil
}
