package pawl

import (
	"maps"
	"reflect"
	"sync"
	"time"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/internal/runtime"
)

// home is what a method expression knows of the type that it last called, so
// that the next call looks nothing up.
type home struct {
	app      *App
	kind     string
	method   *runtime.Method // nil: the type is not hosted here, or has no such method
	readOnly bool
	until    time.Time // of what others say; zero: for good
}

// home finds how a method of a type is to be called: at this component, whose
// types never change, or by what the members say, which is asked again after
// memberMemory.
func (a *App) home(ref *methodRef, kind string, comp *runtime.Component) *home {
	if h := ref.home.Load(); h != nil && h.app == a && h.kind == kind && h.fresh() {
		return h
	}
	h := a.findHome(kind, ref.name, comp)
	ref.home.Store(h)
	return h
}

func (h *home) fresh() bool { return h.until.IsZero() || time.Now().Before(h.until) }

func (a *App) findHome(kind, method string, comp *runtime.Component) *home {
	h := &home{app: a, kind: kind}
	if t := comp.Hosts(kind); t != nil && t.Methods[method] != nil {
		h.method = t.Methods[method]
		h.readOnly = h.method.ReadOnly
		return h
	}
	h.readOnly, h.until = a.kinds.readOnly(comp, kind, method)
	return h
}

// memberMemory is for how long the answer of the members is believed. A method
// that has become read-only meanwhile answers with an error that says so.
const memberMemory = time.Second

// memberKinds remembers which methods are read-only at some member.
type memberKinds struct {
	sync.Mutex
	until   time.Time
	readers map[[2]string]bool // type and method
}

func (m *memberKinds) readOnly(comp *runtime.Component, kind, method string) (bool, time.Time) {
	m.Lock()
	defer m.Unlock()
	if now := time.Now(); !now.Before(m.until) {
		m.until = now.Add(memberMemory)
		m.learn(comp.Session().Members())
	}
	return m.readers[[2]string{kind, method}], m.until
}

// learn takes over what the members say of the types that they host. What is known of
// one that nobody hosts just now stays: after a restart of the engine's server its
// members come back one by one.
func (m *memberKinds) learn(members []engine.Member) {
	if m.readers == nil {
		m.readers = map[[2]string]bool{}
	}
	said := map[string]bool{}
	for _, member := range members {
		for _, t := range member.Types {
			if !said[t.Name] {
				said[t.Name] = true
				maps.DeleteFunc(m.readers, func(r [2]string, _ bool) bool { return r[0] == t.Name })
			}
			for _, method := range t.Methods {
				if method.ReadOnly {
					m.readers[[2]string{t.Name, method.Name}] = true
				}
			}
		}
	}
}

// adopt puts a typed thunk in the place of the reflective one, if the method is
// hosted here and has exactly these types.
func adopt[A, In, Out any](h *home, m typedMethod[A, In, Out]) {
	if h.method == nil {
		return
	}
	host, ok := h.method.Host.(*method)
	if !ok || host.typed.Load() {
		return
	}
	fits := host.in == reflect.TypeFor[In]() && host.out == reflect.TypeFor[Out]() &&
		host.recv.AssignableTo(reflect.TypeFor[A]())
	if fits {
		t := m.thunk()
		host.thunk.Store(&t)
	}
	host.typed.Store(true) // looked at, once
}
