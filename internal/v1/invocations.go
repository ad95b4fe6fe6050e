package v1

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/pawl-go/pawl/engine"
)

// Statuses are all that an invocation may have, for messages and completion.
var Statuses = []engine.Status{
	engine.StatusScheduled, engine.StatusPending, engine.StatusRunning, engine.StatusParked,
	engine.StatusFailed, engine.StatusDone, engine.StatusError, engine.StatusCanceled,
}

// listInvocations serves GET /v1/invocations, newest first.
func (h *Handler) listInvocations(w http.ResponseWriter, r *http.Request) error {
	q, err := queryOf(r.URL.Query())
	if err != nil {
		return err
	}
	n, err := limit(r, 100, 1000)
	if err != nil {
		return err
	}
	c := collector{limit: n}
	if text := r.URL.Query().Get("cursor"); text != "" {
		if c.after, err = parseCursor(text); err != nil {
			return err
		}
	} else {
		q.Limit = n + 1
	}
	for in, err := range h.rt.Session().Operator().Invocations(r.Context(), q) {
		if err != nil {
			return err
		}
		if !c.add(&in) {
			break
		}
	}
	if err := h.settle(w, r); err != nil {
		return err
	}
	return respond(w, http.StatusOK, c.page())
}

// queryOf reads the filter.
func queryOf(v url.Values) (engine.Query, error) {
	q := engine.Query{
		Type: v.Get("type"), ID: v.Get("id"), Method: v.Get("method"),
		Status: engine.Status(v.Get("status")), Key: v.Get("key"),
	}
	if q.Status != "" {
		var names []string
		known := false
		for _, s := range Statuses {
			names = append(names, string(s))
			known = known || s == q.Status
		}
		if !known {
			return q, problem(CodeBadRequest, "status=%s: it is one of %s", q.Status, strings.Join(names, ", "))
		}
	}
	var err error
	if text := v.Get("root"); text != "" {
		if q.Root, err = engine.ParseID(text); err != nil {
			return q, problem(CodeBadRequest, "root=%s is not an invocation id", text)
		}
	}
	if text := v.Get("since"); text != "" {
		if q.Since, err = since(text); err != nil {
			return q, err
		}
	}
	return q, nil
}

// since reads a time, or how long ago.
func since(text string) (time.Time, error) {
	if t, err := time.Parse(time.RFC3339Nano, text); err == nil {
		return t, nil
	}
	d, err := duration(text)
	if err != nil {
		return time.Time{}, problem(CodeBadRequest, "since=%s: use a time such as 2026-01-02T15:04:05Z, or how long ago, such as 10m", text)
	}
	return time.Now().Add(-d), nil
}

// cursor is the last invocation of a page. Its time serves when it is no
// longer kept.
type cursor struct {
	id      engine.ID
	created time.Time
}

func (c *cursor) String() string {
	return c.id.String() + "." + strconv.FormatInt(c.created.UnixNano(), 10)
}

func parseCursor(text string) (*cursor, error) {
	id, nanos, ok := strings.Cut(text, ".")
	n, err := strconv.ParseInt(nanos, 10, 64)
	if !ok || err != nil {
		return nil, problem(CodeBadRequest, "cursor=%s does not come from a list of invocations", text)
	}
	c := &cursor{created: time.Unix(0, n)}
	if c.id, err = engine.ParseID(id); err != nil {
		return nil, problem(CodeBadRequest, "cursor=%s does not come from a list of invocations", text)
	}
	return c, nil
}

// collector gathers one page of a list, and one item more to know whether
// there is another page. Until it has met the cursor's invocation it gathers
// what is older than that, in case it is gone.
type collector struct {
	limit int
	after *cursor // nil: from the newest on
	items []Invocation
	last  cursor
	more  bool
}

// add takes the next invocation; false: that is enough.
func (c *collector) add(in *engine.Info) bool {
	if c.after != nil {
		if in.Request.ID == c.after.id {
			c.after, c.items, c.more = nil, nil, false
			return true
		}
		if !in.Request.Created.Before(c.after.created) {
			return true
		}
	}
	if len(c.items) == c.limit {
		c.more = true
		return c.after != nil
	}
	c.items = append(c.items, invocationOf(in))
	c.last = cursor{in.Request.ID, in.Request.Created}
	return true
}

func (c *collector) page() Page[Invocation] {
	p := Page[Invocation]{Items: c.items}
	if p.Items == nil {
		p.Items = []Invocation{}
	}
	if c.more {
		p.Next = c.last.String()
	}
	return p
}

// getInvocation serves GET /v1/invocations/{inv}.
func (h *Handler) getInvocation(w http.ResponseWriter, r *http.Request) error {
	id, err := idOf(r)
	if err != nil {
		return err
	}
	in, err := h.rt.Session().Operator().Invocation(r.Context(), id)
	if err != nil {
		return h.gone(id, err)
	}
	if err := h.settle(w, r); err != nil {
		return err
	}
	return respond(w, http.StatusOK, invocationOf(&in))
}

// outcome serves GET /v1/invocations/{inv}/outcome?wait=30s.
func (h *Handler) outcome(w http.ResponseWriter, r *http.Request) error {
	id, err := idOf(r)
	if err != nil {
		return err
	}
	wait := time.Duration(0)
	if text := r.URL.Query().Get("wait"); text != "" {
		if wait, err = duration(text); err != nil {
			return problem(CodeBadRequest, "wait=%s: use a duration such as 30s", text)
		}
	}
	in, err := h.rt.Session().Operator().Invocation(r.Context(), id)
	if err != nil {
		return h.gone(id, err)
	}
	w.Header().Set(HeaderInvocation, id.String())
	ended := invocationOf(&in)
	if ended.Over() || in.Status == engine.StatusParked {
		if err := h.settle(w, r); err != nil {
			return err
		}
		return h.endedAs(w, &in, id)
	}
	if wait == 0 {
		return h.accepted(w, r, id)
	}
	patient(w)
	ctx, cancel := context.WithTimeout(r.Context(), min(wait, h.cfg.MaxWait))
	defer cancel()
	if err := h.await(ctx, w, r, h.rt.Attach(id)); err != nil {
		return h.gone(id, err)
	}
	return nil
}

// endedAs answers with the outcome that is kept with an invocation.
func (h *Handler) endedAs(w http.ResponseWriter, in *engine.Info, id engine.ID) error {
	switch {
	case in.Status == engine.StatusParked:
		p := problem(engine.ErrParked, "it was given up after %d attempts: resume, answer, skip or cancel it", in.Attempts)
		p.Invocation = id.String()
		if in.Outcome != nil && in.Outcome.Failure != nil {
			p.Causes = []*Problem{problemOfFailure(in.Outcome.Failure)}
			p.Detail += "; the last attempt: " + in.Outcome.Failure.Message
		}
		return p
	case in.Outcome == nil:
		return payload(w, nil)
	}
	return h.answered(w, in.Outcome)
}

// gone tells an invocation that is no longer kept from one that never was: ids
// drawn in sequence by a session are known to have been given out.
func (h *Handler) gone(id engine.ID, err error) error {
	p := problemOf(err)
	if p.Code != engine.ErrNotFound || p.Kind != KindPawl {
		return err
	}
	next := h.rt.Session().NewID()
	p.Detail, p.Invocation = "no such invocation", id.String()
	if !id.Derived() && (id.Hi < next.Hi || id.Hi == next.Hi && id.Lo < next.Lo) {
		p.Status = http.StatusGone
		p.Detail = "no longer kept: it has ended, and its outcome was dropped after the retention time"
	}
	return p
}

func idOf(r *http.Request) (engine.ID, error) {
	id, err := engine.ParseID(r.PathValue("inv"))
	if err != nil {
		return engine.ID{}, problem(engine.ErrNotFound, "%s is not an invocation id", r.PathValue("inv"))
	}
	return id, nil
}
