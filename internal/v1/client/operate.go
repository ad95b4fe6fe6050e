package client

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/internal/v1"
)

// Filter selects invocations; empty fields select all.
type Filter struct {
	Type, ID, Method, Status, Root, Key string
	Since                               string // a time, or how long ago
}

// Empty reports whether the filter selects all.
func (f Filter) Empty() bool { return f == Filter{} }

func (f Filter) query() url.Values {
	q := url.Values{}
	for k, v := range map[string]string{
		"type": f.Type, "id": f.ID, "method": f.Method, "status": f.Status,
		"root": f.Root, "key": f.Key, "since": f.Since,
	} {
		if v != "" {
			q.Set(k, v)
		}
	}
	return q
}

// Invocations lists newest first, page by page, at most most of them; 0: all.
func (c *Client) Invocations(ctx context.Context, f Filter, most int) iter.Seq2[v1.Invocation, error] {
	return pages[v1.Invocation](ctx, c, "/v1/invocations", f.query(), most)
}

// Actors lists the actors of a type in byte order of their ids.
func (c *Client) Actors(ctx context.Context, kind string, most int) iter.Seq2[v1.Actor, error] {
	return pages[v1.Actor](ctx, c, "/v1/actors", url.Values{"type": {kind}}, most)
}

const pageSize = 500

func pages[T any](ctx context.Context, c *Client, path string, q url.Values, most int) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for n := 0; ; {
			size := pageSize
			if most > 0 {
				size = min(size, most-n)
			}
			q.Set("limit", strconv.Itoa(size))
			var p v1.Page[T]
			if err := c.get(ctx, path, q, &p); err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, item := range p.Items {
				if !yield(item, nil) {
					return
				}
				if n++; n == most {
					return
				}
			}
			if p.Next == "" {
				return
			}
			q.Set("cursor", p.Next)
		}
	}
}

// Invocation returns one.
func (c *Client) Invocation(ctx context.Context, id string) (v1.Invocation, error) {
	var in v1.Invocation
	err := c.get(ctx, "/v1/invocations/"+v1.Segment(id), nil, &in)
	return in, err
}

// Act is what an operator did to an invocation.
type Act struct {
	v1.Invocation
	// Dropped: nothing is kept of it. Otherwise Pending: it ends, or goes on,
	// when its code has returned or its turn comes.
	Dropped, Pending bool
}

// Cancel ends an invocation with the error canceled.
func (c *Client) Cancel(ctx context.Context, id string, in v1.Cancel) (Act, error) {
	return c.act(ctx, id, "cancel", in)
}

// Answer ends an invocation with an outcome.
func (c *Client) Answer(ctx context.Context, id string, in v1.Answer) (Act, error) {
	return c.act(ctx, id, "answer", in)
}

// Resume puts a parked or failed invocation back into the flow.
func (c *Client) Resume(ctx context.Context, id string) (Act, error) {
	return c.act(ctx, id, "resume", nil)
}

// Skip drops a parked step and releases its actor.
func (c *Client) Skip(ctx context.Context, id string) (Act, error) {
	return c.act(ctx, id, "skip", nil)
}

func (c *Client) act(ctx context.Context, id, verb string, in any) (Act, error) {
	var body []byte
	if in != nil {
		var err error
		if body, err = json.Marshal(in); err != nil {
			return Act{}, fmt.Errorf("encode %s: %w", verb, err)
		}
	}
	resp, b, err := c.do(ctx, http.MethodPost, "/v1/invocations/"+v1.Segment(id)+"/"+verb, nil, nil, body)
	if err != nil {
		return Act{}, err
	}
	a := Act{Dropped: resp.StatusCode == http.StatusNoContent, Pending: resp.StatusCode == http.StatusAccepted}
	a.ID = id
	if a.Dropped {
		return a, nil
	}
	return a, decode(b, &a.Invocation)
}

// Pause begins nothing on the actor until Unpause.
func (c *Client) Pause(ctx context.Context, a engine.Actor) error {
	_, _, err := c.do(ctx, http.MethodPost, v1.ActorPath(a)+"/pause", nil, nil, nil)
	return err
}

// Unpause lets an actor go on.
func (c *Client) Unpause(ctx context.Context, a engine.Actor) error {
	_, _, err := c.do(ctx, http.MethodPost, v1.ActorPath(a)+"/unpause", nil, nil, nil)
	return err
}

// Purge cancels what waits for the actor and drops its state and reminders.
func (c *Client) Purge(ctx context.Context, a engine.Actor) error {
	_, _, err := c.do(ctx, http.MethodDelete, v1.ActorPath(a), nil, nil, nil)
	return err
}

// State lists the cells of an actor.
func (c *Client) State(ctx context.Context, a engine.Actor) ([]v1.Cell, error) {
	var p v1.Page[v1.Cell]
	err := c.get(ctx, v1.ActorPath(a)+"/state", nil, &p)
	return p.Items, err
}

// Cell returns the value of a cell, or of the entry of a map if entry is not
// empty. For a map it returns the JSON of a v1.Cell with its entries.
func (c *Client) Cell(ctx context.Context, a engine.Actor, key, entry string) ([]byte, error) {
	path := v1.ActorPath(a) + "/state/" + v1.Segment(key)
	if entry != "" {
		path += "/" + v1.Segment(entry)
	}
	_, b, err := c.do(ctx, http.MethodGet, path, nil, nil, nil)
	return b, err
}

// Components lists the members, with the counts of the engine.
func (c *Client) Components(ctx context.Context) (v1.Components, error) {
	var out v1.Components
	err := c.get(ctx, "/v1/components", nil, &out)
	return out, err
}

// Types lists the actor types that are hosted, stored or waited for.
func (c *Client) Types(ctx context.Context) ([]v1.Type, error) {
	var p v1.Page[v1.Type]
	err := c.get(ctx, "/v1/types", nil, &p)
	return p.Items, err
}

// Ready asks whether the application is ready, for at most a moment.
func (c *Client) Ready(ctx context.Context, within time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	return c.get(ctx, "/v1/health/ready", nil, &struct{}{})
}
