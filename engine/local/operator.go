package local

import (
	"context"
	"errors"
	"iter"

	"github.com/pawl-go/pawl/engine"
)

// operator gives the abilities of an operator.
type operator struct{ e *Engine }

var _ engine.Operator = operator{}

var errTodo = errors.New("not there yet")

func (o operator) Invocations(ctx context.Context, q engine.Query) iter.Seq2[engine.Info, error] {
	return func(yield func(engine.Info, error) bool) {}
}
func (o operator) Invocation(ctx context.Context, id engine.ID) (engine.Info, error) {
	return engine.Info{}, errTodo
}
func (o operator) Cancel(ctx context.Context, id engine.ID, reason string, force bool) error {
	return errTodo
}
func (o operator) Answer(ctx context.Context, id engine.ID, out *engine.Outcome) error {
	return errTodo
}
func (o operator) Resume(ctx context.Context, id engine.ID) error    { return errTodo }
func (o operator) Skip(ctx context.Context, id engine.ID) error      { return errTodo }
func (o operator) Pause(ctx context.Context, a engine.Actor) error   { return errTodo }
func (o operator) Unpause(ctx context.Context, a engine.Actor) error { return errTodo }
func (o operator) Purge(ctx context.Context, a engine.Actor) error   { return errTodo }
func (o operator) Write(ctx context.Context, a engine.Actor, writes []engine.Write) error {
	return errTodo
}
func (o operator) Actors(ctx context.Context, kind, from string, limit int) ([]engine.Actor, error) {
	return nil, errTodo
}
func (o operator) Types(ctx context.Context) ([]string, error)     { return nil, errTodo }
func (o operator) Stats(ctx context.Context) (engine.Stats, error) { return engine.Stats{}, errTodo }
