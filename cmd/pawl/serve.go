package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/engine/local"
	"github.com/pawl-go/pawl/engine/remote"
	"github.com/pawl-go/pawl/internal/runtime"
	"github.com/pawl-go/pawl/internal/socket"
	"github.com/pawl-go/pawl/internal/tlsfiles"
	"github.com/pawl-go/pawl/internal/v1"
)

// serveCLI is what pawl serve was asked for.
type serveCLI struct {
	*cli
	data, listen, app, durability, trace string
	tokenFile                            string
	own                                  tlsfiles.Pair
	clients                              string
	heartbeat, grace, missing            time.Duration
	log                                  *slog.Logger
}

// serveCommand hosts the embedded engine for the processes of a machine.
func (c *cli) serveCommand() *cobra.Command {
	s := &serveCLI{cli: c}
	cmd := &cobra.Command{
		Use: "serve", Short: "Host the engine in a data directory for several processes", Args: args(0, 0),
		Long: `Host the engine in a data directory for several processes.

Processes of this machine reach it as pawl:DIR, over a socket of their owner's;
others as pawl://HOST:PORT, with a token, TLS or both. /v1 answers at both places, too.`,
		Example: `  pawl serve --app shop
  pawl run --app shop --actors Cart --engine pawl:./data -- node cart.js`,
		RunE: func(cmd *cobra.Command, _ []string) error { return s.run(cmd.Context()) },
	}
	f := cmd.Flags()
	f.StringVar(&s.data, "data", standardData, "the data directory")
	f.StringVar(&s.listen, "listen", standardPort, "HOST:PORT for TCP; empty: the sockets in the directory only")
	f.StringVar(&s.app, "app", "main", "name of the application")
	f.StringVar(&s.durability, "durability", "disk", "when a record counts: process or disk")
	f.StringVar(&s.tokenFile, "token-file", "", "a file with the token for TCP; default $PAWL_TOKEN")
	f.StringVar(&s.own.Cert, "tls-cert", "", "with TLS: the file of the certificate")
	f.StringVar(&s.own.Key, "tls-key", "", "with TLS: the file of its key")
	f.StringVar(&s.clients, "client-ca", "", "with mutual TLS: the file of who signs the clients' certificates")
	f.StringVar(&s.trace, "trace", "", "a file for a trace of all that happens")
	f.DurationVar(&s.heartbeat, "heartbeat-timeout", 3*time.Second, "silence after which a component is failed")
	f.DurationVar(&s.grace, "grace", 250*time.Millisecond, "how long a component whose connection ended may take to come back")
	f.DurationVar(&s.missing, "missing-timeout", 2*time.Minute, "how long a request waits for an actor type that nobody hosts")
	return cmd
}

// run serves until ctx ends.
func (s *serveCLI) run(ctx context.Context) (err error) {
	if s.missing <= 0 {
		return usagef("--missing-timeout %v: it has to be more than 0", s.missing)
	}
	s.log = slog.New(slog.NewTextHandler(s.errs, nil))
	token, err := s.token()
	if err != nil {
		return err
	}
	tcp, err := s.listenTCP(ctx, token)
	if err != nil {
		return err
	}
	if tcp != nil {
		defer func() { _ = tcp.Close() }()
	}
	eng, err := s.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, eng.Close()) }()
	server, err := remote.NewServer(eng, remote.ServerConfig{App: s.app, Heartbeat: s.heartbeat, Grace: s.grace, Logger: s.log})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	if err := s.serveSocket(ctx, server); err != nil {
		return err
	}
	return s.face(ctx, server, tcp, token)
}

func (s *serveCLI) token() (string, error) {
	if s.tokenFile == "" {
		return s.getenv("PAWL_TOKEN"), nil
	}
	b, err := os.ReadFile(s.tokenFile)
	if err != nil {
		return "", usagef("--token-file: %v", err)
	}
	token := strings.TrimSpace(string(b))
	if token == "" {
		return "", usagef("--token-file %s: it is empty", s.tokenFile)
	}
	return token, nil
}

// listenTCP listens, on loopback only unless there is a token or mutual TLS.
func (s *serveCLI) listenTCP(ctx context.Context, token string) (net.Listener, error) {
	cfg, err := tlsfiles.Server(s.own, tlsfiles.Authority(s.clients))
	if err != nil {
		return nil, usagef("--tls-cert, --tls-key and --client-ca: %v", err)
	}
	if s.listen == "" {
		return nil, nil
	}
	l, err := v1.ListenTCP(ctx, s.listen, token, cfg)
	if err != nil {
		f := &failure{exit: v1.ExitFailed, text: "--listen: " + err.Error()}
		if errors.Is(err, syscall.EADDRINUSE) {
			f.next = "--listen HOST:PORT with another port, or --listen '' for the sockets in the directory only"
		}
		return nil, f
	}
	return l, nil
}

// open opens the embedded engine.
func (s *serveCLI) open(ctx context.Context) (remote.Host, error) {
	q := url.Values{"durability": {s.durability}}
	if s.trace != "" {
		q.Set("trace", s.trace)
	}
	u := &url.URL{Scheme: "local", Opaque: url.PathEscape(s.data), RawQuery: q.Encode()}
	eng, err := local.Open(ctx, u, engine.Options{App: s.app, Logger: s.log, MissingTimeout: s.missing})
	if err != nil {
		return nil, err
	}
	return eng.(remote.Host), nil
}

// serveSocket offers the engine at the socket in the directory.
func (s *serveCLI) serveSocket(ctx context.Context, server *remote.Server) error {
	l, err := socket.Listen(ctx, filepath.Join(s.data, remote.SocketName))
	if err != nil {
		return err
	}
	server.Serve(l, "")
	return nil
}

// face serves /v1, as a component that hosts nothing, and waits for the end.
func (s *serveCLI) face(ctx context.Context, server *remote.Server, tcp net.Listener, token string) (err error) {
	eng, err := engine.Open(ctx, "pawl:"+url.PathEscape(s.data)+"?rejoin=0s", engine.Options{App: s.app, Logger: s.log})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, eng.Close()) }()
	comp, err := runtime.New(runtime.Config{Name: fmt.Sprintf("serve-%d", os.Getpid()), Logger: s.log})
	if err != nil {
		return err
	}
	if err := comp.Join(ctx, eng); err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		err = errors.Join(err, comp.Close(ctx))
	}()
	cfg := v1.Config{Runtime: v1.Of(comp), App: s.app, Logger: s.log}
	stop, err := v1.ServeShared(ctx, s.data, cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	addr := "none"
	if tcp != nil {
		var h http.Handler
		if h, err = v1.New(cfg); err != nil {
			return err
		}
		if token != "" {
			h = v1.Protect(h, token)
		}
		both := split(tcp)
		server.Serve(both.frames, token)
		web := v1.Serve(both.http, h, s.log)
		defer func() { _ = web.Close() }()
		addr = tcp.Addr().String()
	}
	s.log.Info("serving", "app", s.app, "data", s.data, "tcp", addr)
	select {
	case <-ctx.Done():
		return nil
	case <-comp.Fenced():
		return &failure{exit: v1.ExitFailed, text: "the engine has failed; its log says why"}
	}
}
