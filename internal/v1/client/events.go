package client

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"

	"github.com/pawl-go/pawl/internal/v1"
)

// EventFilter selects events; empty fields select all.
type EventFilter struct {
	Type, ID, Method, Invocation string
	Kinds                        []string
	// After is the position behind which to begin; "0": the oldest kept, "": now.
	After string
	// Past ends the stream with what has happened when it begins.
	Past bool
	// All tells of Pawl's own types too.
	All bool
}

func (f *EventFilter) query() url.Values {
	q := url.Values{}
	for k, v := range map[string]string{
		"type": f.Type, "id": f.ID, "method": f.Method, "invocation": f.Invocation, "after": f.After,
	} {
		if v != "" {
			q.Set(k, v)
		}
	}
	if len(f.Kinds) > 0 {
		q["event"] = f.Kinds
	}
	if f.Past {
		q.Set("follow", "false")
	}
	if f.All {
		q.Set("all", "true")
	}
	return q
}

// Events yields what the application does. The position of the last event is
// kept in f.After, also of what the filter leaves out, so that called again it
// goes on there. A stream that breaks ends with [Unreachable].
func (c *Client) Events(ctx context.Context, f *EventFilter) iter.Seq2[v1.Event, error] {
	return func(yield func(v1.Event, error) bool) {
		resp, err := c.send(ctx, http.MethodGet, "/v1/events", f.query(), http.Header{"Accept": {"text/event-stream"}}, nil)
		if err != nil {
			yield(v1.Event{}, c.broke(ctx, err))
			return
		}
		defer resp.Body.Close()
		if resp.StatusCode >= 400 {
			b, err := io.ReadAll(resp.Body)
			if err == nil {
				err = problemIn(resp, b)
			}
			yield(v1.Event{}, err)
			return
		}
		for m, err := range messages(resp.Body) {
			var e v1.Event
			if err != nil {
				yield(e, c.broke(ctx, err))
				return
			}
			if m.id != "" {
				f.After = m.id
			}
			switch {
			case m.event == v1.EventEnd:
				p := &v1.Problem{}
				if err := decode(m.data, p); err != nil {
					yield(e, err)
					return
				}
				yield(e, p)
				return
			case len(m.data) == 0:
				continue
			}
			if err := json.Unmarshal(m.data, &e); err != nil {
				yield(e, fmt.Errorf("decode event: %w", err))
				return
			}
			if !yield(e, nil) {
				return
			}
		}
		if !f.Past {
			yield(v1.Event{}, c.broke(ctx, io.ErrUnexpectedEOF))
		}
	}
}

// broke is the error of a stream that was cut. It asks for nothing, so that its
// outcome is not unknown.
func (c *Client) broke(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if _, ok := errors.AsType[*Unreachable](err); ok {
		return err
	}
	return &Unreachable{Engine: c.engine, Err: fmt.Errorf("the stream of events broke: %w", err)}
}

// message is one of a stream of Server-Sent Events.
type message struct {
	id, event string
	data      []byte
}

// messages reads a stream as far as Pawl writes it: lines end with a line feed,
// data is one line.
func messages(r io.Reader) iter.Seq2[message, error] {
	return func(yield func(message, error) bool) {
		var m message
		for b := bufio.NewReader(r); ; {
			line, err := b.ReadBytes('\n')
			if err == io.EOF && len(line) == 0 {
				return
			}
			if err != nil {
				yield(message{}, err)
				return
			}
			line = bytes.TrimSuffix(line, []byte("\n"))
			name, value, _ := bytes.Cut(line, []byte(": "))
			switch string(name) {
			case "id":
				m.id = string(value)
			case "event":
				m.event = string(value)
			case "data":
				m.data = value
			case "":
				if len(line) > 0 { // a comment
					continue
				}
				if !yield(m, nil) {
					return
				}
				m = message{}
			}
		}
	}
}
