package topics

import (
	"fmt"
	"maps"
	"slices"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/internal/runtime"
)

// step is a method of one of the types here.
type step func(i *instance, inv *runtime.Invocation, payload []byte) runtime.Result

// instance is a topic or a subscriber in memory: flat cells by name. It belongs
// to who has the actor's turn.
type instance struct {
	outcomeLimit int
	cells        map[string][]byte
	sorted       []string          // the names of cells; nil: to be made
	before       map[string][]byte // what changed cells held as recorded; nil: nothing
}

var _ runtime.Instance = (*instance)(nil)

// Load implements runtime.Instance.
func (i *instance) Load(cells []engine.Cell) error {
	i.cells, i.before = make(map[string][]byte, len(cells)), map[string][]byte{}
	for _, c := range cells {
		i.cells[c.Cell] = c.Value
	}
	return nil
}

// Activate implements runtime.Instance.
func (i *instance) Activate(*runtime.Invocation) error { return nil }

// Invoke implements runtime.Instance.
func (i *instance) Invoke(inv *runtime.Invocation, m *runtime.Method, payload []byte) runtime.Result {
	return m.Host.(step)(i, inv, payload)
}

// Writes implements runtime.Instance.
func (i *instance) Writes(dst []engine.Write) ([]engine.Write, error) {
	for _, name := range slices.Sorted(maps.Keys(i.before)) {
		w := engine.Write{Op: engine.Delete, Key: engine.Key{Cell: name}}
		if v, ok := i.cells[name]; ok {
			w.Op, w.Value = engine.Put, v
		}
		dst = append(dst, w)
	}
	return dst, nil
}

// Recorded implements runtime.Instance.
func (i *instance) Recorded() { clear(i.before) }

// Discard implements runtime.Instance.
func (i *instance) Discard() {
	for name, v := range i.before {
		if v == nil {
			delete(i.cells, name)
		} else {
			i.cells[name] = v
		}
	}
	i.sorted = nil
	clear(i.before)
}

// Settle implements runtime.Instance.
func (i *instance) Settle() {}

// Deactivate implements runtime.Instance.
func (i *instance) Deactivate() {}

// put sets a cell. It takes v over.
func (i *instance) put(name string, v []byte) {
	i.remember(name)
	i.cells[name], i.sorted = v, nil
}

// drop removes a cell, and reports whether it was there.
func (i *instance) drop(name string) bool {
	if _, ok := i.cells[name]; !ok {
		return false
	}
	i.remember(name)
	delete(i.cells, name)
	i.sorted = nil
	return true
}

func (i *instance) remember(name string) {
	if _, known := i.before[name]; !known {
		i.before[name] = i.cells[name]
	}
}

// names lists the cells in byte order.
func (i *instance) names() []string {
	if i.sorted == nil {
		i.sorted = slices.Sorted(maps.Keys(i.cells))
	}
	return i.sorted
}

// said is the result of a method that answers a question.
func said(yes bool) runtime.Result { return runtime.Result{Value: fmt.Append(nil, yes)} }

// failed is the result of a method that could not do what it should: it is run
// again if that may help.
func failed(err error) runtime.Result {
	code := engine.CodeOf(err)
	if code.Retryable() {
		return runtime.Result{Retry: &runtime.Retry{Cause: err, After: -1}}
	}
	if code == "" {
		return runtime.Result{Failure: &engine.Failure{Message: err.Error()}}
	}
	return runtime.Result{Failure: engine.Fail(code, err.Error())}
}
