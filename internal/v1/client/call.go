package client

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/internal/v1"
)

// Result is how far a call has come.
type Result struct {
	ID    string // of the invocation; empty for a read-only method
	Ended bool
	Value []byte // of an ended one; nil for none
	// Status is where one stands that has not ended.
	Status engine.Status
}

// Call calls a method and waits for its outcome, at most for wait; negative:
// as long as ctx lives. Key is its idempotency key, if not empty. An outcome
// that is an error comes as a *v1.Problem. The id is known before the wait
// begins, so that it is in the result whatever becomes of the connection.
func (c *Client) Call(ctx context.Context, t Target, input []byte, key string, wait time.Duration) (Result, error) {
	header := http.Header{"Prefer": {"respond-async"}}
	if key != "" {
		header.Set(v1.HeaderKey, key)
	}
	r, err := c.result(c.do(ctx, http.MethodPost, t.path("call"), nil, header, input))
	if err != nil || r.Ended || wait == 0 {
		return r, err
	}
	id := r.ID
	r, err = c.Wait(ctx, id, wait)
	if u, ok := errors.AsType[*Unreachable](err); ok { // it went away after it had the request
		err = &engine.Error{Code: engine.ErrOutcomeUnknown, Invocation: id, Err: u}
	}
	return r, err
}

// poll is how long one request waits.
const poll = 30 * time.Second

// Tell sends a tell and returns when it cannot be lost. At is when it may
// begin; zero: now.
func (c *Client) Tell(ctx context.Context, t Target, input []byte, key string, at time.Time) (Result, error) {
	header, query := http.Header{}, url.Values{}
	if key != "" {
		header.Set(v1.HeaderKey, key)
	}
	if !at.IsZero() {
		query.Set("at", at.UTC().Format(time.RFC3339Nano))
	}
	return c.result(c.do(ctx, http.MethodPost, t.path("tell"), query, header, input))
}

// Wait waits for the outcome of an invocation, at most for wait; negative: as
// long as ctx lives.
func (c *Client) Wait(ctx context.Context, id string, wait time.Duration) (Result, error) {
	for end := time.Now().Add(wait); ; {
		once := poll
		if wait >= 0 {
			once = max(0, min(poll, time.Until(end)))
		}
		query := url.Values{}
		if once > 0 {
			query.Set("wait", once.String())
		}
		r, err := c.result(c.do(ctx, http.MethodGet, "/v1/invocations/"+v1.Segment(id)+"/outcome", query, nil, nil))
		if err != nil && r.ID == "" {
			r.ID = id
		}
		if err != nil || r.Ended || wait >= 0 && time.Now().After(end) || once == 0 {
			return r, err
		}
	}
}

func (c *Client) result(resp *http.Response, b []byte, err error) (Result, error) {
	var r Result
	if resp != nil {
		r.ID = resp.Header.Get(v1.HeaderInvocation)
	}
	if err != nil {
		return r, err
	}
	if resp.StatusCode == http.StatusAccepted {
		var a v1.Accepted
		if err := decode(b, &a); err != nil {
			return r, err
		}
		if a.ID == "" {
			return r, errors.New("decode answer: an accepted request without an id")
		}
		r.ID, r.Status = a.ID, a.Status
		return r, nil
	}
	r.Ended = true
	if len(b) > 0 {
		r.Value = b
	}
	return r, nil
}
