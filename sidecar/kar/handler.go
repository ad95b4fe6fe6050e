package kar

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/internal/runtime"
	"github.com/pawl-go/pawl/sidecar/host"
)

// Config says what a Handler serves. All but Actors, Logger
// and BodyLimit are required.
type Config struct {
	Component *runtime.Component
	Host      *host.Host
	Name      string   // of the component
	Actors    []string // the actor types that the application hosts
	Shutdown  func()   // begins the end of the pair; it returns at once
	Logger    *slog.Logger
	BodyLimit int64 // of a request, in bytes; default 4 MiB
}

// Handler answers everything under /kar/v1. It is safe for concurrent use.
type Handler struct {
	cfg     Config
	comp    *runtime.Component
	host    *host.Host
	states  states
	closing atomic.Bool
}

// New makes a Handler.
func New(cfg Config) *Handler {
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	if cfg.BodyLimit == 0 {
		cfg.BodyLimit = 4 << 20
	}
	return &Handler{cfg: cfg, comp: cfg.Component, host: cfg.Host}
}

// Drain refuses from now on what does not belong to an attempt that runs.
func (h *Handler) Drain() { h.closing.Store(true) }

// reply is an error with the status that it is answered with.
type reply struct {
	status int
	text   string
}

func (r *reply) Error() string { return r.text }

func refuse(status int, text string) error { return &reply{status, text} }

var errNoRoute = refuse(http.StatusNotFound, "no such route under /kar/v1")

// ServeHTTP answers a request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rest, ok := strings.CutPrefix(r.URL.EscapedPath(), "/kar/v1/")
	err := errNoRoute
	if ok {
		r.Body = http.MaxBytesReader(w, r.Body, h.cfg.BodyLimit)
		err = h.route(w, r, rest)
	}
	if err != nil {
		h.fail(w, err)
	}
}

// route finds the route by its first segments. Each segment is unescaped by
// itself, so an id may hold anything.
func (h *Handler) route(w http.ResponseWriter, r *http.Request, rest string) error {
	seg := strings.Split(rest, "/")
	if seg[0] == "service" && len(seg) >= 4 && seg[2] == "call" {
		return h.service(w, r, seg)
	}
	for i := range seg {
		s, err := url.PathUnescape(seg[i])
		if err != nil {
			return refuse(http.StatusBadRequest, "the path: "+err.Error())
		}
		seg[i] = s
	}
	switch {
	case seg[0] == "actor" && len(seg) >= 3:
		return h.actor(w, r, engine.Actor{Type: seg[1], ID: seg[2]}, seg[3:])
	case seg[0] == "event" && len(seg) >= 2:
		return h.topic(w, r, seg[1:])
	case seg[0] == "system" && len(seg) >= 2:
		return h.system(w, r, seg[1:])
	case rest == "await" && r.Method == http.MethodPost:
		return h.await(w, r)
	}
	return errNoRoute
}

func (h *Handler) actor(w http.ResponseWriter, r *http.Request, a engine.Actor, seg []string) error {
	switch {
	case a.Type == "" || a.ID == "":
		return refuse(http.StatusBadRequest, "the type or the id of the actor is empty")
	case len(seg) == 0 && r.Method == http.MethodDelete:
		return h.forget(w, r, a)
	case len(seg) == 0:
		return notAllowed(w, http.MethodDelete)
	}
	switch seg[0] {
	case "call":
		if r.Method != http.MethodPost {
			return notAllowed(w, http.MethodPost)
		}
		return h.call(w, r, a, strings.Join(seg[1:], "/"))
	case "state":
		return h.state(w, r, a, seg[1:])
	case "reminders":
		return h.reminders(w, r, a, seg[1:])
	case "events":
		return h.events(w, r, a, seg[1:])
	}
	return errNoRoute
}

func notAllowed(w http.ResponseWriter, verbs string) error {
	w.Header().Set("Allow", verbs)
	return refuse(http.StatusMethodNotAllowed, "this route takes "+verbs)
}

// fail answers with an error, as text.
func (h *Handler) fail(w http.ResponseWriter, err error) {
	status := statusOf(err)
	if status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	text(w, status, err.Error())
}

func statusOf(err error) int {
	if r, ok := errors.AsType[*reply](err); ok {
		return r.status
	}
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return http.StatusRequestEntityTooLarge
	}
	if errors.Is(err, host.ErrNoSession) {
		return http.StatusConflict
	}
	return statusOfCode(engine.CodeOf(err))
}

// statusOfCode maps our own errors. KAR's clients send again what is answered
// 503, so it stands only where nothing has left.
func statusOfCode(c engine.Code) int {
	switch c {
	case engine.ErrNoMethod, engine.ErrNoHost, engine.ErrNotFound:
		return http.StatusNotFound
	case engine.ErrUnavailable, engine.ErrOverloaded:
		return http.StatusServiceUnavailable
	case engine.ErrEnded, engine.ErrFenced:
		return http.StatusConflict
	case engine.ErrTooLarge:
		return http.StatusRequestEntityTooLarge
	}
	return http.StatusInternalServerError
}

func text(w http.ResponseWriter, status int, s string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, s) // who asked has gone away if it fails
}

func raw(w http.ResponseWriter, contentType string, b []byte) error {
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Content-Length", strconv.Itoa(len(b)))
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(b) // who asked has gone away if it fails
	return nil
}

func object(w http.ResponseWriter, v any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // values are given back as they were set
	if err := e.Encode(v); err != nil {
		return err
	}
	return raw(w, "application/json", bytes.TrimSuffix(b.Bytes(), []byte{'\n'}))
}

// body reads the body whatever its content type, and lets the answer take as
// long as it takes.
func body(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	b, err := io.ReadAll(r.Body)
	if err != nil {
		if _, large := errors.AsType[*http.MaxBytesError](err); large {
			return nil, err
		}
		return nil, refuse(http.StatusBadRequest, "read the body: "+err.Error())
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{}) // a recorder has none
	return b, nil
}

// jsonBody reads a JSON body into v; an empty one leaves it.
func jsonBody(w http.ResponseWriter, r *http.Request, v any) error {
	b, err := body(w, r)
	if err != nil || len(b) == 0 {
		return err
	}
	if err := json.Unmarshal(b, v); err != nil {
		return refuse(http.StatusBadRequest, "the body: "+err.Error())
	}
	return nil
}

// open refuses what comes from outside while the component is ending.
func (h *Handler) open() error {
	if h.closing.Load() {
		return refuse(http.StatusServiceUnavailable, "the runtime is shutting down")
	}
	return nil
}

// forgetTimeout is how long a deletion waits for its turn on the actor.
const forgetTimeout = 10 * time.Second

// forget deactivates an actor and drops what is recorded of it.
func (h *Handler) forget(w http.ResponseWriter, r *http.Request, a engine.Actor) error {
	if h.host.Running(a) != nil {
		return refuse(http.StatusConflict, "a method of "+a.String()+" runs; delete the actor when it has ended")
	}
	if host.Knows(h.comp, a.Type) {
		ctx, cancel := context.WithTimeout(r.Context(), forgetTimeout)
		defer cancel()
		if _, err := h.comp.Call(ctx, runtime.Call{To: a, Method: host.MethodDeactivate}); err != nil {
			return err
		}
	}
	if err := h.comp.Session().Operator().Purge(r.Context(), a); err != nil {
		return err
	}
	text(w, http.StatusAccepted, "OK")
	return nil
}
