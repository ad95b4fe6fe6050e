package pawl

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/internal/runtime"
)

type write = engine.Write

// instance is an actor in memory. But for tails it belongs to whoever has the
// actor's turn.
type instance struct {
	t         *actorType
	id        string
	actor     any
	tails     sync.Mutex // over Invocation.Host, which stray goroutines reach
	*progress            // nil while nothing runs: an idle actor is small
	version   uint32     // of the recorded state and the overlays, for open iterators
}

// progress is what the methods that run on an instance have touched.
type progress struct {
	dirty   []durable // changed since the last Recorded or Discard
	recs    [][]byte  // what the last Writes made of them
	decoded []durable // hold values that share memory with what code has seen
	loose   *looseState
	err     error // a write that could not be encoded fails the method
	depth   int32 // of Invoke
	// running is the innermost method; kept for a probe only.
	running *runtime.Invocation
}

var progresses = sync.Pool{New: func() any { return &progress{} }}

// begin gives the instance a progress, if it has none.
func (i *instance) begin() {
	if i.progress == nil {
		i.progress = progresses.Get().(*progress)
	}
}

var _ runtime.Instance = (*instance)(nil)

// Load makes the actor and gives its cells the recorded state. Everything is
// decoded here, so that Get cannot fail.
func (i *instance) Load(cells []engine.Cell) (err error) {
	i.begin()
	if i.actor, err = i.make(); err != nil {
		return err
	}
	bound := make([]durable, len(i.t.cells))
	for n := range bound {
		bound[n] = i.at(n)
		if err := bound[n].bind(i, &i.t.cells[n]); err != nil {
			return err
		}
	}
	return i.spread(cells, bound)
}

// at gives a cell of the actor.
func (i *instance) at(n int) durable {
	return i.t.cells[n].in(reflect.ValueOf(i.actor).UnsafePointer())
}

// make runs the application's constructor.
func (i *instance) make() (actor any, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("make actor %v: panic: %v", i.t.actor(i.id), v)
		}
	}()
	actor = i.t.newActor(i.id)
	if reflect.ValueOf(actor).IsNil() {
		return nil, fmt.Errorf("make actor %v: newActor returned nil", i.t.actor(i.id))
	}
	return actor, nil
}

// usedActor is the mistake of a constructor whose actors are not new.
func (i *instance) usedActor() error {
	return fmt.Errorf("make actor %v: newActor returned an actor that it had returned before", i.t.actor(i.id))
}

// spread gives each recorded cell to the one that it belongs to, the present name
// before former ones.
func (i *instance) spread(cells []engine.Cell, bound []durable) error {
	best := make([]int, len(bound)) // 1 + index into cells
	for n, c := range cells {
		owner, ok := i.t.keys[c.Cell]
		if !ok || c.InMap {
			i.t.orphan(c.Cell, i.id)
			continue
		}
		if b := best[owner.cell]; b != 0 {
			loser := n
			if i.t.keys[cells[b-1].Cell].rank > owner.rank {
				best[owner.cell], loser = n+1, b-1
			}
			i.t.orphan(cells[loser].Cell, i.id)
			continue
		}
		best[owner.cell] = n + 1
	}
	for n, b := range best {
		if b == 0 {
			continue
		}
		c := cells[b-1]
		flat, ok := bound[n].(interface{ load([]byte, string) error })
		if !ok {
			continue
		}
		if err := flat.load(c.Value, c.Cell); err != nil {
			return err
		}
	}
	return nil
}

// Activate runs the application's hook.
func (i *instance) Activate(inv *runtime.Invocation) error {
	hook, ok := i.actor.(interface{ Activate(context.Context) error })
	if !ok {
		return nil
	}
	err := hook.Activate(inv)
	if t := i.tailOf(inv); t != nil {
		return &runtime.FailureError{Failure: t.misused("made by Activate, which has no step to end").Failure}
	}
	if err == nil {
		return nil
	}
	r := i.t.result(inv, err)
	if r.Retry != nil {
		return &runtime.RetryError{Retry: *r.Retry}
	}
	return &runtime.FailureError{Failure: r.Failure}
}

// Deactivate runs the application's hook.
func (i *instance) Deactivate() {
	switch hook := i.actor.(type) {
	case interface{ Deactivate() }:
		hook.Deactivate()
	case interface{ Deactivate(context.Context) }:
		hook.Deactivate(context.Background())
	}
}

// Invoke runs a method. When it is entered again, from a call of an outer one,
// what the outer one has decoded is not shown to the inner one, nor the reverse.
func (i *instance) Invoke(inv *runtime.Invocation, m *runtime.Method, payload []byte) (res runtime.Result) {
	i.begin()
	if i.depth++; i.depth > 1 {
		i.reportTouched()
		i.forget()
	}
	ended := false
	defer i.leave(&res, &ended)
	host := m.Host.(*method) // made by addMethod
	if i.t.app.probe != nil {
		defer i.observe(inv)()
	}
	res = (*host.thunk.Load())(i, inv, payload)
	ended = true
	return res
}

// leave ends Invoke. It takes a panic of ours for what it stands for, and passes
// on any other; the end of the goroutine (runtime.Goexit) is the runtime's.
func (i *instance) leave(res *runtime.Result, ended *bool) {
	if i.depth--; i.depth > 0 {
		i.forget()
	}
	if *ended {
		return
	}
	v := recover()
	if v == nil {
		return
	}
	r, ok := recovered(v)
	if !ok {
		panic(v)
	}
	*res = r
}

// Writes encodes what was changed.
func (i *instance) Writes(dst []engine.Write) ([]engine.Write, error) {
	if i.progress == nil || i.err != nil {
		return dst, i.failed()
	}
	i.recs = i.recs[:0]
	for _, d := range i.dirty {
		var rec []byte
		var err error
		if dst, rec, err = d.encoded(dst); err != nil {
			return dst, err
		}
		i.recs = append(i.recs, rec)
	}
	return i.loose.writes(dst), nil
}

// failed is the error of a write that could not be encoded.
func (i *instance) failed() error {
	if i.progress == nil {
		return nil
	}
	return i.err
}

// Recorded keeps what the last Writes encoded as the recorded state.
func (i *instance) Recorded() {
	if i.progress == nil {
		return
	}
	for n, rec := range i.recs {
		i.dirty[n].recorded(rec)
	}
	rest := copy(i.dirty, i.dirty[len(i.recs):])
	clear(i.dirty[rest:])
	i.dirty = i.dirty[:rest]
	clear(i.recs)
	i.recs = i.recs[:0]
	i.loose, i.err = nil, nil
	i.version++
}

// Discard undoes what was changed.
func (i *instance) Discard() {
	if i.progress == nil {
		return
	}
	for _, d := range i.dirty {
		d.discard()
	}
	clear(i.dirty)
	i.dirty, i.recs = i.dirty[:0], i.recs[:0]
	i.loose, i.err = nil, nil
	i.version++
}

// Settle drops decoded values that code may still hold.
func (i *instance) Settle() {
	if i.progress == nil {
		return
	}
	i.forget()
	if i.t.app.probe != nil {
		i.Deactivate() // a test has it dropped after each outcome
	}
	if i.depth == 0 && len(i.dirty) == 0 && i.loose == nil && i.err == nil {
		progresses.Put(i.progress)
		i.progress = nil
	}
}

func (i *instance) forget() {
	for _, d := range i.decoded {
		d.forget()
	}
	clear(i.decoded)
	i.decoded = i.decoded[:0]
}

// refuse notes a write that cannot be recorded: it fails the method.
func (i *instance) refuse(err error) {
	if i.err == nil {
		i.err = err
	}
}

// enter makes sure that a cell is used by the running method of its own actor,
// and panics with the place if not.
func (i *instance) enter(ctx context.Context, what fmt.Stringer) *runtime.Invocation {
	inv := runtime.From(ctx)
	if inv == nil {
		panic(misuse(ErrNotInMethod, fmt.Errorf("use %v: %w", what, errNeedsMethod)))
	}
	if own, ok := inv.Instance().(*instance); !ok || own != i {
		panic(misuse(ErrNotInMethod, fmt.Errorf("use %v of %v: the context is that of %v",
			what, i.t.actor(i.id), inv.Self())))
	}
	if err := inv.Check(); err != nil {
		panic(misuse(ErrEnded, fmt.Errorf("use %v: %w", what, err)))
	}
	return inv
}

// change is enter for writes.
func (i *instance) change(ctx context.Context, what fmt.Stringer) {
	if inv := i.enter(ctx, what); inv.ReadOnly() {
		panic(readOnly(inv, what))
	}
}

func readOnly(inv *runtime.Invocation, what fmt.Stringer) *Error {
	e := misuse(ErrReadOnly, fmt.Errorf("a read-only method cannot change %v", what))
	e.Actor, e.Method = inv.Self().String(), inv.Method()
	return e
}

var errCopied = errors.New("the cell is a copy, or its actor is of no registered type: " +
	"cells stay in the actor that the runtime made")
