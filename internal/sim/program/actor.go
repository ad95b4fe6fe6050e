package program

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/internal/runtime"
	"github.com/pawl-go/pawl/internal/sim"
)

// The state of an actor:
//
//	log     a line for each step that counts: a stamp, as JSON
//	count   how many lines the log has
//	early   a line for each early write: key and attempt
//	marks   a map: the key of each step that counts
const (
	cellLog   = "log"
	cellCount = "count"
	cellEarly = "early"
	cellMarks = "marks"
)

// stamp is what a step that counts has written of itself.
type stamp struct {
	Key     string   `json:"key"` // of the step: id/step
	Script  int      `json:"script"`
	Attempt int      `json:"attempt"`
	Cause   string   `json:"cause,omitempty"` // of a firing: the key of the step that set the reminder
	Early   int      `json:"early,omitempty"` // early writes of this attempt
	Told    []told   `json:"told,omitempty"`
	Calls   []called `json:"calls,omitempty"`
	Set     []int    `json:"set,omitempty"` // scripts that reminders are to run
}

type told struct {
	ID     string `json:"id"`
	Script int    `json:"script"`
}

// called is a nested call and how it ended. Value is the key of the step that
// answered.
type called struct {
	Script int    `json:"script"`
	Value  string `json:"value,omitempty"`
	Failed string `json:"failed,omitempty"`
}

func stepKey(id engine.ID, step uint32) string { return fmt.Sprintf("%v/%d", id, step) }

// payload is what a method of a program is called with.
func payload(script int, cause string) []byte { return fmt.Appendf(nil, "%d %s", script, cause) }

func parsePayload(b []byte) (script int, cause string, err error) {
	number, cause, _ := strings.Cut(string(b), " ")
	script, err = strconv.Atoi(number)
	return script, cause, err
}

// instance is an actor in memory: flat cells of text, and marks.
type instance struct {
	c        *component
	id       engine.Actor
	recorded map[string]string
	dirty    map[string]string
	marks    []string // new ones
}

func newInstance(c *component, id engine.Actor) *instance {
	return &instance{c: c, id: id, recorded: map[string]string{}, dirty: map[string]string{}}
}

// Load implements runtime.Instance, as the methods that follow.
func (i *instance) Load(cells []engine.Cell) error {
	for _, c := range cells {
		i.recorded[c.Cell] = string(c.Value)
	}
	return nil
}

func (i *instance) Activate(*runtime.Invocation) error { return nil }
func (i *instance) Settle()                            {}
func (i *instance) Deactivate()                        {}

func (i *instance) Writes(dst []engine.Write) ([]engine.Write, error) {
	for _, k := range slices.Sorted(maps.Keys(i.dirty)) {
		dst = append(dst, engine.Write{Key: engine.Key{Cell: k}, Value: []byte(i.dirty[k])})
	}
	for _, m := range i.marks {
		dst = append(dst, engine.Write{Key: engine.Key{Cell: cellMarks, Entry: m, InMap: true}, Value: []byte("1")})
	}
	return dst, nil
}

func (i *instance) Recorded() {
	maps.Copy(i.recorded, i.dirty)
	i.Discard()
}

func (i *instance) Discard() {
	clear(i.dirty)
	i.marks = nil
}

func (i *instance) get(cell string) string {
	if v, ok := i.dirty[cell]; ok {
		return v
	}
	return i.recorded[cell]
}

func (i *instance) add(cell, line string) { i.dirty[cell] = i.get(cell) + line + "\n" }

// Invoke implements runtime.Instance: it runs the script that the payload names.
func (i *instance) Invoke(inv *runtime.Invocation, _ *runtime.Method, arg []byte) runtime.Result {
	n, cause, err := parsePayload(arg)
	if err != nil {
		return failed(fmt.Sprintf("read payload %q: %v", arg, err))
	}
	w := i.c.life.w
	r := &run{inv: inv, inst: i, w: w, script: &w.p.Scripts[n], stamp: stamp{
		Key: stepKey(inv.ID(), inv.Step()), Script: n, Attempt: inv.Attempt(), Cause: cause,
	}}
	w.begins(r)
	defer w.over(r)
	return r.do()
}

// run is one attempt of one step.
type run struct {
	w      *world
	inv    *runtime.Invocation
	inst   *instance
	script *Script
	stamp  stamp
	out    []beside
}

// beside is a call that runs beside the method.
type beside struct {
	*runtime.Pending
	script int
}

func failed(message string) runtime.Result {
	return runtime.Result{Failure: &engine.Failure{Message: message}}
}

// again is how an attempt ends that cannot go on: its component has failed, or
// the call did not leave.
func again(after time.Duration) runtime.Result {
	return runtime.Result{Retry: &runtime.Retry{After: after, Cause: fmt.Errorf("asked for")}}
}

// do runs the acts and ends. The stamp is the last thing written, and all of
// it is there or nothing.
func (r *run) do() runtime.Result {
	for _, a := range r.script.Acts {
		if res := r.act(a); res != nil {
			return *res
		}
	}
	if r.stamp.Attempt <= r.script.Again {
		return again(r.script.After)
	}
	switch r.script.End {
	case Fail:
		return failed("failed " + r.stamp.Key)
	case Panic:
		panic("panicked " + r.stamp.Key)
	}
	if err := r.sign(); err != nil {
		return failed(err.Error())
	}
	if r.script.tails() {
		return runtime.Result{Tail: &runtime.Tail{
			To: r.w.actorOf(r.script.Next), Method: "run", Payload: payload(r.script.Next, ""),
			Release: r.script.End == Release,
		}}
	}
	return runtime.Result{Value: []byte(r.stamp.Key)}
}

// sign writes the stamp.
func (r *run) sign() error {
	b, err := json.Marshal(&r.stamp)
	if err != nil {
		return err
	}
	i := r.inst
	i.add(cellLog, string(b))
	i.dirty[cellCount] = strconv.Itoa(strings.Count(i.get(cellLog), "\n"))
	i.marks = append(i.marks, r.stamp.Key)
	return nil
}

// act does one act; a result ends the method.
func (r *run) act(a Act) *runtime.Result {
	switch a.Verb {
	case Write:
		r.stamp.Early++
		r.inst.add(cellEarly, fmt.Sprintf("%s#%d", r.stamp.Key, r.stamp.Attempt))
	case Sync:
		return r.wait(func() error { return r.inv.Sync(r.inv) })
	case Call, Once:
		return r.call(a)
	case Go:
		p, err := r.inv.Go(r.inv, r.request(a))
		if err != nil {
			return r.broken(err)
		}
		r.out = append(r.out, beside{p, a.Script})
	case Wait:
		return r.join()
	case Tell, TellNow, TellOutcome:
		c := r.request(a)
		c.Immediately, c.WithOutcome = a.Verb == TellNow, a.Verb == TellOutcome
		id, err := r.inv.Tell(r.inv, c)
		if err != nil {
			return r.broken(err)
		}
		r.stamp.Told = append(r.stamp.Told, told{id.String(), a.Script})
	case Remind:
		err := r.inv.Remind(engine.ReminderChange{Reminder: engine.Reminder{
			Actor: r.inst.id, Name: fmt.Sprintf("%s-%d", r.stamp.Key, a.Script), Method: "run",
			Payload: payload(a.Script, r.stamp.Key), Due: time.Now().Add(a.After),
		}})
		if err != nil {
			return r.broken(err)
		}
		r.stamp.Set = append(r.stamp.Set, a.Script)
	}
	return nil
}

func (r *run) request(a Act) runtime.Call {
	c := runtime.Call{To: r.w.actorOf(a.Script), Method: "run", Payload: payload(a.Script, "")}
	if a.Verb == Once {
		c.Once = fmt.Sprint(a.Script)
	}
	return c
}

// call makes a nested call and waits for it.
func (r *run) call(a Act) *runtime.Result {
	var o *engine.Outcome
	res := r.wait(func() (err error) { o, err = r.inv.Call(r.inv, r.request(a)); return err })
	if res != nil {
		return res
	}
	return r.answered(a.Script, a.Pass, o)
}

// join waits for what was called beside.
func (r *run) join() *runtime.Result {
	out := r.out
	r.out = nil
	for _, b := range out {
		var o *engine.Outcome
		if res := r.wait(func() (err error) { o, err = b.Wait(r.inv); return err }); res != nil {
			return res
		}
		if res := r.answered(b.script, false, o); res != nil {
			return res
		}
	}
	return nil
}

// answered notes how a call has ended.
func (r *run) answered(script int, pass bool, o *engine.Outcome) *runtime.Result {
	c := called{Script: script, Value: string(o.Value)}
	if o.Failure != nil {
		c.Failed = failureText(o.Failure)
		if r.counts() {
			r.w.expectFailure(script, o.Failure, "a nested call")
		}
	}
	r.stamp.Calls = append(r.stamp.Calls, c)
	if pass && o.Failure != nil {
		res := failed("passed on by " + r.stamp.Key + ": " + c.Failed)
		return &res
	}
	return nil
}

func failureText(f *engine.Failure) string {
	if f.Code != "" {
		return f.Code
	}
	return f.Message
}

// wait does what may give the turn up, and stops at a gate behind it.
func (r *run) wait(do func() error) *runtime.Result {
	r.w.leaves(r)
	err := do()
	if stop := r.inst.c.pass(returned, r.inv); stop != nil {
		err = stop
	}
	r.w.enters(r)
	if err != nil {
		return r.broken(err)
	}
	return nil
}

// broken ends an attempt that an error of the runtime has broken off.
func (r *run) broken(err error) *runtime.Result {
	r.w.brokenOff(r, err)
	res := again(-1)
	return &res
}

// returned is the point at which a method has got what it has waited for, and
// the turn.
const returned sim.Kind = "return"

// pass is at a point of a method's own.
func (c *component) pass(k sim.Kind, inv *runtime.Invocation) error {
	return c.life.gates.At(sim.Point{
		Kind: k, Component: c.name, Session: c.Session().Number(), Actor: inv.Self(), Method: inv.Method(),
		Attempt: engine.Attempt{ID: inv.ID(), Step: inv.Step(), N: uint32(inv.Attempt())},
	})
}
