package pawl

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/pawl-go/pawl/engine"
)

// maxCauses bounds how deep an error's tree is followed: an error whose Unwrap
// goes round in circles ends there.
const maxCauses = 100

// failureOf encodes a method's error as its outcome keeps it. The top keeps the
// whole message; below it only what can be recognised elsewhere is kept, errors
// in between being flattened. An error that came from a callee and is returned
// as it is, encodes to the same failure again.
func failureOf(err error) *engine.Failure {
	if f := significant(err, maxCauses); f != nil {
		return f
	}
	return &engine.Failure{Message: err.Error(), Causes: causesOf(err, maxCauses)}
}

// significant encodes an error that is recognised elsewhere, or gives nil.
func significant(err error, depth int) *engine.Failure {
	switch e := err.(type) { //nolint:errorlint // one level at a time is the point
	case *AppError:
		return &engine.Failure{
			Code: e.Code, Message: e.Message, Detail: e.Detail,
			Invocation: e.invocation, Actor: e.actor, Method: e.method,
			Causes: encodeAll(e.causes, depth-1),
		}
	case *PanicError:
		return &engine.Failure{Kind: engine.FailurePanic, Message: e.Value, Detail: []byte(e.Stack)}
	case *Error:
		return pawlFailure(e, depth)
	case Code:
		return engine.Fail(e, "")
	case *retryError:
		return significant(e.err, depth)
	case *finalError:
		return finalFailure(e, depth)
	}
	r := registeredAs(err)
	if r == nil {
		return nil
	}
	f := &engine.Failure{Code: r.code, Message: err.Error(), Causes: causesOf(err, depth)}
	if r.typ != nil {
		// What does not encode still has its code and message.
		f.Detail, _ = json.Marshal(err)
	}
	return f
}

func pawlFailure(e *Error, depth int) *engine.Failure {
	f := &engine.Failure{
		Kind: engine.FailurePawl, Code: string(e.Code),
		Invocation: e.Invocation, Actor: e.Actor, Method: e.Method,
	}
	if e.Err != nil {
		f.Message = e.Err.Error()
		f.Causes = encodeAll([]error{e.Err}, depth-1)
	}
	return f
}

// finalFailure hides a retryable code one level down, so that the caller of
// this method does not take it for an error of its own call.
func finalFailure(e *finalError, depth int) *engine.Failure {
	f := significant(e.err, depth)
	if f != nil && f.Kind == engine.FailurePawl && Code(f.Code).Retryable() {
		return &engine.Failure{Message: e.Error(), Causes: []*engine.Failure{f}}
	}
	return f
}

// causesOf encodes what stands below err in its tree.
func causesOf(err error, depth int) []*engine.Failure {
	return encodeAll(unwrap(err), depth-1)
}

func encodeAll(errs []error, depth int) []*engine.Failure {
	if depth <= 0 {
		return nil
	}
	var fs []*engine.Failure
	for _, err := range errs {
		if err == nil {
			continue
		}
		if f := significant(err, depth); f != nil {
			fs = append(fs, f)
		} else {
			fs = append(fs, causesOf(err, depth)...)
		}
	}
	return fs
}

// unwrap gives the errors directly below err.
func unwrap(err error) []error {
	switch e := err.(type) { //nolint:errorlint // one level at a time is the point
	case interface{ Unwrap() error }:
		if below := e.Unwrap(); below != nil {
			return []error{below}
		}
	case interface{ Unwrap() []error }:
		return e.Unwrap()
	}
	return nil
}

// errorOf decodes an outcome's failure: an *Error, a *PanicError, or an
// *AppError that holds what was registered.
func errorOf(f *engine.Failure) error {
	switch f.Kind {
	case engine.FailurePawl:
		return &Error{
			Code: Code(f.Code), Invocation: f.Invocation, Actor: f.Actor, Method: f.Method,
			Err: causeOf(f),
		}
	case engine.FailurePanic:
		return &PanicError{Value: f.Message, Stack: string(f.Detail)}
	case engine.FailureApp:
	}
	e := &AppError{Code: f.Code, Message: f.Message, Detail: f.Detail, causes: errorsOf(f.Causes)}
	e.where(f)
	if r := registeredCode(f.Code); r != nil {
		e.known = r.value(f.Detail)
	}
	return e
}

// causeOf is what an error of ours wraps.
func causeOf(f *engine.Failure) error {
	switch {
	case len(f.Causes) > 0:
		causes := errorsOf(f.Causes)
		first := causes[0].Error()
		switch {
		case len(causes) == 1 && (f.Message == "" || f.Message == first):
			return causes[0]
		case !strings.Contains(f.Message, first):
			// An engine says what it did and leaves why to the cause.
			return &AppError{Message: f.Message + ": " + first, causes: causes}
		}
		return &AppError{Message: f.Message, causes: causes}
	case f.Message != "":
		return errors.New(f.Message)
	}
	return nil
}

func errorsOf(fs []*engine.Failure) []error {
	if len(fs) == 0 {
		return nil
	}
	errs := make([]error, len(fs))
	for i, f := range fs {
		errs[i] = errorOf(f)
	}
	return errs
}

// value gives the registered error itself; nil if its detail does not decode.
func (r *registered) value(detail []byte) error {
	if r.sentinel != nil {
		return r.sentinel
	}
	if len(detail) == 0 {
		return nil
	}
	e, err := r.decode(detail)
	if err != nil {
		return nil //nolint:nilerr // code and message are kept by the AppError
	}
	return e
}
