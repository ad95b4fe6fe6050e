package pawl

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/pawl-go/pawl/internal/runtime"
	"github.com/pawl-go/pawl/internal/topics"
)

// TypeOption is an option of Register and RegisterFunc.
type TypeOption interface {
	typeOption(*registration)
}

type typeFunc func(*registration)

func (f typeFunc) typeOption(r *registration) { f(r) }

// Register makes the app a host of actors of the Go type T, made as zero values:
// Register[Account](app). Its callable methods are those of *T with the shape
//
//	func (a *T) M(ctx context.Context, in In) (Out, error)
//
// with None for what is not there. Its durable cells are the fields of type
// [Value] and [Map], also in structs within, by value; a tag `pawl:"name,was=old"`
// names them. Activate(ctx) error runs when an instance is made and its cells are
// loaded, as part of the first invocation; Deactivate() or Deactivate(ctx) before
// it is dropped. ActorType() string names the type; it must not depend on its
// receiver. Other fields are memory only, gone after a failure or when the actor
// is idle.
//
// Mistakes are kept for Start, which returns all of them. Register is not for
// concurrent use, and panics after Start.
func Register[T any, P interface{ *T }](app *App, opts ...TypeOption) {
	app.reg.add(app, reflect.TypeFor[P](), func(string) any { return P(new(T)) }, opts)
}

// RegisterFunc is [Register] for actors that need more than a zero value, such
// as clients of the outside world: newActor makes one each time it is called, and
// P is a pointer to a struct.
func RegisterFunc[P any](app *App, newActor func(id string) P, opts ...TypeOption) {
	app.reg.add(app, reflect.TypeFor[P](), func(id string) any { return newActor(id) }, opts)
}

// IdleAfter drops an instance from memory when it has been idle for d. Default
// 5 min.
func IdleAfter(d time.Duration) TypeOption {
	return typeFunc(func(r *registration) {
		if d <= 0 {
			r.mistake("IdleAfter: %v is not positive", d)
		}
		r.t.rt.IdleAfter = d
	})
}

// MaxLive bounds the instances that stay in memory while idle. Default 0: no
// limit.
func MaxLive(n int) TypeOption {
	return typeFunc(func(r *registration) {
		if n < 0 {
			r.mistake("MaxLive: %d is negative", n)
		}
		r.t.rt.MaxLive = n
	})
}

// MaxAttempts parks an invocation after n of its attempts have ended by the
// abrupt death of their process. Default 16.
func MaxAttempts(n int) TypeOption {
	return typeFunc(func(r *registration) {
		if n <= 0 {
			r.mistake("MaxAttempts: %d is not positive", n)
		}
		r.t.rt.MaxAttempts = n
	})
}

// RetryErrors makes the type run a method again after any error but a final one:
// one marked by [Final], or one of ours that no attempt would change. Off by
// default.
func RetryErrors(b Backoff) TypeOption {
	return typeFunc(func(r *registration) {
		b = b.withDefaults()
		r.t.retry = &b
	})
}

// PassWhileRetrying moves an invocation that waits for another attempt to the end
// of the flow, so that it does not hold up its actor; never a step entered by a
// tail call to itself. By default it keeps the lock.
func PassWhileRetrying() TypeOption {
	return typeFunc(func(r *registration) { r.t.rt.PassWhileRetrying = true })
}

// Strict makes every begin and every return of the type's methods wait for the
// commit of all that they can see, nested calls in the same process and the
// outcome before them on their actor included: for methods whose direct actions
// on the outside must never run ahead of the record.
func Strict() TypeOption {
	return typeFunc(func(r *registration) { r.t.rt.Strict = true })
}

// WithCodec sets how the type's state is encoded. Arguments and results stay
// those of Config.Codec, on which callers elsewhere rely.
func WithCodec(c Codec) TypeOption {
	return typeFunc(func(r *registration) {
		if c == nil {
			r.mistake("WithCodec: the codec is nil")
			return
		}
		r.t.codec = c
	})
}

// Formerly lets a method be called by a name that it had before: by requests and
// reminders recorded then, and by callers not yet deployed.
func Formerly[A, In, Out any](old string, m func(A, context.Context, In) (Out, error)) TypeOption {
	return typeFunc(func(r *registration) {
		named, ok := namedMethod(r, "Formerly", m)
		switch {
		case !ok:
		case old == "" || len(old) > maxName:
			r.mistake("Formerly(%q): a name has 1 to %d bytes", old, maxName)
		case r.t.rt.Methods[old] != nil:
			r.mistake("Formerly(%q): the type has a method of this name", old)
		default:
			r.t.rt.Methods[old] = named
		}
	})
}

// ReadOnly lets a method run at once, on a fresh copy bound to the recorded
// state, whoever holds the actor's lock; it can write and send nothing
// (ErrReadOnly), is called with [Call] only, and may run at any time and any
// number of times. The hook Activate does not run for it.
func ReadOnly[A, In, Out any](m func(A, context.Context, In) (Out, error)) TypeOption {
	return typeFunc(func(r *registration) {
		if named, ok := namedMethod(r, "ReadOnly", m); ok {
			named.ReadOnly = true
		}
	})
}

// namedMethod finds the method of the type that an option names.
func namedMethod[A, In, Out any](r *registration, option string, m func(A, context.Context, In) (Out, error)) (*runtime.Method, bool) {
	a := reflect.TypeFor[A]()
	ref := methodOf(m)
	if ref.err != nil {
		r.errs = append(r.errs, at(r.where, fmt.Errorf("%s: %s: %w", r.t.goName(), option, ref.err.Err)))
		return nil, false
	}
	if a != r.t.goType && (a.Kind() != reflect.Interface || !r.t.goType.Implements(a)) {
		r.mistake("%s names %v.%s, a method of another type", option, a, ref.name)
		return nil, false
	}
	named := r.t.rt.Methods[ref.name]
	if named == nil {
		r.mistake("%s names %s, which is not callable", option, ref.name)
	}
	return named, named != nil
}

// registry keeps an app's types and the mistakes in them until Start.
type registry struct {
	list   []*actorType
	errs   []error
	closed bool
	byName map[string]*actorType
	byType map[reflect.Type]*actorType
}

// registration is one type being registered.
type registration struct {
	t     *actorType
	where string // of the call of Register
	errs  []error

	payloads []payloadType
}

// mistake notes a mistake at the place of Register.
func (r *registration) mistake(format string, args ...any) {
	r.mistakeAt(r.where, format, args...)
}

// mistakeAt notes a mistake at a place, or at that of Register if it has none.
func (r *registration) mistakeAt(place, format string, args ...any) {
	if place == "" {
		place = r.where
	}
	r.errs = append(r.errs, at(place, fmt.Errorf("%s: %w", r.t.goName(), fmt.Errorf(format, args...))))
}

func (g *registry) add(app *App, p reflect.Type, newActor func(string) any, opts []TypeOption) {
	if g.closed {
		panic(misuse(ErrNoApp, fmt.Errorf("register %v: the app has started", p)))
	}
	r := &registration{t: &actorType{app: app, goType: p, newActor: newActor, codec: app.cfg.Codec}, where: callerPlace()}
	r.t.where = r.where
	if p.Kind() != reflect.Pointer || p.Elem().Kind() != reflect.Struct {
		r.mistake("an actor is a pointer to a struct")
		g.errs = append(g.errs, r.errs...)
		return
	}
	r.t.rt.Name = typeName(p)
	r.t.rt.Identity = identity(p)
	r.t.rt.Methods = map[string]*runtime.Method{}
	r.t.rt.New = r.t.instance
	g.claim(r)
	r.scanMethods()
	for _, o := range opts {
		o.typeOption(r)
	}
	r.checkPayloads(app.cfg.Codec)
	r.scanCells()
	g.list = append(g.list, r.t)
	g.errs = append(g.errs, r.errs...)
}

// claim refuses a type registered twice, and two types of one name.
func (g *registry) claim(r *registration) {
	t := r.t
	if g.byName == nil {
		g.byName, g.byType = map[string]*actorType{}, map[reflect.Type]*actorType{}
	}
	if t.rt.Name == "" || len(t.rt.Name) > maxName {
		r.mistake("the type's name %q has %d bytes: it has 1 to %d; name it with ActorType() string", t.rt.Name, len(t.rt.Name), maxName)
	}
	if topics.IsReserved(t.rt.Name) {
		r.mistake("the name %q begins with %q, which is reserved: name the type with ActorType() string", t.rt.Name, topics.Reserved)
	}
	if other := g.byType[t.goType]; other != nil {
		r.mistake("registered before, at %s", other.where)
		return
	}
	g.byType[t.goType] = t
	if other := g.byName[t.rt.Name]; other != nil {
		r.mistake("the name %q is that of %s, registered at %s", t.rt.Name, other.goName(), other.where)
		return
	}
	g.byName[t.rt.Name] = t
}

// types gives the registered types for the runtime, or every mistake in them.
func (g *registry) types() ([]*runtime.Type, error) {
	if len(g.errs) > 0 {
		return nil, errors.Join(g.errs...)
	}
	types := make([]*runtime.Type, len(g.list))
	for i, t := range g.list {
		types[i] = &t.rt
	}
	return types, nil
}

// identity names a Go type across programs.
func identity(p reflect.Type) string {
	if p.Kind() == reflect.Pointer {
		p = p.Elem()
	}
	return p.PkgPath() + "." + p.Name()
}
