package v1

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"

	"github.com/pawl-go/pawl/engine"
)

// The names of headers.
const (
	HeaderInvocation = "Pawl-Invocation" // the id of the invocation
	HeaderKey        = "Idempotency-Key"
	HeaderPosition   = "Pawl-Position" // the newest record that a read reflects
)

// Invocation is one invocation as an operator sees it.
type Invocation struct {
	ID       string          `json:"id"`
	Status   engine.Status   `json:"status"`
	Type     string          `json:"type"`
	Actor    string          `json:"actor"` // the id of its actor
	Method   string          `json:"method"`
	Path     string          `json:"path"` // of the actor, encoded: right for every byte string
	Kind     string          `json:"kind"` // tell, nested or call
	Step     uint32          `json:"step"`
	Attempts uint32          `json:"attempts"`
	Lost     uint32          `json:"lost"` // attempts that ended by the death of their component
	Host     string          `json:"host,omitempty"`
	Created  time.Time       `json:"created,omitzero"`
	Due      time.Time       `json:"due,omitzero"` // of a delayed tell
	Ended    time.Time       `json:"ended,omitzero"`
	Caller   string          `json:"caller,omitempty"` // who waits for it inside the application
	Root     string          `json:"root,omitempty"`   // the outermost caller, if there is one
	Callees  []string        `json:"callees,omitempty"`
	WaitsFor []string        `json:"waits_for,omitempty"` // requests before it on its actor
	Input    json.RawMessage `json:"input,omitempty"`
	Value    json.RawMessage `json:"value,omitempty"` // once it is done
	Error    *Problem        `json:"error,omitempty"` // once it has failed or is parked
}

// Over reports whether the invocation has its final outcome.
func (i *Invocation) Over() bool {
	switch i.Status {
	case engine.StatusDone, engine.StatusError, engine.StatusFailed, engine.StatusCanceled:
		return true
	}
	return false
}

// Page is a part of a list. Next, if not empty, is the cursor of the next one.
type Page[T any] struct {
	Items []T    `json:"items"`
	Next  string `json:"next,omitempty"`
}

// Actor names an actor in a list.
type Actor struct {
	Type   string `json:"type"`
	ID     string `json:"id"`
	Path   string `json:"path"`
	Paused bool   `json:"paused,omitempty"`
}

// Cell is a piece of an actor's state. Of a map, Entries counts what the
// answer holds of it, and More says that there are others.
type Cell struct {
	Key     string          `json:"key"`
	Value   json.RawMessage `json:"value,omitempty"`
	Entries []Cell          `json:"entries,omitempty"`
	Map     bool            `json:"map,omitempty"`
	More    bool            `json:"more,omitempty"`
}

// Component is a member of the application.
type Component struct {
	Name    string    `json:"name"`
	Session uint64    `json:"session"`
	Joined  time.Time `json:"joined,omitzero"`
	Live    int       `json:"live"` // actors placed there now
	Types   []string  `json:"types"`
}

// Components is the answer of GET /v1/components.
type Components struct {
	App     string      `json:"app,omitempty"`
	Version string      `json:"version,omitempty"` // of Pawl, in the process that answers
	Items   []Component `json:"items"`
	Engine  Stats       `json:"engine"`
}

// Stats are the counts of the engine.
type Stats struct {
	Durability   string `json:"durability"`
	Epoch        uint64 `json:"epoch"`
	Last         uint64 `json:"last"` // the newest record
	Committed    uint64 `json:"committed"`
	Pending      int    `json:"pending"`
	Scheduled    int    `json:"scheduled"`
	Parked       int    `json:"parked"`
	Failed       int    `json:"failed"`
	Reminders    int    `json:"reminders"`
	Paused       int    `json:"paused"`
	JournalBytes int64  `json:"journal_bytes"`
}

// Type is an actor type that is hosted, stored or waited for.
type Type struct {
	Name    string   `json:"name"`
	Hosts   []string `json:"hosts"` // components; empty: nobody hosts it
	Methods []Method `json:"methods,omitempty"`
}

// Method is a callable method.
type Method struct {
	Name     string `json:"name"`
	ReadOnly bool   `json:"read_only,omitempty"`
	// JSON Schemas, of types that this process hosts.
	Input  map[string]any `json:"input,omitempty"`
	Output map[string]any `json:"output,omitempty"`
}

// Request is the body of POST /v1/invocations.
type Request struct {
	Type   string          `json:"type"`
	ID     string          `json:"id"`
	Method string          `json:"method"`
	Input  json.RawMessage `json:"input,omitempty"`
	Verb   string          `json:"verb,omitempty"` // call (the default) or tell
	Key    string          `json:"key,omitempty"`  // as Idempotency-Key
	Delay  string          `json:"delay,omitempty"`
	At     string          `json:"at,omitempty"`
}

// Accepted is the body of an answer with status 202 to a call or a tell.
type Accepted struct {
	ID     string        `json:"id"`
	Status engine.Status `json:"status,omitempty"`
}

// Cancel is the body of POST /v1/invocations/{inv}/cancel.
type Cancel struct {
	Reason string `json:"reason,omitempty"`
	Force  bool   `json:"force,omitempty"`
}

// Answer is the body of POST /v1/invocations/{inv}/answer. With neither it
// answers with no value.
type Answer struct {
	Value json.RawMessage `json:"value,omitempty"`
	Error *AnswerError    `json:"error,omitempty"`
}

// AnswerError is an application's error.
type AnswerError struct {
	Code    string          `json:"code,omitempty"`
	Message string          `json:"message"`
	Detail  json.RawMessage `json:"detail,omitempty"`
}

// Segment encodes s as one segment of a path: every byte string arrives
// intact, "." and ".." included.
func Segment(s string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	dots := strings.Trim(s, ".") == ""
	for i := range len(s) {
		c := s[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9',
			c == '-', c == '_', c == '~', c == '.' && !dots:
			b.WriteByte(c)
		default:
			b.Write([]byte{'%', hex[c>>4], hex[c&15]})
		}
	}
	return b.String()
}

// ActorPath is the path of an actor.
func ActorPath(a engine.Actor) string {
	return "/v1/actors/" + Segment(a.Type) + "/" + Segment(a.ID)
}

// raw gives a payload as JSON: itself if it is that, else {"base64": "..."}.
func raw(b []byte) json.RawMessage {
	if len(b) == 0 {
		return nil
	}
	if json.Valid(b) {
		return b
	}
	out, err := json.Marshal(map[string]string{"base64": base64.StdEncoding.EncodeToString(b)})
	if err != nil {
		return nil // a map of strings always encodes
	}
	return out
}

var kindNames = map[engine.Kind]string{
	engine.KindTell: "tell", engine.KindNested: "nested", engine.KindCall: "call",
}

func invocationOf(in *engine.Info) Invocation {
	r := in.Request
	out := Invocation{
		ID: r.ID.String(), Status: in.Status, Type: r.Actor.Type, Actor: r.Actor.ID, Method: r.Method,
		Path: ActorPath(r.Actor), Kind: kindNames[r.Kind], Step: r.Step,
		Attempts: in.Attempts, Lost: in.Lost, Host: in.Host,
		Created: r.Created, Due: r.NotBefore, Ended: in.Ended,
		Callees: idTexts(in.Callees), WaitsFor: idTexts(in.WaitsFor),
		Input: raw(r.Payload),
	}
	switch in.Status {
	case engine.StatusRunning, engine.StatusDone, engine.StatusError, engine.StatusFailed:
		out.Attempts = max(out.Attempts, 1) // the beginning of a first attempt is not recorded
	}
	if r.Caller != nil {
		out.Caller, out.Root = r.Caller.ID.String(), r.Root().ID.String()
	}
	switch o := in.Outcome; {
	case o == nil:
	case o.Failure != nil:
		out.Error = problemOfFailure(o.Failure)
	default:
		out.Value = raw(o.Value)
	}
	return out
}

func idTexts(ids []engine.ID) []string {
	var out []string
	for _, id := range ids {
		out = append(out, id.String())
	}
	return out
}
