package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"
)

// errBroken says that the process died before it answered, or is not there.
// What was asked may have been done.
var errBroken = errors.New("the connection broke")

// refusal is an answer that says no.
type refusal struct {
	Status int    `json:"status"`
	Code   string `json:"code"`
	Detail string `json:"detail"`
}

func (r *refusal) Error() string {
	return fmt.Sprintf("refused: %d %s: %s", r.Status, r.Code, r.Detail)
}

// answer is one that does not.
type answer struct {
	pending bool   // accepted; the outcome can be waited for
	id      string // of the invocation
	value   []byte // JSON; empty for none
}

// door is the way to one life of the server: /v1 over its socket, with nothing
// of Pawl in between, as a program in another language has it.
type door struct{ http *http.Client }

func newDoor(socket string) *door {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", socket)
	}
	return &door{http: &http.Client{Transport: &http.Transport{DialContext: dial, MaxIdleConnsPerHost: 64}}}
}

func (d *door) close() { d.http.CloseIdleConnections() }

func actorPath(kind, id string) string {
	return "/v1/actors/" + url.PathEscape(kind) + "/" + url.PathEscape(id)
}

// call calls a method. With async set the answer is a pending one as a rule.
func (d *door) call(ctx context.Context, kind, id, method, key string, input any, async bool) (answer, error) {
	var body []byte
	if input != nil {
		var err error
		if body, err = json.Marshal(input); err != nil {
			return answer{}, err
		}
	}
	header := http.Header{}
	if key != "" {
		header.Set("Idempotency-Key", key)
	}
	if async {
		header.Set("Prefer", "respond-async")
	}
	return d.do(ctx, http.MethodPost, actorPath(kind, id)+"/call/"+method, header, body)
}

// outcome waits for the outcome of an invocation; it may be pending still.
func (d *door) outcome(ctx context.Context, id string) (answer, error) {
	return d.do(ctx, http.MethodGet, "/v1/invocations/"+id+"/outcome?wait="+time.Minute.String(), nil, nil)
}

// state reads a cell from outside. One that is not there is empty.
func (d *door) state(ctx context.Context, kind, id, cell string) (answer, error) {
	a, err := d.do(ctx, http.MethodGet, actorPath(kind, id)+"/state/"+cell, nil, nil)
	if r, ok := errors.AsType[*refusal](err); ok && r.Code == "not_found" {
		return answer{}, nil
	}
	return a, err
}

// do sends a request and reads the whole answer. Its errors are a *refusal,
// errBroken, or the cause of ctx.
func (d *door) do(ctx context.Context, method, path string, header http.Header, body []byte) (answer, error) {
	r, err := http.NewRequestWithContext(ctx, method, "http://pawl"+path, bytes.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	if header != nil {
		r.Header = header
	}
	resp, err := d.http.Do(r)
	if err != nil {
		return answer{}, broken(ctx, err)
	}
	defer resp.Body.Close()
	value, err := io.ReadAll(resp.Body)
	if err != nil {
		return answer{}, broken(ctx, err)
	}
	a := answer{pending: resp.StatusCode == http.StatusAccepted, id: resp.Header.Get("Pawl-Invocation"), value: value}
	if resp.StatusCode < 400 {
		return a, nil
	}
	no := &refusal{Status: resp.StatusCode}
	if err := json.Unmarshal(value, no); err != nil {
		no.Detail = string(value)
	}
	return answer{}, no
}

func broken(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return fmt.Errorf("%w: %w", errBroken, err)
}
