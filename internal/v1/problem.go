package v1

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/pawl-go/pawl/engine"
)

// Exit is an exit code of the command line.
type Exit int

// The exit codes.
const (
	ExitDone           Exit = 0
	ExitFailed         Exit = 1 // the application's error, or one without a better code
	ExitUsage          Exit = 2
	ExitNotFound       Exit = 3
	ExitNobody         Exit = 4 // nobody reachable
	ExitRefused        Exit = 5
	ExitOutcomeUnknown Exit = 6
	ExitFound          Exit = 7 // a check found something
)

// Codes that exist on this face only.
const (
	// CodeApplication is the code of an application's error that has none.
	CodeApplication engine.Code = "application"
	// CodePanic is the code of a method's panic.
	CodePanic engine.Code = "panic"
	// CodeBadRequest: the HTTP request itself is malformed.
	CodeBadRequest engine.Code = "bad_request"
	// CodeConflict: an operator's act does not fit the state of its object.
	CodeConflict engine.Code = "conflict"
	// CodeInternal: an error without a code.
	CodeInternal engine.Code = "internal"
)

// Meaning is what a code becomes at the edges.
type Meaning struct {
	Status int // of HTTP
	Exit   Exit
	Title  string
}

// meanings is the one table from codes to what they become outside.
var meanings = map[engine.Code]Meaning{
	engine.ErrNoApp:          {500, ExitFailed, "the context carries no application"},
	engine.ErrBadMethod:      {500, ExitFailed, "the method cannot be called"},
	engine.ErrNotInMethod:    {500, ExitFailed, "only a running method may do that"},
	engine.ErrEnded:          {500, ExitFailed, "the attempt has ended"},
	engine.ErrTailCall:       {500, ExitFailed, "a tail call was not returned as it is"},
	engine.ErrTailMisuse:     {500, ExitFailed, "a tail call was misused"},
	engine.ErrReadOnly:       {500, ExitFailed, "a read-only method tried to write or send"},
	engine.ErrNoMethod:       {404, ExitNotFound, "no such method"},
	engine.ErrNoHost:         {503, ExitNobody, "nobody hosts the type"},
	engine.ErrBadPayload:     {400, ExitFailed, "the payload does not decode"},
	engine.ErrBadState:       {500, ExitFailed, "the recorded state does not decode"},
	engine.ErrTooLarge:       {413, ExitRefused, "too large"},
	engine.ErrTooDeep:        {422, ExitRefused, "too many nested calls"},
	engine.ErrOverloaded:     {429, ExitRefused, "too many requests wait"},
	engine.ErrDeadlock:       {409, ExitRefused, "the call would wait for itself"},
	engine.ErrParked:         {409, ExitRefused, "the invocation is parked"},
	engine.ErrCanceled:       {409, ExitFailed, "the invocation was canceled"},
	engine.ErrKeyReused:      {422, ExitUsage, "the idempotency key was used for another request"},
	engine.ErrNotFound:       {404, ExitNotFound, "not found"},
	engine.ErrUnavailable:    {503, ExitNobody, "the engine is not available"},
	engine.ErrOutcomeUnknown: {504, ExitOutcomeUnknown, "the outcome is unknown"},
	engine.ErrFenced:         {503, ExitNobody, "the component was declared failed"},
	CodeApplication:          {422, ExitFailed, "the method returned an error"},
	CodePanic:                {422, ExitFailed, "the method panicked"},
	CodeBadRequest:           {400, ExitUsage, "bad request"},
	CodeUnauthorized:         {401, ExitRefused, "no token, or not this one"},
	CodeConflict:             {409, ExitRefused, "refused"},
	CodeInternal:             {500, ExitFailed, "internal error"},
}

// Lookup gives the meaning of a code. One that is not ours is an application's.
func Lookup(c engine.Code) Meaning {
	if m, ok := meanings[c]; ok {
		return m
	}
	return meanings[CodeApplication]
}

// The kinds of a Problem.
const (
	KindPawl        = "pawl"        // one of our codes
	KindApplication = "application" // an error that a method returned
	KindPanic       = "panic"       // a panic of a method
)

// Problem is an error on /v1, by RFC 9457 (application/problem+json). It is an
// error itself: the client returns it.
type Problem struct {
	Type           string      `json:"type"` // about:blank: the code says all
	Title          string      `json:"title"`
	Status         int         `json:"status"`
	Detail         string      `json:"detail,omitempty"`
	Code           engine.Code `json:"code"`
	Kind           string      `json:"kind"`
	Retryable      bool        `json:"retryable"`
	OutcomeUnknown bool        `json:"outcome_unknown"`
	Invocation     string      `json:"invocation,omitempty"`
	Actor          string      `json:"actor,omitempty"`
	Method         string      `json:"method,omitempty"`
	// Data is the detail of a registered error, as the application encoded it.
	Data  json.RawMessage `json:"data,omitempty"`
	Stack string          `json:"stack,omitempty"` // of a panic
	// Causes are the registered errors that it wraps or joins.
	Causes []*Problem `json:"causes,omitempty"`
}

// Error gives the code and the detail.
func (p *Problem) Error() string {
	detail := p.Detail
	if detail == "" {
		detail = p.Title
	}
	if p.Kind == KindApplication {
		return detail
	}
	return string(p.Code) + ": " + detail
}

// Is makes errors.Is(err, engine.ErrNotFound) work on the client's side.
func (p *Problem) Is(target error) bool {
	c, ok := target.(engine.Code)
	return ok && p.Kind == KindPawl && c == p.Code
}

// Exit is the exit code of the command line for p.
func (p *Problem) Exit() Exit {
	if p.Kind != KindPawl {
		return ExitFailed
	}
	return Lookup(p.Code).Exit
}

// problem makes a problem of ours.
func problem(c engine.Code, format string, args ...any) *Problem {
	m := Lookup(c)
	return &Problem{
		Type: "about:blank", Title: m.Title, Status: m.Status, Kind: KindPawl, Code: c,
		Detail:    fmt.Sprintf(format, args...),
		Retryable: c.Retryable(), OutcomeUnknown: c.OutcomeUnknown(),
	}
}

// problemOf makes a problem of any error.
func problemOf(err error) *Problem {
	if p, ok := errors.AsType[*Problem](err); ok {
		return p
	}
	if e, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return problem(engine.ErrTooLarge, "the body is larger than %d bytes", e.Limit)
	}
	code := engine.CodeOf(err)
	if code == "" {
		return problem(CodeInternal, "%s", err)
	}
	e, ok := errors.AsType[*engine.Error](err)
	if !ok {
		return problem(code, "%s", err)
	}
	p := problem(code, "%s", "")
	p.Invocation, p.Actor, p.Method = e.Invocation, e.Actor, e.Method
	p.Detail = e.Error()
	if e.Err != nil {
		p.Detail = e.Err.Error()
	}
	return p
}

// problemOfFailure makes a problem of the error that an outcome keeps.
func problemOfFailure(f *engine.Failure) *Problem {
	if f.Kind == engine.FailurePawl {
		p := problem(engine.Code(f.Code), "%s", f.Message)
		p.Invocation, p.Actor, p.Method = f.Invocation, f.Actor, f.Method
		p.Causes = causesOf(f)
		return p
	}
	p := &Problem{
		Type: "about:blank", Status: http.StatusUnprocessableEntity, Detail: f.Message,
		Code: engine.Code(f.Code), Kind: KindApplication,
		Invocation: f.Invocation, Actor: f.Actor, Method: f.Method, Causes: causesOf(f),
	}
	fallback := CodeApplication
	if f.Kind == engine.FailurePanic {
		p.Kind, fallback = KindPanic, CodePanic
		p.Stack = string(f.Detail)
	} else if json.Valid(f.Detail) {
		p.Data = f.Detail
	}
	p.Title = Lookup(fallback).Title
	if p.Code == "" {
		p.Code = fallback
	}
	return p
}

func causesOf(f *engine.Failure) []*Problem {
	var out []*Problem
	for _, c := range f.Causes {
		out = append(out, problemOfFailure(c))
	}
	return out
}
