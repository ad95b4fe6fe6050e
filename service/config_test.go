package service

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/pawl-go/pawl/queue"
)

func TestWrongConfig(t *testing.T) {
	for want, change := range map[string]func(d *desk){
		`Name "" must be`:                   func(d *desk) { d.cfg.Name = "" },
		`Name "a/b" must be`:                func(d *desk) { d.cfg.Name = "a/b" },
		"Inputs must have":                  func(d *desk) { d.cfg.Inputs = nil },
		"Inputs[0] has no ID":               func(d *desk) { d.cfg.Inputs[0].ID = 0 },
		"Inputs[1] has no Queue":            func(d *desk) { d.cfg.Inputs = append(d.cfg.Inputs, Input{ID: 2}) },
		"Inputs[1] has ID 1":                func(d *desk) { d.cfg.Inputs = append(d.cfg.Inputs, Input{ID: 1, Queue: d.queue("x")}) },
		"Inputs[1] is a queue":              func(d *desk) { d.cfg.Inputs = append(d.cfg.Inputs, Input{ID: 2, Queue: d.queue("in")}) },
		"Inputs[0] is a queue":              func(d *desk) { d.cfg.Output.Queue = d.queue("in") },
		"DeadLetters must not be":           func(d *desk) { d.cfg.DeadLetters.Queue = d.queue("out") },
		"Start start 7 is not known":        func(d *desk) { d.cfg.Start = 7 },
		"Start is last-written":             func(d *desk) { d.cfg.Output = Output{} },
		"Start is named, which":             func(d *desk) { d.cfg.Start = Named },
		"Start is named with several":       func(d *desk) { d.cfg.Start, d.cfg.Output = Named, Output{}; two(d) },
		"Output has an Append":              func(d *desk) { d.cfg.Start = FromEnd; d.cfg.Output = Output{Append: noAppend} },
		"HoldBack would keep":               func(d *desk) { d.cfg.HoldBack = true },
		"HoldBack with start named":         func(d *desk) { d.cfg.HoldBack, d.cfg.Start, d.cfg.Output = true, Named, Output{} },
		"HoldBack needs an Output":          func(d *desk) { d.cfg.HoldBack, d.cfg.Start, d.cfg.Output = true, FromEnd, Output{} },
		"Snapshots must not have":           func(d *desk) { d.cfg.Snapshots.Keep = -1 },
		"Snapshots are of a state":          func(d *desk) { d.cfg.Snapshots.Dir, d.cfg.Stateless = "x", true },
		"Snapshots need a handler with":     func(d *desk) { d.cfg.Snapshots.Dir = "x" },
		"handler is nil: make one with Han": nil,
	} {
		d := newDesk(t)
		var h *Handler
		if change != nil {
			change(d)
			var err error
			if h, err = Handle(pass{}); err != nil {
				t.Fatal(err)
			}
		}
		_, err := New(d.cfg, h)
		if _, ok := errors.AsType[*ConfigError](err); !ok || !strings.HasPrefix(err.Error(), "service: "+want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func two(d *desk) { d.cfg.Inputs = append(d.cfg.Inputs, Input{ID: 2, Queue: d.queue("in2")}) }

func noAppend(context.Context, ...[]byte) (queue.Index, error) { return 0, nil }

type (
	right    struct{}
	results  struct{}
	args     struct{}
	twice    struct{}
	nothing  struct{}
	unnamed  struct{}
	variadic struct{}
	iface    struct{}
	opaques  struct{}
	renamed  struct{ N int }
)

func (renamed) MessageType() string           { return "Num" }
func (right) Take(*Context, *renamed) error   { return nil }
func (right) Text(*Context, text) error       { return nil }
func (right) Helper(int) int                  { return 0 }
func (results) Take(*Context, Num)            {}
func (args) Take(*Context, Num, int) error    { return nil }
func (twice) Take(*Context, Num) error        { return nil }
func (twice) Too(*Context, renamed) error     { return nil }
func (unnamed) Take(*Context, struct{}) error { return nil }
func (variadic) Take(*Context, ...Num) error  { return nil }
func (iface) Take(*Context, any) error        { return nil }
func (opaques) Take(*Context, Opaque) error   { return nil }
func (opaques) Too(*Context, Opaque) error    { return nil }
func (*nothing) Take(*Context, Num) error     { return nil }

type text string

func TestHandle(t *testing.T) {
	h, err := Handle(right{})
	if err != nil || strings.Join(h.Types(), " ") != "Num text" {
		t.Fatal(h.Types(), err)
	}
	for want, v := range map[string]any{
		"Handle needs a value": nil,
		"service.results.Take takes a *Context, so it must be of the f": results{},
		"service.args.Take takes a *Context":                            args{},
		`service.twice.Too takes type "Num", which method Take takes`:   twice{},
		"service.unnamed.Take type struct {} has no name":               unnamed{},
		"service.variadic.Take takes a *Context":                        variadic{},
		"service.iface.Take a interface {} is no message":               iface{},
		"service.opaques.Too is the second method":                      opaques{},
		"service.nothing has no method of the form":                     nothing{},
	} {
		_, err := Handle(v)
		if _, ok := errors.AsType[*ConfigError](err); !ok || !strings.HasPrefix(err.Error(), "service: "+want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func TestJSONIsStrict(t *testing.T) {
	for _, p := range []string{`{"M":1}`, `{"N":1} {"N":2}`, `{"N":1}x`, `{"N":"1"}`, ``} {
		var n Num
		if err := JSON.Decode([]byte(p), &n); err == nil {
			t.Errorf("%q decodes", p)
		}
	}
	var n Num
	if err := JSON.Decode([]byte(" {\"N\":1}\n"), &n); err != nil || n.N != 1 {
		t.Error(n, err)
	}
}
