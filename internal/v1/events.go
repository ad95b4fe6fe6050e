package v1

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/internal/topics"
)

// HeaderLastEvent is sent by a client that takes a stream of events up again.
const HeaderLastEvent = "Last-Event-ID"

// EventEnd is the event by which a stream says why it ends; its data is a
// Problem.
const EventEnd = "end"

// The bounds of streams of events. A stream holds no more than one part of the
// journal in memory; a client that does not read is ended after eventPatience,
// and may take the stream up again.
const (
	maxEventStreams = 100
	eventPatience   = 30 * time.Second
)

// Event is what GET /v1/events tells: something that the application has done.
// Fields that say nothing of its kind are left out.
type Event struct {
	Position string           `json:"position"` // for after= and Last-Event-ID
	Event    engine.EventKind `json:"event"`
	Time     time.Time        `json:"time,omitzero"` // when; left out if the record does not say

	ID      string `json:"id,omitempty"` // of the invocation
	Type    string `json:"type,omitempty"`
	Actor   string `json:"actor,omitempty"` // the id of the actor
	Method  string `json:"method,omitempty"`
	Path    string `json:"path,omitempty"` // of the actor
	Kind    string `json:"kind,omitempty"` // of a send: tell, nested or call
	Step    uint32 `json:"step,omitempty"`
	Attempt uint32 `json:"attempt,omitempty"`
	Caller  string `json:"caller,omitempty"` // of a send: the invocation that waits for it

	// Of a tail: the next step.
	ToType   string `json:"to_type,omitempty"`
	ToActor  string `json:"to_actor,omitempty"`
	ToMethod string `json:"to_method,omitempty"`

	Error    *EventError `json:"error,omitempty"`
	Operator bool        `json:"operator,omitempty"` // an operator's doing
	Kept     bool        `json:"kept,omitempty"`     // a failed tell, kept for an operator

	Component string   `json:"component,omitempty"`
	Session   uint64   `json:"session,omitempty"`
	Types     []string `json:"types,omitempty"`
	Epoch     uint64   `json:"epoch,omitempty"`

	Name   string    `json:"name,omitempty"` // of a reminder
	Due    time.Time `json:"due,omitzero"`
	Writes int       `json:"writes,omitempty"`
}

// EventError is what an event says of an error.
type EventError struct {
	Code    string `json:"code,omitempty"`
	Message string `json:"message"`
}

// eventStream stands for a stream of Events in the table of routes.
type eventStream struct{}

// events serves GET /v1/events: what the application does, as Server-Sent Events.
// It reads the journal at the speed of its client.
func (h *Handler) events(w http.ResponseWriter, r *http.Request) error {
	if n := h.streams.Add(1); n > maxEventStreams {
		h.streams.Add(-1)
		return problem(engine.ErrOverloaded, "%d streams of events are open, no more are served", maxEventStreams)
	}
	defer h.streams.Add(-1)
	s, err := h.openEvents(r)
	if err != nil {
		return err
	}
	defer s.tail.Close()
	s.w, s.rc = w, http.NewResponseController(w)
	patient(w)
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusOK)
	if r.Method == http.MethodHead {
		return nil
	}
	s.run(r.Context(), h)
	return nil
}

// stream is one client of the events.
type stream struct {
	w    io.Writer
	rc   *http.ResponseController
	tail engine.Tail
	from eventPosition
	all  bool            // those of our own types too
	told engine.Position // the newest position that the client knows
	buf  []byte
}

// openEvents opens the tail that a request asks for: behind its Last-Event-ID,
// behind ?after=, or from now on.
func (h *Handler) openEvents(r *http.Request) (*stream, error) {
	q := r.URL.Query()
	f, err := eventFilter(q)
	if err != nil {
		return nil, err
	}
	stats, err := h.rt.Session().Operator().Stats(r.Context())
	if err != nil {
		return nil, err
	}
	s := &stream{all: q.Get("all") != "" || topics.IsReserved(f.Type), from: eventPosition{at: stats.Last, whole: true}}
	after := q.Get("after")
	if last := r.Header.Get(HeaderLastEvent); last != "" {
		after = last // of a client that comes back: newer than its URL
	}
	if after != "" {
		if s.from, err = parseEventPosition(after); err != nil {
			return nil, err
		}
	}
	switch follow := q.Get("follow"); follow {
	case "", "true":
	case "false":
		f.Until = stats.Last
	default:
		return nil, problem(CodeBadRequest, "follow=%s: it is true or false", follow)
	}
	s.tail, err = h.rt.Session().Operator().Tail(r.Context(), s.from.next(), f)
	if errors.Is(err, engine.ErrNotFound) {
		return nil, passed(after, err)
	}
	return s, err
}

// passed is the problem of a position that is not kept.
func passed(after string, err error) error {
	p := problemOf(err)
	p.Status, p.Title = http.StatusGone, "no longer kept"
	p.Detail = fmt.Sprintf("the events behind %s cannot be told: %s; begin with ?after=0, the oldest kept, or without a position, with what comes next",
		after, p.Detail)
	return p
}

// run tells events until the client, the tail or the component ends.
func (s *stream) run(ctx context.Context, h *Handler) {
	ctx, cancel := context.WithCancelCause(ctx)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case <-h.rt.Session().Fenced():
			cancel(problem(engine.ErrFenced, "this component has ended; ask another one, behind the last position"))
		case <-ctx.Done():
		}
	}()
	defer func() { cancel(nil); <-watched }()
	if s.write(": events\nretry: 1000\n\n") != nil {
		return
	}
	for {
		err := s.tell(ctx, h.cfg.Heartbeat)
		switch {
		case err == nil:
		case errors.Is(err, errNotRead):
			return
		default:
			s.last(ctx, err)
			return
		}
	}
}

var errNotRead = errors.New("the client does not read")

// tell writes the next events, or that there are none.
func (s *stream) tell(ctx context.Context, beat time.Duration) error {
	next, cancel := context.WithTimeout(ctx, beat)
	defer cancel()
	events, err := s.tail.Next(next)
	if err != nil && (next.Err() == nil || ctx.Err() != nil) {
		return err
	}
	s.buf = s.buf[:0]
	for i := range events {
		s.append(&events[i])
	}
	// How far it is, for a client that takes the stream up again much later. It
	// is no event: a browser takes the id, and dispatches nothing.
	if at := s.tail.At(); len(s.buf) == 0 && at > s.told {
		s.told = at
		s.buf = fmt.Appendf(s.buf, "id: %d\n\n", at)
	}
	if len(s.buf) == 0 {
		s.buf = append(s.buf, ":\n\n"...)
	}
	return s.write(string(s.buf))
}

func (s *stream) append(e *engine.Event) {
	if s.from.covers(e) || !s.all && topics.IsReserved(e.Actor.Type) {
		return
	}
	out := eventOf(e)
	data, err := json.Marshal(out)
	if err != nil { // our own struct: a programmer's error
		panic(fmt.Sprintf("v1: encode event: %v", err))
	}
	s.told = e.At
	s.buf = fmt.Appendf(s.buf, "id: %s\nevent: %s\ndata: %s\n\n", out.Position, out.Event, data)
}

// write sends to the client, which has to take it in time.
func (s *stream) write(text string) error {
	_ = s.rc.SetWriteDeadline(time.Now().Add(eventPatience)) // a recorder has none
	if _, err := io.WriteString(s.w, text); err != nil {
		return errNotRead
	}
	if err := s.rc.Flush(); err != nil {
		return errNotRead
	}
	return nil
}

// last says why the stream ends, if anybody is there to hear it.
func (s *stream) last(ctx context.Context, err error) {
	defer func() { _ = s.rc.SetWriteDeadline(time.Time{}) }()
	if errors.Is(err, io.EOF) {
		return
	}
	if ctx.Err() != nil {
		if err = context.Cause(ctx); errors.Is(err, ctx.Err()) { // the client has gone, or this server is ending
			return
		}
	}
	p := problemOf(err)
	if p.Code == engine.ErrNotFound {
		p = problemOf(passed(strconv.FormatUint(uint64(s.told), 10), err))
	}
	if data, err := json.Marshal(p); err == nil {
		_ = s.write("event: " + EventEnd + "\ndata: " + string(data) + "\n\n")
	}
}

// eventFilter reads type, id, method, invocation and event, a list of kinds.
func eventFilter(q url.Values) (engine.EventFilter, error) {
	f := engine.EventFilter{Type: q.Get("type"), ID: q.Get("id"), Method: q.Get("method")}
	if f.ID != "" && f.Type == "" {
		return f, problem(CodeBadRequest, "id=%s needs a type", f.ID)
	}
	var err error
	if text := q.Get("invocation"); text != "" {
		if f.Invocation, err = engine.ParseID(text); err != nil {
			return f, problem(CodeBadRequest, "invocation=%s is not an invocation id", text)
		}
	}
	for _, list := range q["event"] {
		for name := range strings.SplitSeq(list, ",") {
			if name == "" {
				continue
			}
			if kind := engine.EventKind(name); slices.Contains(engine.EventKinds, kind) {
				f.Kinds = append(f.Kinds, kind)
				continue
			}
			return f, unknownEvent(name)
		}
	}
	return f, nil
}

func unknownEvent(name string) error {
	var names []string
	for _, k := range engine.EventKinds {
		names = append(names, string(k))
	}
	if near := Nearest(name, names); near != "" {
		return problem(CodeBadRequest, "event=%s: there is none. Did you mean %s?", name, near)
	}
	return problem(CodeBadRequest, "event=%s: it is one of %s", name, strings.Join(names, ", "))
}

// eventPosition is a place between two events: "7.2" behind event 2 of record
// 7, "7" behind all of it, "0" before everything.
type eventPosition struct {
	at    engine.Position
	n     int
	whole bool
}

func parseEventPosition(text string) (eventPosition, error) {
	record, n, part := strings.Cut(text, ".")
	at, err := strconv.ParseUint(record, 10, 64)
	p := eventPosition{at: engine.Position(at), whole: !part}
	if part && err == nil {
		p.n, err = strconv.Atoi(n)
	}
	if err != nil || p.n < 0 {
		return p, problem(CodeBadRequest, "%s is not the position of an event: they are in the field id of a stream, such as 4294967301.0", text)
	}
	return p, nil
}

// next is the record with which a tail begins; 0: the oldest kept.
func (p eventPosition) next() engine.Position {
	if p.whole && p.at != 0 {
		return p.at + 1
	}
	return p.at
}

// covers reports whether e is before the position.
func (p eventPosition) covers(e *engine.Event) bool {
	return e.At == p.at && (p.whole || e.N <= p.n)
}

func eventOf(e *engine.Event) *Event {
	out := &Event{
		Position: fmt.Sprintf("%d.%d", e.At, e.N), Event: e.Kind, Time: e.Time,
		Type: e.Actor.Type, Actor: e.Actor.ID, Method: e.Method, Step: e.Step, Attempt: e.Attempt,
		ToType: e.To.Type, ToActor: e.To.ID, ToMethod: e.ToMethod, Operator: e.Operator, Kept: e.Kept,
		Component: e.Component, Session: e.Session, Epoch: e.Epoch,
		Name: e.Name, Due: e.Due, Writes: e.Writes,
	}
	for _, t := range e.Types {
		if !topics.IsReserved(t) {
			out.Types = append(out.Types, t)
		}
	}
	if !e.ID.IsZero() {
		out.ID = e.ID.String()
	}
	if !e.Caller.IsZero() {
		out.Caller = e.Caller.String()
	}
	if e.Actor.Type != "" {
		out.Path = ActorPath(e.Actor)
	}
	if e.Kind == engine.EventSend {
		out.Kind = kindNames[e.Form]
	}
	if f := e.Failure; f != nil {
		out.Error = &EventError{Code: f.Code, Message: f.Message}
	}
	return out
}
