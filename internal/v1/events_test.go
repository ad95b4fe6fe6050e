package v1_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/internal/socket"
	v1 "github.com/pawl-go/pawl/internal/v1"
	"github.com/pawl-go/pawl/internal/v1/client"
)

// told says what events are about.
func told(events []v1.Event) string {
	var words []string
	for _, e := range events {
		words = append(words, strings.TrimSuffix(fmt.Sprintf("%s %s/%s.%s", e.Event, e.Type, e.Actor, e.Method), " /."))
	}
	return strings.Join(words, ", ")
}

// eventsOf reads n events; 0: to the end.
func eventsOf(t *testing.T, c *client.Client, f *client.EventFilter, n int) (events []v1.Event) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for e, err := range c.Events(ctx, f) {
		if err != nil {
			t.Errorf("after %s: %v", told(events), err)
			return events
		}
		if events = append(events, e); len(events) == n {
			break
		}
	}
	return events
}

func TestEvents(t *testing.T) {
	do, c := boxesWithClient(t)
	box := &client.EventFilter{Type: "Box", After: "0"}
	do(200, "POST", "/v1/actors/Box/a%2F%C3%BC/call/Add", "5")
	do(204, "PUT", "/v1/actors/Box/b/state/n", "1")
	want := "send Box/a/ü.Add, write Box/a/ü.Add, outcome Box/a/ü.Add, write Box/b."
	all := eventsOf(t, c, box, 4)
	if got := told(all); got != want {
		t.Errorf("told   %s\nwanted %s", got, want)
	}
	if e := all[0]; e.ID == "" || e.Kind != "call" || e.Time.IsZero() || e.Path != "/v1/actors/Box/a%2F%C3%BC" {
		t.Errorf("the send: %+v", e)
	}
	if e := all[1]; e.Writes != 1 || e.ID != all[0].ID {
		t.Errorf("the write: %+v", e)
	}
	for i, e := range all { // each is a place to go on from, within a record too
		past := &client.EventFilter{Type: "Box", After: e.Position, Past: true}
		if got, want := told(eventsOf(t, c, past, 0)), told(all[i+1:]); got != want {
			t.Errorf("behind %s told   %s\nwanted %s", e.Position, got, want)
		}
	}
	for query, want := range map[string]string{
		"event=outcome,cancel":              "outcome Box/a/ü.Add",
		"event=join":                        "join",
		"type=Box&id=b":                     "write Box/b.",
		"method=Add&event=send&event=write": "send Box/a/ü.Add, write Box/a/ü.Add",
		"invocation=" + all[0].ID:           "send Box/a/ü.Add, write Box/a/ü.Add, outcome Box/a/ü.Add",
	} {
		body, h := do(200, "GET", "/v1/events?follow=false&after=0&"+query, "")
		if got := told(parseEvents(t, body)); got != want || h.Get("Content-Type") != "text/event-stream" {
			t.Errorf("%s told   %s\nwanted %s", query, got, want)
		}
	}
	// The header of a client that comes back is newer than its URL.
	body, _ := do(200, "GET", "/v1/events?follow=false&after=0&type=Box", "", "Last-Event-ID: "+all[2].Position)
	if got := told(parseEvents(t, body)); got != "write Box/b." {
		t.Errorf("told %s", got)
	}
	do(200, "HEAD", "/v1/events", "")
}

// parseEvents reads the data of a stream that has ended.
func parseEvents(t *testing.T, body string) (events []v1.Event) {
	t.Helper()
	for line := range strings.SplitSeq(body, "\n") {
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok {
			continue
		}
		var e v1.Event
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			t.Fatal(err)
		}
		events = append(events, e)
	}
	return events
}

func TestEventsThatAreFollowed(t *testing.T) {
	do, c := boxesWithClient(t)
	got := make(chan string, 1)
	go func() {
		got <- told(eventsOf(t, c, &client.EventFilter{Type: "Box", Kinds: []string{"send"}}, 1))
	}()
	for { // it is told from when its request has come on
		do(200, "POST", "/v1/actors/Box/a/call/Add", "1")
		select {
		case text := <-got:
			if text != "send Box/a.Add" {
				t.Errorf("told %s", text)
			}
			return
		default:
		}
	}
}

func TestEventsRefused(t *testing.T) {
	do := boxes(t)
	for path, want := range map[string]struct {
		status int
		text   string
	}{
		"after=x":                    {400, "x is not the position of an event"},
		"after=1.x":                  {400, "1.x is not the position"},
		"after=-1":                   {400, "-1 is not the position"},
		"after=1.-1":                 {400, "1.-1 is not the position"},
		"after=18446744073709551616": {400, "is not the position"},
		"after=1":                    {410, "no longer kept"},
		"after=18446744073709551614": {410, "there is no record"},
		"event=outcom":               {400, "Did you mean outcome?"},
		"event=zzzzzz":               {400, "it is one of epoch, join"},
		"invocation=x":               {400, "not an invocation id"},
		"id=a":                       {400, "needs a type"},
		"follow=maybe":               {400, "true or false"},
	} {
		if got, _ := do(want.status, "GET", "/v1/events?"+path, ""); !strings.Contains(got, want.text) {
			t.Errorf("%s: %s", path, got)
		}
	}
	do(405, "POST", "/v1/events", "")
}

// tailed is a fake engine with a tail that the test feeds.
type tailed struct {
	*fake
	next chan []engine.Event
	err  error // once next is closed
	at   engine.Position
}

func (f *tailed) Session() engine.Session { return &tailedSession{fakeSession{f: f.fake}, f} }

type tailedSession struct {
	fakeSession
	t *tailed
}

func (s *tailedSession) Operator() engine.Operator { return &tailedOperator{s.t.fake, s.t} }

type tailedOperator struct {
	engine.Operator
	t *tailed
}

func (o *tailedOperator) Tail(context.Context, engine.Position, engine.EventFilter) (engine.Tail, error) {
	return o.t, nil
}

func (f *tailed) At() engine.Position { return f.at }
func (f *tailed) Close()              {}

func (f *tailed) Next(ctx context.Context) ([]engine.Event, error) {
	select {
	case events, ok := <-f.next:
		if !ok {
			return nil, f.err
		}
		f.at = events[len(events)-1].At
		return events, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func newTailed(t *testing.T) (*tailed, *v1.Handler) {
	t.Helper()
	f := &tailed{fake: newFake(), next: make(chan []engine.Event)}
	h, err := v1.New(v1.Config{Runtime: f, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return f, h
}

// TestStreamSaysThatItLives: without events it says so, and how far it is.
func TestStreamSaysThatItLives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, h := newTailed(t)
		f.at = 50
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Second)
		defer cancel()
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(ctx, "GET", "/v1/events", nil))
		if got, want := w.Body.String(), ": events\nretry: 1000\n\nid: 50\n\n:\n\n:\n\n"; got != want {
			t.Errorf("it wrote %q, want %q", got, want)
		}
	})
}

// TestStreamThatEnds: it says why, with a problem.
func TestStreamThatEnds(t *testing.T) {
	for name, end := range map[string]struct {
		do     func(*tailed)
		status int
		code   engine.Code
	}{
		"too slow":  {func(f *tailed) { f.err = &engine.Error{Code: engine.ErrNotFound}; close(f.next) }, 410, engine.ErrNotFound},
		"no engine": {func(f *tailed) { f.err = &engine.Error{Code: engine.ErrUnavailable}; close(f.next) }, 503, engine.ErrUnavailable},
		"fenced":    {func(f *tailed) { close(f.fenced) }, 503, engine.ErrFenced},
	} {
		t.Run(name, func(t *testing.T) {
			f, h := newTailed(t)
			w, done := httptest.NewRecorder(), make(chan struct{})
			go func() {
				defer close(done)
				h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/v1/events", nil))
			}()
			f.next <- []engine.Event{{At: 43, Kind: engine.EventPause, Actor: engine.Actor{Type: "A", ID: "a"}}}
			end.do(f)
			<-done
			_, data, ok := strings.Cut(w.Body.String(), "event: end\ndata: ")
			var p v1.Problem
			if err := json.Unmarshal([]byte(data), &p); !ok || err != nil || p.Status != end.status || p.Code != end.code {
				t.Errorf("it wrote %s (%v)", w.Body, err)
			}
			if !strings.Contains(w.Body.String(), "id: 43.0\nevent: pause\n") {
				t.Errorf("the event before the end: %s", w.Body)
			}
		})
	}
}

// TestManyStreams: there is a bound, and a stream that has ended makes room.
func TestManyStreams(t *testing.T) {
	_, h := newTailed(t)
	ctx, cancel := context.WithCancel(t.Context())
	server := httptest.NewServer(h)
	defer server.Close()
	defer cancel()
	open := func() *http.Response {
		t.Helper()
		r, err := http.NewRequestWithContext(ctx, "GET", server.URL+"/v1/events", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := server.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { resp.Body.Close() })
		return resp
	}
	var last *http.Response
	for range 100 {
		if last = open(); last.StatusCode != 200 {
			t.Fatalf("status %d", last.StatusCode)
		}
	}
	if resp := open(); resp.StatusCode != 429 {
		t.Errorf("one more: status %d", resp.StatusCode)
	}
	last.Body.Close() // ends its connection
	patience, end := context.WithTimeout(t.Context(), time.Minute)
	defer end()
	for open().StatusCode != 200 {
		if patience.Err() != nil {
			t.Fatal("a stream that has ended makes no room")
		}
	}
}

// TestClientThatDoesNotRead: it holds up neither the engine nor the end of the
// server, and others are told.
func TestClientThatDoesNotRead(t *testing.T) {
	dir := shortDir(t)
	do, c := boxesIn(t, dir)
	conn, err := socket.Dial(t.Context(), filepath.Join(dir, v1.SocketName))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, _ = io.WriteString(conn, "GET /v1/events?after=0 HTTP/1.1\r\nHost: x\r\n\r\n")
	for range 2000 { // far more than a socket holds
		do(202, "POST", "/v1/actors/Box/a/tell/Add", "1")
	}
	f := &client.EventFilter{Type: "Box", After: "0", Kinds: []string{"outcome"}}
	eventsOf(t, c, f, 2000)
	if line, err := bufio.NewReader(conn).ReadString('\n'); err != nil || line != "HTTP/1.1 200 OK\r\n" {
		t.Errorf("once it reads it gets %q, %v", line, err)
	}
}
