package pawl

import (
	"encoding/json"
	"fmt"
	"reflect"
	"sync"

	"github.com/pawl-go/pawl/engine"
)

// AppError is an error that a method returned, as whoever waits for it sees it.
// What was registered with [RegisterError] or [RegisterErrorType] is found in
// it by errors.Is and errors.As, however deeply it was wrapped or joined; what
// was not keeps its message.
//
// A method may also make and return one: Code and Detail reach the caller, a
// REST client included.
type AppError struct {
	Code    string          `json:"code,omitempty"` // as registered; "" for none
	Message string          `json:"message"`
	Detail  json.RawMessage `json:"detail,omitempty"` // of a registered type: its JSON

	known  error   // the registered error that Code and Detail stand for
	causes []error // what it wraps or joins, as far as registered or ours
	// Where it arose, if not at the callee itself.
	invocation, actor, method string
}

// Error gives the message.
func (e *AppError) Error() string { return e.Message }

// Unwrap gives the registered error that e stands for and the registered ones
// that this wrapped or joined.
func (e *AppError) Unwrap() []error {
	if e.known == nil {
		return e.causes
	}
	return append([]error{e.known}, e.causes...)
}

// PanicError is the outcome of a method that panicked. The actor's instance was
// dropped, its writes were discarded.
type PanicError struct {
	Value string // the panic's value as text
	Stack string // of the goroutine that panicked
}

// Error gives "panic: value", without the stack.
func (e *PanicError) Error() string { return "panic: " + e.Value }

// registered is one entry of the table of known application errors.
type registered struct {
	code     string
	sentinel error                              // of RegisterError
	typ      reflect.Type                       // of RegisterErrorType
	decode   func(detail []byte) (error, error) // of RegisterErrorType
}

var knownErrors struct {
	sync.RWMutex
	byCode    map[string]*registered
	sentinels map[error]*registered
	types     map[reflect.Type]*registered
}

// RegisterError makes a sentinel error known under a code, so that
// errors.Is(err, sentinel) holds for callers in other processes too. Codes are
// of the application's choosing ("shop.no_stock"), outlive the code's names,
// and must be the same wherever the error is made or examined. It panics if the
// code or the sentinel is taken, or the sentinel cannot be compared. It is meant
// for package initialisation; safe for concurrent use.
func RegisterError(code string, sentinel error) {
	if sentinel == nil || !reflect.TypeOf(sentinel).Comparable() {
		panic(fmt.Sprintf("pawl: register error %q: the sentinel is nil or cannot be compared", code))
	}
	register(&registered{code: code, sentinel: sentinel})
}

// RegisterErrorType makes errors of type E known under a code, so that
// errors.As finds an E in errors from other processes too. The value travels as
// JSON, always, so it panics if E has fields that JSON would drop (tag those that
// need not travel `json:"-"`), and if the code or the type is taken. It is meant
// for package initialisation; safe for concurrent use.
func RegisterErrorType[E error](code string) {
	t := reflect.TypeFor[E]()
	if t.Kind() == reflect.Interface {
		panic(fmt.Sprintf("pawl: register error type %q: %v is an interface", code, t))
	}
	if drops := jsonMistakes(t); len(drops) > 0 {
		panic(fmt.Sprintf("pawl: register error type %q: %v", code, drops[0]))
	}
	register(&registered{code: code, typ: t, decode: func(detail []byte) (error, error) {
		var e E
		err := json.Unmarshal(detail, &e)
		return e, err
	}})
}

func register(r *registered) {
	knownErrors.Lock()
	defer knownErrors.Unlock()
	if knownErrors.byCode == nil {
		knownErrors.byCode = map[string]*registered{}
		knownErrors.sentinels = map[error]*registered{}
		knownErrors.types = map[reflect.Type]*registered{}
	}
	if r.code == "" || len(r.code) > maxName {
		panic(fmt.Sprintf("pawl: register error %q: a code has 1 to %d bytes", r.code, maxName))
	}
	if knownErrors.byCode[r.code] != nil {
		panic(fmt.Sprintf("pawl: register error %q: the code is taken", r.code))
	}
	if r.sentinel != nil {
		if knownErrors.sentinels[r.sentinel] != nil {
			panic(fmt.Sprintf("pawl: register error %q: the error %q is registered", r.code, r.sentinel))
		}
		knownErrors.sentinels[r.sentinel] = r
	} else {
		if knownErrors.types[r.typ] != nil {
			panic(fmt.Sprintf("pawl: register error type %q: %v is registered", r.code, r.typ))
		}
		knownErrors.types[r.typ] = r
	}
	knownErrors.byCode[r.code] = r
}

// registeredAs finds the entry for an error value itself, not for its tree.
func registeredAs(err error) *registered {
	t := reflect.TypeOf(err)
	knownErrors.RLock()
	defer knownErrors.RUnlock()
	if r := knownErrors.types[t]; r != nil {
		return r
	}
	if t.Comparable() {
		return lookupSentinel(err)
	}
	return nil
}

// lookupSentinel forgives an error whose interface fields turn out not to be
// comparable at run time: it is no sentinel then.
func lookupSentinel(err error) (r *registered) {
	defer func() { _ = recover() }()
	return knownErrors.sentinels[err]
}

func registeredCode(code string) *registered {
	knownErrors.RLock()
	defer knownErrors.RUnlock()
	return knownErrors.byCode[code]
}

// where copies the place of a failure.
func (e *AppError) where(f *engine.Failure) {
	e.invocation, e.actor, e.method = f.Invocation, f.Actor, f.Method
}
