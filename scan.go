package pawl

import (
	"context"
	"reflect"

	"github.com/pawl-go/pawl/internal/runtime"
)

var (
	contextType = reflect.TypeFor[context.Context]()
	errorType   = reflect.TypeFor[error]()
)

// hooks are methods that the runtime calls itself, by their names.
var hooks = map[string][]reflect.Type{
	"Activate":   {reflect.TypeFor[func(context.Context) error]()},
	"Deactivate": {reflect.TypeFor[func()](), reflect.TypeFor[func(context.Context)]()},
}

// scanMethods finds the callable methods and the hooks, and notes those that
// look like one and are none.
func (r *registration) scanMethods() {
	t := r.t.goType
	for m := range t.Methods() {
		f := m.Func.Type()
		place := funcPlace(m.Func.Pointer())
		shapes, isHook := hooks[m.Name]
		switch {
		case isHook:
			if !fitsHook(f, shapes) {
				r.mistakeAt(place, "the hook %s has the wrong shape: want %v", m.Name, shapes[0])
			}
		case f.NumIn() < 2 || f.In(1) != contextType:
			// A method for the application's own use.
		case !callable(f):
			r.mistakeAt(place, "method %s has the wrong shape: want func(ctx context.Context, in In) (Out, error), "+
				"with pawl.None for what is not there; a method for other uses does not begin with a context", m.Name)
		case len(m.Name) > maxName:
			r.mistakeAt(place, "method name %q has %d bytes, limit %d", m.Name, len(m.Name), maxName)
		default:
			r.addMethod(m, place)
		}
	}
	if len(r.t.rt.Methods) == 0 && len(r.errs) == 0 {
		r.mistake("the type has no callable method: func(ctx context.Context, in In) (Out, error)")
	}
}

func (r *registration) addMethod(m reflect.Method, place string) {
	f := m.Func.Type()
	host := &method{name: m.Name, recv: f.In(0), in: f.In(2), out: f.Out(0)}
	fallback := reflectThunk(m.Func, host.in)
	host.thunk.Store(&fallback)
	r.t.rt.Methods[m.Name] = &runtime.Method{Name: m.Name, Host: host}
	r.payloads = append(r.payloads,
		payloadType{place, "argument of " + m.Name, host.in},
		payloadType{place, "result of " + m.Name, host.out})
}

// payloadType is a type that travels, to be checked once the codec is known.
type payloadType struct {
	place, what string
	typ         reflect.Type
}

// callable reports the shape func(recv, ctx, In) (Out, error).
func callable(f reflect.Type) bool {
	return f.NumIn() == 3 && !f.IsVariadic() && f.NumOut() == 2 && f.Out(1) == errorType
}

// fitsHook compares a method, receiver first, with the shapes of a hook.
func fitsHook(f reflect.Type, shapes []reflect.Type) bool {
	for _, want := range shapes {
		if f.NumIn() != want.NumIn()+1 || f.NumOut() != want.NumOut() {
			continue
		}
		fits := true
		for i := range want.NumIn() {
			fits = fits && f.In(i+1) == want.In(i)
		}
		for i := range want.NumOut() {
			fits = fits && f.Out(i) == want.Out(i)
		}
		if fits {
			return true
		}
	}
	return false
}

// checkPayloads notes what JSON would lose of arguments and results.
func (r *registration) checkPayloads(c Codec) {
	if _, ok := c.(jsonCodec); !ok {
		return // another codec knows for itself
	}
	for _, p := range r.payloads {
		for _, m := range jsonMistakes(p.typ) {
			r.mistakeAt(p.place, "%s: %w", p.what, m)
		}
	}
}
