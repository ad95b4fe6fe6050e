package v1

import (
	"context"
	"encoding/json"
	"errors"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/internal/runtime"
)

// call serves POST /v1/actors/{type}/{id}/call/{method}.
func (h *Handler) call(w http.ResponseWriter, r *http.Request) error {
	c, err := h.callOf(r)
	if err != nil {
		return err
	}
	return h.doCall(w, r, c)
}

// tell serves POST /v1/actors/{type}/{id}/tell/{method}.
func (h *Handler) tell(w http.ResponseWriter, r *http.Request) error {
	c, err := h.callOf(r)
	if err != nil {
		return err
	}
	q := r.URL.Query()
	if c.NotBefore, err = due(q.Get("delay"), q.Get("at")); err != nil {
		return err
	}
	return h.doTell(w, r, c)
}

// invoke serves POST /v1/invocations: a call or a tell with its target in the
// body, for names that make awkward paths.
func (h *Handler) invoke(w http.ResponseWriter, r *http.Request) error {
	var in Request
	if err := body(r, &in); err != nil {
		return err
	}
	if in.Type == "" || in.Method == "" {
		return problem(CodeBadRequest, "the body needs type, id and method")
	}
	c := runtime.Call{
		To: engine.Actor{Type: in.Type, ID: in.ID}, Method: in.Method,
		Payload: in.Input, Key: in.Key,
	}
	if c.Key == "" {
		c.Key = keyOf(r)
	}
	var err error
	if c.NotBefore, err = due(in.Delay, in.At); err != nil {
		return err
	}
	switch in.Verb {
	case "", "call":
		if !c.NotBefore.IsZero() {
			return problem(CodeBadRequest, "only a tell can be delayed")
		}
		return h.doCall(w, r, c)
	case "tell":
		return h.doTell(w, r, c)
	}
	return problem(CodeBadRequest, "verb %q is neither call nor tell", in.Verb)
}

func (h *Handler) doCall(w http.ResponseWriter, r *http.Request, c runtime.Call) error {
	wait, err := h.waitOf(r)
	if err != nil {
		return err
	}
	m, err := h.methodOf(c.To.Type, c.Method)
	if err != nil {
		return err
	}
	patient(w)
	if m != nil && m.ReadOnly {
		return h.doRead(w, r, c, wait)
	}
	ctx, cancel := context.WithTimeout(r.Context(), wait)
	defer cancel()
	p, err := h.rt.Go(r.Context(), c)
	if err != nil {
		return err
	}
	w.Header().Set(HeaderInvocation, p.ID().String())
	return h.await(ctx, w, r, p)
}

// doRead answers with the result of a read-only method. It leaves no invocation
// to ask for later, so one that cannot be waited for is waited for as usual.
func (h *Handler) doRead(w http.ResponseWriter, r *http.Request, c runtime.Call, wait time.Duration) error {
	if wait == 0 {
		wait = h.cfg.Wait
	}
	ctx, cancel := context.WithTimeout(r.Context(), wait)
	defer cancel()
	o, err := h.rt.Read(ctx, c)
	if err != nil && ctx.Err() != nil && r.Context().Err() == nil {
		return problem(engine.ErrUnavailable, "what %s.%s has read is not committed after %v; ask again", c.To, c.Method, wait)
	}
	if err != nil {
		return err
	}
	return h.answered(w, o)
}

// patient lifts the server's time limit for reading a request, which has been
// read: net/http would cancel the request's context when it passes.
func patient(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{}) // a recorder has none
}

// await answers with the outcome of p, or 202 when ctx ends before it.
func (h *Handler) await(ctx context.Context, w http.ResponseWriter, r *http.Request, p Pending) error {
	o, err := p.Wait(ctx)
	switch {
	case err == nil:
		return h.answered(w, o)
	case ctx.Err() != nil && r.Context().Err() == nil &&
		(errors.Is(err, engine.ErrOutcomeUnknown) || errors.Is(err, ctx.Err())):
		return h.accepted(w, r, p.ID())
	}
	return err
}

func (h *Handler) answered(w http.ResponseWriter, o *engine.Outcome) error {
	if o.Failure != nil {
		return problemOfFailure(o.Failure)
	}
	return payload(w, o.Value)
}

// accepted answers that an invocation goes on without who asked.
func (h *Handler) accepted(w http.ResponseWriter, r *http.Request, id engine.ID) error {
	out := Accepted{ID: id.String()}
	if in, err := h.rt.Session().Operator().Invocation(r.Context(), id); err == nil {
		out.Status = in.Status
	}
	w.Header().Set(HeaderInvocation, out.ID)
	w.Header().Set("Location", "/v1/invocations/"+out.ID+"/outcome")
	return respond(w, http.StatusAccepted, out)
}

func (h *Handler) doTell(w http.ResponseWriter, r *http.Request, c runtime.Call) error {
	if _, err := h.methodOf(c.To.Type, c.Method); err != nil {
		return err
	}
	id, err := h.rt.Tell(r.Context(), c)
	if err != nil {
		return err
	}
	return h.accepted(w, r, id)
}

// methodOf finds a method among those of the living components. It is nil if
// nobody hosts the type now: the request then waits for somebody who does.
func (h *Handler) methodOf(kind, method string) (*engine.Method, error) {
	var names []string
	for _, m := range h.rt.Session().Members() {
		for _, t := range m.Types {
			if t.Name != kind {
				continue
			}
			for i := range t.Methods {
				if t.Methods[i].Name == method {
					return &t.Methods[i], nil
				}
				names = append(names, t.Methods[i].Name)
			}
		}
	}
	if names == nil {
		return nil, nil
	}
	p := problem(engine.ErrNoMethod, "%s has no method %s; it has %s", kind, method, strings.Join(names, ", "))
	if near := Nearest(method, names); near != "" {
		p.Detail = kind + " has no method " + method + ". Did you mean " + near + "?"
	}
	p.Method = method
	return nil, p
}

func (h *Handler) callOf(r *http.Request) (runtime.Call, error) {
	in, err := received(r)
	if err != nil {
		return runtime.Call{}, err
	}
	media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if len(in) > 0 && media != "application/octet-stream" && !json.Valid(in) {
		var v any
		return runtime.Call{}, problem(engine.ErrBadPayload, "the body is not JSON: %s", json.Unmarshal(in, &v))
	}
	if len(in) == 0 {
		in = nil
	}
	return runtime.Call{To: actorOf(r), Method: r.PathValue("method"), Payload: in, Key: keyOf(r)}, nil
}

func actorOf(r *http.Request) engine.Actor {
	return engine.Actor{Type: r.PathValue("type"), ID: r.PathValue("id")}
}

// keyOf reads the idempotency key, bare or as the quoted string of its draft.
func keyOf(r *http.Request) string {
	k := r.Header.Get(HeaderKey)
	if len(k) >= 2 && k[0] == '"' && k[len(k)-1] == '"' {
		k = k[1 : len(k)-1]
	}
	return k
}

// waitOf reads Prefer: wait=30 and respond-async (RFC 7240).
func (h *Handler) waitOf(r *http.Request) (time.Duration, error) {
	wait := h.cfg.Wait
	for _, line := range r.Header.Values("Prefer") {
		for part := range strings.SplitSeq(line, ",") {
			name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
			switch strings.ToLower(strings.TrimSpace(name)) {
			case "respond-async":
				return 0, nil
			case "wait":
				n, err := strconv.Atoi(strings.Trim(strings.TrimSpace(value), `"`))
				if err != nil || n < 0 {
					return 0, problem(CodeBadRequest, "Prefer: wait=%s is not a number of seconds", value)
				}
				wait = time.Duration(n) * time.Second
			}
		}
	}
	return min(wait, h.cfg.MaxWait), nil
}

// due reads when a tell may begin; the zero time is now.
func due(delay, at string) (time.Time, error) {
	switch {
	case delay != "" && at != "":
		return time.Time{}, problem(CodeBadRequest, "either delay or at")
	case at != "":
		t, err := time.Parse(time.RFC3339Nano, at)
		if err != nil {
			return time.Time{}, problem(CodeBadRequest, "at=%s: use a time such as 2026-01-02T15:04:05Z", at)
		}
		return t, nil
	case delay != "":
		d, err := duration(delay)
		if err != nil {
			return time.Time{}, problem(CodeBadRequest, "delay=%s: use a duration such as 90s or 1h", delay)
		}
		if d == 0 {
			return time.Time{}, nil
		}
		return time.Now().Add(d), nil
	}
	return time.Time{}, nil
}

// duration reads "30s" or a bare number of seconds; negative ones are refused.
func duration(s string) (time.Duration, error) {
	if n, err := strconv.ParseUint(s, 10, 31); err == nil {
		return time.Duration(n) * time.Second, nil
	}
	d, err := time.ParseDuration(s)
	if err == nil && d < 0 {
		err = errors.New("negative")
	}
	return d, err
}
