package pawl

import (
	"bytes"
	"context"
	"fmt"
	"reflect"
	"unsafe"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/internal/runtime"
)

// Value is a durable cell of an actor: a field of its struct, found when the type
// is registered and loaded when the actor is activated. Its state key is the
// field's name, or the one in the tag `pawl:"name,was=old"`; a value recorded
// under a former name is read, and moves with the next write.
//
// A method sees the recorded value and its own writes, which are recorded in one
// step with its outcome: an error, a panic or a failure discards them. Cells are
// for the goroutine of the method and those it starts and waits for, one at a
// time. Misuse panics with the place: a context of no method or of another
// actor's (ErrNotInMethod), an attempt that is over (ErrEnded), a copied cell. A
// write by a read-only method ends it with ErrReadOnly.
//
// T must survive encoding (JSON by default). A slice, map or pointer that Get has
// returned is shared with the cell for the rest of the run: change it by Set,
// Update or Edit only. What was changed otherwise is never recorded, and gone in
// the next run. A T without them is kept decoded from run to run.
type Value[T any] struct {
	_ noCopy
	cell
	v T
}

// noCopy lets go vet notice copies.
type noCopy struct{}

func (*noCopy) Lock()   {}
func (*noCopy) Unlock() {}

// cell is what flat cells have in common.
type cell struct {
	self  *cell // where it was bound: a copy is elsewhere
	inst  *instance
	spec  *cellSpec
	rec   []byte // as recorded; shared, never changed
	flags cellFlags
}

type cellFlags uint8

const (
	hasRec  cellFlags = 1 << iota // rec is recorded
	fromOld                       // under a former key
	decoded                       // v is the present value
	present                       // there is one
	dirty                         // changed since it was recorded
)

func (c *cell) is(f cellFlags) bool { return c.flags&f != 0 }

// in gives the cell of an actor in memory.
func (s *cellSpec) in(base unsafe.Pointer) durable {
	return reflect.NewAt(s.typ, unsafe.Add(base, s.offset)).Interface().(durable)
}

func (c *cell) bind(i *instance, s *cellSpec) error {
	if c.self != nil {
		return i.usedActor()
	}
	c.self, c.inst, c.spec = c, i, s
	return nil
}

// enter makes sure that the cell is used as it may be.
func (c *cell) enter(ctx context.Context) {
	if c.self != c {
		panic(misuse(ErrNotInMethod, errCopied))
	}
	inv, ok := ctx.(*runtime.Invocation)
	if !ok || inv.Instance() != runtime.Instance(c.inst) || inv.Check() != nil {
		c.inst.enter(ctx, c.spec)
	}
}

func (c *cell) change(ctx context.Context) {
	if c.self != c {
		panic(misuse(ErrNotInMethod, errCopied))
	}
	c.inst.change(ctx, c.spec)
}

func (*Value[T]) isMap() bool              { return false }
func (*Value[T]) contents() []reflect.Type { return []reflect.Type{reflect.TypeFor[T]()} }

// Get returns the value, or the zero value if there is none.
func (c *Value[T]) Get(ctx context.Context) T {
	c.enter(ctx)
	return c.current()
}

// Lookup returns the value; ok is false if there is none.
func (c *Value[T]) Lookup(ctx context.Context) (v T, ok bool) {
	c.enter(ctx)
	v = c.current()
	return v, c.is(present)
}

// Set sets the value. V, with what it refers to, is the cell's from then on: it is
// encoded when it is recorded, and a value that does not encode, or has more than
// Limits.Payload bytes, fails the method then (ErrBadPayload, ErrTooLarge).
func (c *Value[T]) Set(ctx context.Context, v T) {
	c.change(ctx)
	c.put(v)
}

// Update sets the value to what f makes of it, and returns that.
func (c *Value[T]) Update(ctx context.Context, f func(T) T) T {
	c.change(ctx)
	c.put(f(c.current()))
	return c.v
}

// Edit lets f change the value in place.
func (c *Value[T]) Edit(ctx context.Context, f func(*T)) {
	c.change(ctx)
	c.put(c.current()) // before f, so that a panic in it is undone too
	f(&c.v)
}

// Delete removes the value and its key.
func (c *Value[T]) Delete(ctx context.Context) {
	c.change(ctx)
	c.drop()
}

func (c *Value[T]) drop() {
	var zero T
	c.put(zero)
	c.flags &^= present
}

// put makes v the present value.
func (c *Value[T]) put(v T) {
	c.v = v
	if !c.is(dirty) {
		c.inst.dirty = append(c.inst.dirty, c)
	}
	c.flags |= decoded | present | dirty
}

// current decodes the recorded value if need be.
func (c *Value[T]) current() T {
	if !c.is(decoded) {
		if err := c.decode(); err != nil {
			panic(err) // it did decode when the actor was loaded
		}
	}
	return c.v
}

func (c *Value[T]) decode() error {
	var v T
	if c.is(hasRec) {
		if err := decode(c.inst.t.codec, c.rec, &v); err != nil {
			return c.inst.badState(c.spec, len(c.rec), err)
		}
		c.flags |= present
	}
	c.v = v
	c.flags |= decoded
	if c.spec.refs {
		c.inst.decoded = append(c.inst.decoded, c)
	}
	return nil
}

// load gives the cell its recorded value, found under key.
func (c *Value[T]) load(rec []byte, key string) error {
	c.rec = rec
	c.flags |= hasRec | present
	if key != c.spec.name {
		c.flags |= fromOld
	}
	return c.decode()
}

// bytes encodes the present value.
func (c *Value[T]) bytes() ([]byte, error) {
	if !c.is(dirty) {
		return c.rec, nil
	}
	b, err := encode(c.inst.t.codec, c.v)
	if err != nil {
		return nil, &Error{Code: ErrBadPayload, Err: fmt.Errorf("encode %v: %w", c.spec, err)}
	}
	return b, checkSize(c.spec, len(b), c.inst.t.app.cfg.Limits.Payload)
}

func (c *Value[T]) encoded(dst []write) ([]write, []byte, error) {
	if !c.is(present) {
		return c.deleted(dst), nil, nil
	}
	b, err := c.bytes()
	if err != nil {
		return dst, nil, err
	}
	if c.is(hasRec) && !c.is(fromOld) && bytes.Equal(b, c.rec) {
		return dst, c.rec, nil
	}
	dst = append(dst, write{Op: engine.Put, Key: engine.Key{Cell: c.spec.name}, Value: b})
	return c.migrated(dst), b, nil
}

// deleted removes the recorded value, if there is one.
func (c *cell) deleted(dst []write) []write {
	if c.is(hasRec) && !c.is(fromOld) {
		dst = append(dst, write{Op: engine.Delete, Key: engine.Key{Cell: c.spec.name}})
	}
	return c.migrated(dst)
}

// migrated removes the former keys of a value read under one.
func (c *cell) migrated(dst []write) []write {
	if !c.is(fromOld) {
		return dst
	}
	for _, old := range c.spec.was {
		dst = append(dst, write{Op: engine.Delete, Key: engine.Key{Cell: old}})
	}
	return dst
}

func (c *Value[T]) recorded(rec []byte) {
	c.flags &^= dirty | fromOld | hasRec
	c.rec = nil
	if c.is(present) {
		c.rec = rec
		c.flags |= hasRec
	}
	if c.spec.refs {
		c.forget()
	}
}

func (c *Value[T]) discard() {
	c.flags &^= dirty | present
	c.undecode()
}

func (c *Value[T]) forget() {
	if !c.is(dirty) {
		c.undecode()
	}
}

func (c *Value[T]) touched() bool {
	if !c.is(decoded) || c.is(dirty) {
		return false
	}
	var was T
	if c.is(hasRec) && decode(c.inst.t.codec, c.rec, &was) != nil {
		return false
	}
	// Encoded by the same codec: what is recorded may have been written otherwise.
	before, errBefore := encode(c.inst.t.codec, was)
	after, errAfter := encode(c.inst.t.codec, c.v)
	return errBefore == nil && errAfter == nil && !bytes.Equal(before, after)
}

// undecode goes back to the recorded bytes.
func (c *Value[T]) undecode() {
	var zero T
	c.v = zero
	c.flags &^= decoded | present
	if c.is(hasRec) {
		c.flags |= present
	}
}
