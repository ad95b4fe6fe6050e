package pawl

import (
	"reflect"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/internal/probe"
	"github.com/pawl-go/pawl/internal/runtime"
)

func init() {
	probe.MethodName = func(m any) (string, error) {
		f := reflect.ValueOf(m)
		if f.Kind() != reflect.Func || f.IsNil() || f.Type().NumIn() == 0 {
			return "", nilMethod.err
		}
		ref := learnMethod(f.Pointer(), f.Type().In(0))
		if ref.err != nil {
			return "", ref.err
		}
		return ref.name, nil
	}
	probe.TypeName = func(m any) string {
		recv := reflect.TypeOf(m).In(0)
		if recv.Kind() == reflect.Interface {
			return ""
		}
		return typeName(recv)
	}
	probe.FailureOf = failureOf
}

// probeOf asks an engine whether it wants to be told what methods do.
func probeOf(eng engine.Engine) probe.Probe {
	if s, ok := eng.(probe.Source); ok {
		return s.Probe()
	}
	return nil
}

// observe tells the probe that a method begins, and then that it has ended.
func (i *instance) observe(inv *runtime.Invocation) (ended func()) {
	outer := i.running
	i.running = inv
	i.t.app.probe.Begins(inv, i.actor)
	return func() {
		i.reportTouched()
		i.t.app.probe.Ended(inv, i.actor)
		i.running = outer
	}
}

// reportTouched tells the probe of the decoded values that the running method
// has changed in place. It comes before they are forgotten.
func (i *instance) reportTouched() {
	if i.running == nil {
		return
	}
	for n := range i.t.cells {
		if i.at(n).touched() {
			i.t.app.probe.Touched(i.running, i.t.cells[n].path)
		}
	}
}

// Made implements probe.Tail.
func (t *tailCall) Made() (to engine.Actor, method string, argument func(any) error) {
	app, _ := t.inv.Component().Host().(*App)
	return t.call.To, t.call.Method, func(v any) error { return decode(app.cfg.Codec, t.call.Payload, v) }
}
