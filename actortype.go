package pawl

import (
	"context"
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/internal/runtime"
)

// actorType is a registered Go type.
type actorType struct {
	app      *App
	goType   reflect.Type // a pointer to a struct
	where    string       // of the call of Register
	newActor func(id string) any
	codec    Codec    // of the state
	retry    *Backoff // RetryErrors
	rt       runtime.Type
	cells    []cellSpec
	keys     map[string]keyOwner // of flat cells

	orphans sync.Map // state keys without a cell, reported already
}

func (t *actorType) goName() string {
	if t.goType.Kind() == reflect.Pointer {
		return typeLabel(t.goType.Elem())
	}
	return typeLabel(t.goType)
}

// instance makes an actor in memory; the actor itself is made by Load.
func (t *actorType) instance(id string) runtime.Instance { return &instance{t: t, id: id} }

func (t *actorType) actor(id string) engine.Actor { return engine.Actor{Type: t.rt.Name, ID: id} }

// orphan reports, once, a recorded key that no cell has. It is kept.
func (t *actorType) orphan(key, id string) {
	if _, known := t.orphans.LoadOrStore(key, true); !known {
		t.app.cfg.Logger.Warn("recorded state has a key without a cell: it is kept; "+
			"a renamed cell is tagged `pawl:\"new,was=old\"`", "type", t.rt.Name, "key", key, "first_seen_at", id)
	}
}

// result turns what a method returned into how its attempt ended.
func (t *actorType) result(inv *runtime.Invocation, err error) runtime.Result {
	if f := foreignTail(err); f != nil {
		return runtime.Result{Failure: f}
	}
	if !inv.ReadOnly() {
		if r := t.retryOf(inv, err); r != nil {
			return runtime.Result{Retry: r}
		}
	}
	return runtime.Result{Failure: failureOf(err)}
}

// retryOf decides about another attempt.
func (t *actorType) retryOf(inv *runtime.Invocation, err error) *runtime.Retry {
	switch v, after := judge(err, maxCauses); {
	case v == again:
		return &runtime.Retry{Cause: err, After: after}
	case v == undecided && t.retry != nil && (t.retry.Attempts == 0 || inv.Attempt() < t.retry.Attempts):
		return &runtime.Retry{Cause: err, After: t.retry.wait(inv.Attempt())}
	}
	return nil
}

// method is a callable method: what runtime.Method.Host holds.
type method struct {
	name          string
	recv, in, out reflect.Type
	thunk         atomic.Pointer[thunk]
	typed         atomic.Bool // thunk was looked at by a typed call
}

// thunk decodes the argument, runs the method and encodes its result.
type thunk func(i *instance, inv *runtime.Invocation, payload []byte) runtime.Result

// typedMethod is a method expression.
type typedMethod[A, In, Out any] func(A, context.Context, In) (Out, error)

// thunk runs the method without reflection.
func (m typedMethod[A, In, Out]) thunk() thunk {
	return func(i *instance, inv *runtime.Invocation, payload []byte) runtime.Result {
		var in In
		if err := decode(i.t.app.cfg.Codec, payload, &in); err != nil {
			return i.fail(badPayload("decode", "argument", in, err))
		}
		out, err := m(i.actor.(A), inv, in) // adopt has compared the types
		if t := i.tailOf(inv); t != nil {
			return t.end(err)
		}
		if err != nil {
			return i.t.result(inv, err)
		}
		return i.value(out)
	}
}

// reflectThunk runs a method that nobody in this process has called yet.
func reflectThunk(m reflect.Value, in reflect.Type) thunk {
	return func(i *instance, inv *runtime.Invocation, payload []byte) runtime.Result {
		arg := reflect.New(in)
		if err := decode(i.t.app.cfg.Codec, payload, arg.Interface()); err != nil {
			return i.fail(badPayload("decode", "argument", arg.Elem().Interface(), err))
		}
		res := m.Call([]reflect.Value{reflect.ValueOf(i.actor), reflect.ValueOf(inv), arg.Elem()})
		err, _ := reflect.TypeAssert[error](res[1])
		if t := i.tailOf(inv); t != nil {
			return t.end(err)
		}
		if err != nil {
			return i.t.result(inv, err)
		}
		return i.value(res[0].Interface())
	}
}

// value is the result of a method that returned one.
func (i *instance) value(out any) runtime.Result {
	b, err := encode(i.t.app.cfg.Codec, out)
	if err != nil {
		return i.fail(badPayload("encode", "result", out, err))
	}
	if err := checkSize(aResult, len(b), i.t.app.cfg.Limits.Payload); err != nil {
		return i.fail(err)
	}
	return runtime.Result{Value: b}
}

// fail is the result of a method that could not be run or answered.
func (i *instance) fail(err error) runtime.Result {
	return runtime.Result{Failure: failureOf(err)}
}

// recovered turns the panic of a cell, for which a method's code had no error to
// return, into a failure.
func recovered(v any) (runtime.Result, bool) {
	e, ok := v.(*Error)
	if ok && (e.Code == ErrReadOnly || e.Code == ErrBadState) {
		return runtime.Result{Failure: failureOf(e)}, true
	}
	return runtime.Result{}, false
}

// badState says that recorded state does not decode.
func (i *instance) badState(s *cellSpec, size int, err error) *Error {
	return &Error{
		Code: ErrBadState, Actor: i.t.actor(i.id).String(),
		Err: fmt.Errorf("decode %d bytes of %v: %w", size, s, err),
	}
}
