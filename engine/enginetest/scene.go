package enginetest

import (
	"context"
	"maps"
	"time"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/internal/runtime"
)

// instance is a scripted actor in memory: flat cells of text.
type instance struct {
	n        *Node
	id       engine.Actor
	recorded map[string]string
	dirty    map[string]string
	order    []string
}

func newInstance(n *Node, id engine.Actor) *instance {
	return &instance{n: n, id: id, recorded: map[string]string{}, dirty: map[string]string{}}
}

func (i *instance) Load(cells []engine.Cell) error {
	for _, c := range cells {
		i.recorded[c.Cell] = string(c.Value)
	}
	return nil
}

func (i *instance) Activate(*runtime.Invocation) error { return nil }
func (i *instance) Settle()                            {}
func (i *instance) Deactivate()                        { i.n.w.say(i.n, "deactivated %s", i.id) }

func (i *instance) Invoke(inv *runtime.Invocation, m *runtime.Method, arg []byte) runtime.Result {
	s := &Scene{World: i.n.w, inv: inv, inst: i, arg: string(arg), Node: i.n}
	return i.n.w.scripts[i.id.Type+"."+m.Name](s)
}

func (i *instance) Writes(dst []engine.Write) ([]engine.Write, error) {
	for _, k := range i.order {
		dst = append(dst, engine.Write{Key: engine.Key{Cell: k}, Value: []byte(i.dirty[k])})
	}
	return dst, nil
}

func (i *instance) Recorded() {
	maps.Copy(i.recorded, i.dirty)
	i.Discard()
}

func (i *instance) Discard() {
	i.dirty, i.order = map[string]string{}, nil
}

// Scene is what a script acts on: one attempt of one step.
type Scene struct {
	*World
	Node *Node
	inv  *runtime.Invocation
	inst *instance
	arg  string
}

// Say records an event, unless the process of the script has died.
func (s *Scene) Say(format string, args ...any) { s.say(s.Node, format, args...) }

// Get reads a cell: the recorded one, or the attempt's own write.
func (s *Scene) Get(k string) string {
	if v, ok := s.inst.dirty[k]; ok {
		return v
	}
	return s.inst.recorded[k]
}

// Set writes a cell.
func (s *Scene) Set(k, v string) {
	if _, ok := s.inst.dirty[k]; !ok {
		s.inst.order = append(s.inst.order, k)
	}
	s.inst.dirty[k] = v
}

// Pass says "at NAME" and stops until the gate is opened or the component has
// ended, in which case ok is false.
func (s *Scene) Pass(name string) (ok bool) {
	s.Say("at %s", name)
	s.mu.Lock()
	gate := s.gate(name)
	s.mu.Unlock()
	select {
	case <-gate:
		return true
	case <-s.inv.Done():
		return false
	}
}

// Call makes a nested call: the outcome as Wait gives it, "?" and the code if
// there is none.
func (s *Scene) Call(to, method, arg string) string {
	return s.call(parse(to, method, arg))
}

// CallOnce makes a nested call once.
func (s *Scene) CallOnce(name, to, method, arg string) string {
	c := parse(to, method, arg)
	c.Once = name
	return s.call(c)
}

func (s *Scene) call(c runtime.Call) string {
	o, err := s.inv.Call(s.inv, c)
	if err != nil {
		return "?" + string(engine.CodeOf(err))
	}
	return text(o)
}

// Fork makes a nested call beside the method.
func (s *Scene) Fork(to, method, arg string) func() string {
	p, err := s.inv.Go(s.inv, parse(to, method, arg))
	return func() string {
		if err != nil {
			return "?" + string(engine.CodeOf(err))
		}
		o, err := p.Wait(s.inv)
		if err != nil {
			return "?" + string(engine.CodeOf(err))
		}
		return text(o)
	}
}

// Tell tells from the method.
func (s *Scene) Tell(to, method, arg string, change ...func(*runtime.Call)) {
	c := parse(to, method, arg)
	for _, f := range change {
		f(&c)
	}
	if _, err := s.inv.Tell(s.inv, c); err != nil {
		s.Say("tell failed: %v", err)
	}
}

// Sync records what was written so far.
func (s *Scene) Sync() {
	if err := s.inv.Sync(context.Background()); err != nil {
		s.Say("sync failed: %v", err)
	}
}

func value(v string) runtime.Result { return runtime.Result{Value: []byte(v)} }

func failure(message string) runtime.Result {
	return runtime.Result{Failure: &engine.Failure{Message: message}}
}

func retry(after time.Duration) runtime.Result {
	return runtime.Result{Retry: &runtime.Retry{After: after}}
}

func tail(to, method, arg string) runtime.Result {
	c := parse(to, method, arg)
	return runtime.Result{Tail: &runtime.Tail{To: c.To, Method: c.Method, Payload: c.Payload}}
}

func release(r runtime.Result) runtime.Result {
	r.Tail.Release = true
	return r
}

// Inv is the running attempt.
func (s *Scene) Inv() *runtime.Invocation { return s.inv }

// Arg is the argument of the method.
func (s *Scene) Arg() string { return s.arg }

// The results by which scripts end.
var (
	// Value ends with a value.
	Value = value
	// Failed ends with an application error.
	Failed = failure
	// Retry asks for another attempt after a while.
	Retry = retry
	// Tail ends with a tail call: "Type/id", the method, its argument.
	Tail = tail
)

// Call makes a request of "Type/id", a method and its argument.
func Call(to, method, arg string) runtime.Call { return parse(to, method, arg) }
