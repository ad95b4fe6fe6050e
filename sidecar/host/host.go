package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/internal/runtime"
)

// Identity is what types hosted here say of themselves (engine.Type.Identity):
// their argument is a JSON array.
const Identity = "kar"

// ServicePrefix begins the name of the actor type that stands for a service.
// Each request is an actor of its own, so none waits for another.
const ServicePrefix = "service:"

// Config describes the paired application.
type Config struct {
	Address string // host:port at which it listens; required
	H2C     bool   // speak HTTP/2 without TLS to it
	// Patience is how long a refused connection is tried again: the application
	// may start slowly. Default 2 min.
	Patience time.Duration
	// AnswerLimit bounds an answer, in bytes. Default 4 MiB.
	AnswerLimit int64
	// IdleAfter is how long an actor may be idle before the application is told to
	// let it go. Default 10 s, as KAR's collector has it.
	IdleAfter time.Duration
	// BusyTimeout is how long a call waits for its turn on an actor before it is
	// answered with a possible deadlock. Default 2 min; negative: for ever.
	BusyTimeout time.Duration
	Logger      *slog.Logger // default slog.Default()
}

// Host speaks to the application. It is safe for concurrent use.
type Host struct {
	cfg     Config
	client  http.Client
	metrics *metrics
	died    chan struct{} // closed by Died
	ending  context.Context
	end     context.CancelFunc

	mu struct {
		sync.Mutex
		leaving  map[engine.Actor]*leaving
		sessions map[string]*Session
		running  map[engine.Actor][]*Session // innermost last
		promises map[engine.ID]*nested
	}
}

// New makes a Host. It connects when it is needed.
func New(cfg Config) *Host {
	if cfg.Patience == 0 {
		cfg.Patience = 2 * time.Minute
	}
	if cfg.AnswerLimit == 0 {
		cfg.AnswerLimit = 4 << 20
	}
	if cfg.IdleAfter == 0 {
		cfg.IdleAfter = 10 * time.Second
	}
	if cfg.BusyTimeout == 0 {
		cfg.BusyTimeout = 2 * time.Minute
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	var protocols http.Protocols
	protocols.SetHTTP1(!cfg.H2C)
	protocols.SetUnencryptedHTTP2(cfg.H2C)
	h := &Host{cfg: cfg, metrics: newMetrics(), died: make(chan struct{}), client: http.Client{
		Transport: &http.Transport{
			Protocols:           &protocols,
			MaxIdleConnsPerHost: 1024,
			// Below the 5 s after which applications on Node close an idle
			// connection: a request must not meet that.
			IdleConnTimeout: 2 * time.Second,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	h.ending, h.end = context.WithCancel(context.Background())
	h.mu.leaving = map[engine.Actor]*leaving{}
	h.mu.sessions = map[string]*Session{}
	h.mu.running = map[engine.Actor][]*Session{}
	h.mu.promises = map[engine.ID]*nested{}
	return h
}

// Type is an actor type of the application, for runtime.Config.
func (h *Host) Type(name string) *runtime.Type {
	return &runtime.Type{
		Name: name, Identity: Identity, Any: &runtime.Method{Name: name},
		New: func(id string) runtime.Instance {
			return &instance{host: h, actor: engine.Actor{Type: name, ID: id}}
		},
		IdleAfter: h.cfg.IdleAfter, BusyTimeout: max(h.cfg.BusyTimeout, 0),
	}
}

// Service is the type that stands for a service of the application.
func (h *Host) Service(name string) *runtime.Type {
	return &runtime.Type{
		Name: ServicePrefix + name, Identity: ServicePrefix, Any: &runtime.Method{Name: name},
		New:       func(string) runtime.Instance { return &service{host: h} },
		IdleAfter: time.Second,
	}
}

// Hosts asks the application whether it hosts an actor type.
func (h *Host) Hosts(ctx context.Context, name string) (bool, error) {
	a, err := h.do(ctx, ctx, http.MethodHead, "/kar/impl/v1/actor/"+url.PathEscape(name), nil, nil)
	if err != nil {
		return false, err
	}
	return a.status < 300, nil
}

// answer is what the application said.
type answer struct {
	status int
	header http.Header
	body   []byte
	took   time.Duration
}

var errTooLarge = errors.New("the answer is larger than its limit")

// ask makes a request of an attempt. It is not cut off when the attempt does not
// count any more: its code goes on in the application, and until that has
// returned nothing else may run on the actor here.
func (h *Host) ask(inv *runtime.Invocation, verb, path string, header http.Header, body []byte) (*answer, error) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(inv))
	defer cancel()
	defer context.AfterFunc(inv, func() {
		select {
		case <-inv.Component().Fenced():
			cancel()
		case <-ctx.Done():
		}
	})()
	return h.do(inv, ctx, verb, path, header, body)
}

// do makes a request to the application, and again while nobody listens and
// waiting has not ended. Made cuts off one that has been made.
func (h *Host) do(waiting, made context.Context, verb, path string, header http.Header, body []byte) (*answer, error) {
	patience, cancel := context.WithTimeout(waiting, h.cfg.Patience)
	defer cancel()
	for wait := 5 * time.Millisecond; ; wait = min(2*wait, 500*time.Millisecond) {
		a, err := h.once(made, verb, path, header, body)
		if err == nil || !errors.Is(err, syscall.ECONNREFUSED) {
			return a, err
		}
		select {
		case <-patience.Done():
			return nil, err
		case <-time.After(wait):
		}
	}
}

func (h *Host) once(ctx context.Context, verb, path string, header http.Header, body []byte) (*answer, error) {
	r, err := http.NewRequestWithContext(ctx, verb, "http://"+h.cfg.Address+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	maps.Copy(r.Header, header)
	if host := header.Get("Host"); host != "" {
		r.Host = host
		r.Header.Del("Host")
	}
	start := time.Now()
	resp, err := h.client.Do(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(io.LimitReader(resp.Body, h.cfg.AnswerLimit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(b)) > h.cfg.AnswerLimit {
		return nil, errTooLarge
	}
	return &answer{resp.StatusCode, resp.Header, b, time.Since(start)}, nil
}

// deathNotice is how long the news of the application's death may take: a
// connection breaks a little before its process has ended.
const deathNotice = time.Second

// Died says that the application's process has ended. It is called once, and
// the component must be ended next.
func (h *Host) Died() {
	close(h.died)
	h.end()
}

// broken is the result of a request that got no whole answer. If the process
// has died nothing is recorded: it returns when the component has ended.
func (h *Host) broken(inv *runtime.Invocation, err error) *engine.Failure {
	if errors.Is(err, errTooLarge) {
		return engine.Fail(engine.ErrTooLarge, err.Error())
	}
	select {
	case <-inv.Done():
	case <-h.died:
		<-inv.Done()
	case <-time.After(deathNotice):
	}
	if errors.Is(err, syscall.ECONNREFUSED) { // nothing has run
		return engine.Fail(engine.ErrUnavailable,
			fmt.Sprintf("the application does not listen at %s (KAR_APP_PORT); it had %v to begin", h.cfg.Address, h.cfg.Patience))
	}
	h.metrics.broken.Inc()
	return &engine.Failure{Code: "broken_answer", Message: "the application broke off its answer: " + rootOf(err).Error()}
}

// rootOf leaves out the URL, which changes with each run.
func rootOf(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	if e, ok := errors.AsType[*net.OpError](err); ok {
		return e.Err
	}
	return err
}

// actorPath is the path of an actor, or of a method of it.
func actorPath(a engine.Actor, method, session string) string {
	p := "/kar/impl/v1/actor/" + url.PathEscape(a.Type) + "/" + url.PathEscape(a.ID)
	if method != "" {
		parts := strings.Split(method, "/")
		for i := range parts {
			parts[i] = url.PathEscape(parts[i])
		}
		p += "/" + strings.Join(parts, "/")
	}
	if session != "" {
		p += "?session=" + url.QueryEscape(session)
	}
	return p
}
