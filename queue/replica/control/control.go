// Package control is how a command talks to a running host: HTTP on a Unix socket
// beside its queues, which only the user that runs the host may open.
//
//	GET  /v1/queues                    how all queues stand at this host
//	GET  /v1/overview?limitMs=2000     how all hosts stand with them
//	POST /v1/queues/{queue}/switch     {"to": 2, "limitMs": 30000}
//	POST /v1/queues/{queue}/takeover   {"force": true, "limitMs": 30000}
//
// Requests go on until they are answered, or the limit is over (0: there is none),
// or the client hangs up; errors are
// {"error": "..."} with a status of 400 and up.
package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/pawl-go/pawl/queue/replica"
)

// Status is how a host stands.
type Status struct {
	Host   replica.HostID  `json:"host"`
	Queues []replica.Stats `json:"queues"`
}

// Overview is how all hosts stand with the queues of the host that was asked.
type Overview struct {
	Host   replica.HostID     `json:"host"`
	Queues []replica.Overview `json:"queues"`
}

// DefaultPatience is how long the other hosts are waited for by a request that does
// not say.
const DefaultPatience = 2 * time.Second

// TakenOver is what came of a take-over.
type TakenOver struct {
	// Holds is what each host held, when the take-over went on without enough
	// promises; empty otherwise.
	Holds []replica.HostHold `json:"holds,omitempty"`
}

type switchRequest struct {
	To replica.HostID `json:"to"`
	limit
}

type takeOverRequest struct {
	Force bool `json:"force"`
	limit
}

// limit is how long the host may take. It ends the wait at the host, not at the
// client, so that the answer says what the host waits for.
type limit struct {
	MS int64 `json:"limitMs"`
}

func limitOf(d time.Duration) limit { return limit{MS: d.Milliseconds()} }

func (l limit) context(ctx context.Context) (context.Context, context.CancelFunc) {
	if l.MS <= 0 {
		return context.WithCancel(ctx)
	}
	d := time.Duration(l.MS) * time.Millisecond
	return context.WithTimeoutCause(ctx, d, fmt.Errorf("not done after %v", d))
}

type problem struct {
	Error string `json:"error"`
}

// maxBody bounds a request.
const maxBody = 1 << 12

// Handler answers for a host.
func Handler(h *replica.Host) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/queues", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, Status{Host: h.Self(), Queues: h.Stats()}, nil)
	})
	mux.HandleFunc("GET /v1/overview", func(w http.ResponseWriter, r *http.Request) {
		patience := limitOf(DefaultPatience)
		if text := r.FormValue("limitMs"); text != "" {
			ms, err := strconv.ParseInt(text, 10, 32)
			if err != nil || ms <= 0 {
				reply(w, nil, fmt.Errorf("%w: limitMs=%.20q: want a number of milliseconds above 0", errRequest, text))
				return
			}
			patience.MS = ms
		}
		ctx, cancel := patience.context(r.Context())
		defer cancel()
		reply(w, Overview{Host: h.Self(), Queues: h.Overviews(ctx)}, nil)
	})
	mux.HandleFunc("POST /v1/queues/{queue}/switch", func(w http.ResponseWriter, r *http.Request) {
		var req switchRequest
		command(w, r, h, &req, func(q *replica.Queue) (any, error) {
			ctx, cancel := req.context(r.Context())
			defer cancel()
			return struct{}{}, q.Switch(ctx, req.To)
		})
	})
	mux.HandleFunc("POST /v1/queues/{queue}/takeover", func(w http.ResponseWriter, r *http.Request) {
		var req takeOverRequest
		command(w, r, h, &req, func(q *replica.Queue) (any, error) {
			ctx, cancel := req.context(r.Context())
			defer cancel()
			holds, err := q.TakeOver(ctx, req.Force)
			return TakenOver{Holds: holds}, err
		})
	})
	return mux
}

func command(w http.ResponseWriter, r *http.Request, h *replica.Host, req any, do func(*replica.Queue) (any, error)) {
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody))
	d.DisallowUnknownFields()
	if err := d.Decode(req); err != nil {
		reply(w, nil, fmt.Errorf("%w: %w", errRequest, err))
		return
	}
	q := h.Queue(r.PathValue("queue"))
	if q == nil {
		reply(w, nil, fmt.Errorf("queue %q: %w", r.PathValue("queue"), replica.ErrNoQueue))
		return
	}
	answer, err := do(q)
	reply(w, answer, err)
}

var errRequest = errors.New("read request")

func reply(w http.ResponseWriter, answer any, err error) {
	w.Header().Set("Content-Type", "application/json")
	switch {
	case err == nil:
	case errors.Is(err, errRequest):
		w.WriteHeader(http.StatusBadRequest)
	case errors.Is(err, replica.ErrNoQueue):
		w.WriteHeader(http.StatusNotFound)
	default:
		w.WriteHeader(http.StatusConflict)
	}
	if err != nil {
		answer = problem{Error: err.Error()}
	}
	_ = json.NewEncoder(w).Encode(answer) // the client has hung up
}

// Listen makes the socket, open to this user only. A socket that a dead process has
// left is replaced; one of a living process is an error.
func Listen(ctx context.Context, path string) (net.Listener, error) {
	fail := func(err error) (net.Listener, error) {
		return nil, fmt.Errorf("open control socket %s: %w", path, err)
	}
	if err := removeDead(ctx, path); err != nil {
		return fail(err)
	}
	// It is made where nobody else can reach it, and moved when it is closed to others.
	dir, err := os.MkdirTemp(filepath.Dir(path), ".s")
	if err != nil {
		return fail(err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // empty by then, as a rule
	hidden := filepath.Join(dir, "s")
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "unix", hidden)
	if err != nil {
		return fail(fmt.Errorf("%w (the path of a socket may have about 100 bytes: choose another with --socket)", err))
	}
	ln.(*net.UnixListener).SetUnlinkOnClose(false)
	if err := errors.Join(os.Chmod(hidden, 0o600), os.Rename(hidden, path)); err != nil {
		return fail(errors.Join(err, ln.Close()))
	}
	return &listener{Listener: ln, path: path}, nil
}

// listener removes its socket when it is closed.
type listener struct {
	net.Listener
	path string
}

func (l *listener) Close() error { return errors.Join(l.Listener.Close(), os.Remove(l.path)) }

func removeDead(ctx context.Context, path string) error {
	fi, err := os.Lstat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return err
	case fi.Mode()&os.ModeSocket == 0:
		return errors.New("there is something else, which is not a socket")
	}
	var d net.Dialer
	c, err := d.DialContext(ctx, "unix", path)
	if err == nil {
		_ = c.Close()
		return errors.New("a host is running there already")
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return err
	}
	return os.Remove(path)
}

// Serve answers on the socket until ctx ends.
func Serve(ctx context.Context, ln net.Listener, h *replica.Host) error {
	s := &http.Server{
		Handler: Handler(h), ReadHeaderTimeout: 10 * time.Second,
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	stop := context.AfterFunc(ctx, func() { _ = s.Close() })
	defer stop()
	if err := s.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve control socket: %w", err)
	}
	return nil
}
