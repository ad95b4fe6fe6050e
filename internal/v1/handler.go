package v1

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/internal/runtime"
)

// Runtime is what the face needs of a component: [Of] makes it of a
// runtime.Component.
type Runtime interface {
	Session() engine.Session
	// Go sends a call from outside and returns when its request is committed.
	Go(ctx context.Context, c runtime.Call) (Pending, error)
	// Tell returns when the request is committed.
	Tell(ctx context.Context, c runtime.Call) (engine.ID, error)
	// Attach waits for an invocation. Its errors surface at Wait.
	Attach(id engine.ID) Pending
	// Call makes a call from outside and waits for its outcome.
	Call(ctx context.Context, c runtime.Call) (*engine.Outcome, error)
	// Remind sets or removes a reminder, and returns when that is committed.
	Remind(ctx context.Context, ch engine.ReminderChange) error
	// Read runs a read-only method on recorded state.
	Read(ctx context.Context, c runtime.Call) (*engine.Outcome, error)
}

// Pending is the wait for an invocation. A ctx that ends ends the wait only.
type Pending interface {
	ID() engine.ID
	Wait(ctx context.Context) (*engine.Outcome, error)
}

// Config says what a Handler serves.
type Config struct {
	Runtime Runtime // required
	App     string  // the application's name
	// MapCells names the map cells of a type, so that a listing of an actor's
	// state can show them; nil: maps are shown only when they are asked for.
	MapCells func(kind string) []string
	// Schema gives the JSON Schemas of a method's input and result, nil for what it
	// does not know or is not there; nil: GET /v1/types shows none.
	Schema func(kind, method string) (in, out map[string]any)
	// PayloadLimit bounds an input in bytes; default 4 MiB.
	PayloadLimit int64
	// Wait is how long a call without a Prefer header is waited for; default 1
	// minute. MaxWait bounds what a client may ask for; default 10 minutes.
	Wait, MaxWait time.Duration
	// Heartbeat is how often a stream of events without any says that it lives;
	// default 15 s.
	Heartbeat time.Duration
	Logger    *slog.Logger // default slog.Default()
}

func (c *Config) validate() error {
	if c.Runtime == nil {
		return errors.New("make handler: Config.Runtime is missing")
	}
	if c.PayloadLimit <= 0 {
		c.PayloadLimit = 4 << 20
	}
	if c.Wait <= 0 {
		c.Wait = time.Minute
	}
	if c.MaxWait <= 0 {
		c.MaxWait = 10 * time.Minute
	}
	if c.Heartbeat <= 0 {
		c.Heartbeat = 15 * time.Second
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return nil
}

// Handler is the face: an http.Handler for all of /v1. Safe for concurrent use.
type Handler struct {
	cfg    Config
	rt     Runtime
	router router
	states sync.Mutex // over writes of state that depend on what is there

	streams atomic.Int32 // of events, open
}

// New makes a Handler.
func New(cfg Config) (*Handler, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	h := &Handler{cfg: cfg, rt: cfg.Runtime}
	for _, r := range h.table() {
		h.router.handle(&r)
	}
	return h, nil
}

// bodySlack is what a body may be larger than the input in it.
const bodySlack = 64 << 10

// ServeHTTP answers a request. What no route takes is a problem as well.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	serve, allow, err := h.router.find(r)
	if allow != "" {
		w.Header().Set("Allow", allow)
	}
	if err == nil {
		r.Body = http.MaxBytesReader(w, r.Body, h.cfg.PayloadLimit+bodySlack)
		err = serve(w, r)
	}
	if err != nil {
		h.refuse(w, r, err)
	}
}

// refuse answers with the problem that err is.
func (h *Handler) refuse(w http.ResponseWriter, r *http.Request, err error) {
	p := problemOf(err)
	if p.Status >= 500 {
		h.cfg.Logger.Warn("request failed", "method", r.Method, "path", r.URL.EscapedPath(),
			"code", p.Code, "error", err)
	}
	if p.Status == http.StatusTooManyRequests || p.Status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	if id := w.Header().Get(HeaderInvocation); id == "" && p.Invocation != "" {
		w.Header().Set(HeaderInvocation, p.Invocation)
	} else if p.Invocation == "" {
		p.Invocation = id
	}
	write(w, p.Status, "application/problem+json", p)
}

// respond answers with v as JSON.
func respond(w http.ResponseWriter, status int, v any) error {
	write(w, status, "application/json", v)
	return nil
}

func write(w http.ResponseWriter, status int, contentType string, v any) {
	b, err := json.Marshal(v)
	if err != nil { // our own structs: a programmer's error
		panic(fmt.Sprintf("v1: encode %T: %v", v, err))
	}
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Content-Length", strconv.Itoa(len(b)+1))
	w.WriteHeader(status)
	_, _ = w.Write(append(b, '\n')) // who asked has gone away if it fails
}

// payload answers with an opaque value.
func payload(w http.ResponseWriter, b []byte) error {
	if len(b) == 0 {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	contentType := "application/octet-stream"
	if json.Valid(b) {
		contentType = "application/json"
	}
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Content-Length", strconv.Itoa(len(b)))
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(b)
	return nil
}

// settle waits until what was just read is committed, and says what it is.
func (h *Handler) settle(w http.ResponseWriter, r *http.Request) error {
	s := h.rt.Session()
	last := s.Last()
	if err := s.Wait(r.Context(), last); err != nil {
		return err
	}
	w.Header().Set(HeaderPosition, strconv.FormatUint(uint64(last), 10))
	return nil
}

// received reads the whole body. One that does not arrive, or not in time, is its
// client's fault: a bad request, and not an error of ours.
func received(r *http.Request) ([]byte, error) {
	b, err := io.ReadAll(r.Body)
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok || err == nil {
		return b, err
	}
	p := problem(CodeBadRequest, "the body broke off after %d bytes: %s", len(b), err)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		p.Status = http.StatusRequestTimeout
		p.Detail = fmt.Sprintf("the request did not arrive in time, only %d bytes of its body; a request may take %v", len(b), readTimeout)
	}
	return nil, p
}

// body reads a JSON body into v. An empty one leaves v as it is. A field that v
// does not have is a problem: a misspelt one would be left out in silence.
func body(r *http.Request, v any) error {
	b, err := received(r)
	if err != nil {
		return err
	}
	if len(b) == 0 {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	err = d.Decode(v)
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok { // it says Go's types
		where := "the body"
		if e.Field != "" {
			where = "the body's field " + e.Field
		}
		return problem(CodeBadRequest, "%s may not be a JSON %s; GET /v1/openapi.json describes it", where, e.Value)
	}
	if err != nil {
		return problem(CodeBadRequest, "the body: %s", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return problem(CodeBadRequest, "the body: something follows the JSON value")
	}
	return nil
}

// limit reads the query parameter limit.
func limit(r *http.Request, standard, most int) (int, error) {
	text := r.URL.Query().Get("limit")
	if text == "" {
		return standard, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return 0, problem(CodeBadRequest, "limit=%s is not a number of at least 1", text)
	}
	return min(n, most), nil
}
