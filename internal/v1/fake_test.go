package v1_test

import (
	"context"
	"errors"
	"iter"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/internal/runtime"
	v1 "github.com/pawl-go/pawl/internal/v1"
)

// fake is a runtime and its engine in memory: it records what the face asks of
// them and answers as it was told.
type fake struct {
	uncommitted     bool // what is read never counts
	engine.Operator      // what is not faked panics

	mu      sync.Mutex
	next    uint64
	infos   []engine.Info // newest first
	cells   map[engine.Key][]byte
	actors  []engine.Actor
	paused  []engine.Actor
	calls   []runtime.Call
	acts    []string
	refuse  error                              // of the next act or send
	outcome func(runtime.Call) *engine.Outcome // nil: it never ends
	ended   chan struct{}
	fenced  chan struct{}

	attached atomic.Int32
}

func newFake() *fake {
	return &fake{cells: map[engine.Key][]byte{}, ended: make(chan struct{}), fenced: make(chan struct{})}
}

func (f *fake) Session() engine.Session { return &fakeSession{f: f} }

func (f *fake) Go(_ context.Context, c runtime.Call) (v1.Pending, error) {
	id, err := f.send(c, engine.KindCall)
	if err != nil {
		return nil, err
	}
	return &fakePending{f: f, id: id, call: c}, nil
}

func (f *fake) Tell(_ context.Context, c runtime.Call) (engine.ID, error) {
	return f.send(c, engine.KindTell)
}

func (f *fake) send(c runtime.Call, kind engine.Kind) (engine.ID, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.refuse != nil {
		return engine.ID{}, f.refuse
	}
	f.calls = append(f.calls, c)
	f.next++
	id := engine.ID{Hi: 7, Lo: f.next}
	f.infos = slices.Insert(f.infos, 0, engine.Info{
		Request: &engine.Request{
			Frame: engine.Frame{ID: id, Actor: c.To}, Step: 1, Kind: kind, Method: c.Method,
			Payload: c.Payload, Created: time.Unix(int64(1000+f.next), 0), NotBefore: c.NotBefore,
		},
		Status: engine.StatusPending,
	})
	return id, nil
}

func (f *fake) Attach(id engine.ID) v1.Pending {
	f.attached.Add(1)
	return &fakePending{f: f, id: id}
}

// Read waits as the runtime does: for a commit, not beyond ctx.
func (f *fake) Read(ctx context.Context, _ runtime.Call) (*engine.Outcome, error) {
	if f.uncommitted {
		<-ctx.Done()
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return &engine.Outcome{Value: []byte(`"read"`)}, nil
}

func (f *fake) Call(_ context.Context, c runtime.Call) (*engine.Outcome, error) {
	if _, err := f.send(c, engine.KindCall); err != nil {
		return nil, err
	}
	return &engine.Outcome{Value: []byte("true")}, nil
}

func (f *fake) Remind(context.Context, engine.ReminderChange) error { return f.refuse }

type fakePending struct {
	f    *fake
	id   engine.ID
	call runtime.Call
}

func (p *fakePending) ID() engine.ID { return p.id }

func (p *fakePending) Wait(ctx context.Context) (*engine.Outcome, error) {
	if p.f.outcome != nil {
		return p.f.outcome(p.call), nil
	}
	select {
	case <-p.f.ended:
		return &engine.Outcome{Value: []byte("1")}, nil
	case <-ctx.Done():
		return nil, &engine.Error{Code: engine.ErrOutcomeUnknown, Invocation: p.id.String(), Err: ctx.Err()}
	}
}

type fakeSession struct {
	engine.Session // what is not faked panics
	f              *fake
}

func (s *fakeSession) Last() engine.Position                       { return 42 }
func (s *fakeSession) Wait(context.Context, engine.Position) error { return nil }
func (s *fakeSession) Operator() engine.Operator                   { return s.f }
func (s *fakeSession) Fenced() <-chan struct{}                     { return s.f.fenced }
func (s *fakeSession) NewID() engine.ID                            { return engine.ID{Hi: 7, Lo: 1000} }

func (s *fakeSession) Members() []engine.Member {
	return []engine.Member{{
		Component: engine.Component{Name: "one", Types: []engine.Type{{Name: "Account", Methods: []engine.Method{
			{Name: "Balance", ReadOnly: true}, {Name: "Deposit"}, {Name: "Withdraw"},
		}}}},
		Session: 7, Joined: time.Unix(900, 0), Live: 3,
	}}
}

func (s *fakeSession) Load(context.Context, engine.Actor) ([]engine.Cell, error) {
	var out []engine.Cell
	for k, v := range s.f.cells {
		if !k.InMap {
			out = append(out, engine.Cell{Key: k, Value: v})
		}
	}
	return out, nil
}

func (s *fakeSession) Lookup(_ context.Context, _ engine.Actor, k engine.Key) ([]byte, bool, error) {
	v, ok := s.f.cells[k]
	return v, ok, nil
}

func (s *fakeSession) Scan(_ context.Context, _ engine.Actor, cell, from string, limit int) ([]engine.Cell, error) {
	var out []engine.Cell
	for k, v := range s.f.cells {
		if k.InMap && k.Cell == cell && k.Entry >= from {
			out = append(out, engine.Cell{Key: k, Value: v})
		}
	}
	slices.SortFunc(out, func(a, b engine.Cell) int {
		if a.Entry < b.Entry {
			return -1
		}
		return 1
	})
	return out[:min(limit, len(out))], nil
}

func (f *fake) Invocations(_ context.Context, q engine.Query) iter.Seq2[engine.Info, error] {
	return func(yield func(engine.Info, error) bool) {
		n := 0
		for _, in := range f.infos {
			if q.Status != "" && in.Status != q.Status || q.Method != "" && in.Request.Method != q.Method {
				continue
			}
			if !yield(in, nil) {
				return
			}
			if n++; n == q.Limit {
				return
			}
		}
	}
}

func (f *fake) Invocation(_ context.Context, id engine.ID) (engine.Info, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, in := range f.infos {
		if in.Request.ID == id {
			return in, nil
		}
	}
	return engine.Info{}, &engine.Error{Code: engine.ErrNotFound, Invocation: id.String()}
}

func (f *fake) act(what string, id engine.ID, to engine.Status) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.refuse != nil {
		return f.refuse
	}
	f.acts = append(f.acts, what)
	for i := range f.infos {
		if f.infos[i].Request.ID == id {
			f.infos[i].Status = to
		}
	}
	return nil
}

func (f *fake) Cancel(_ context.Context, id engine.ID, reason string, force bool) error {
	what := "cancel " + reason
	if force {
		what += " by force"
	}
	return f.act(what, id, engine.StatusCanceled)
}

func (f *fake) Answer(_ context.Context, id engine.ID, o *engine.Outcome) error {
	what := "answer " + string(o.Value)
	if o.Failure != nil {
		what = "answer error " + o.Failure.Code + " " + o.Failure.Message
	}
	return f.act(what, id, engine.StatusDone)
}

func (f *fake) Resume(_ context.Context, id engine.ID) error {
	return f.act("resume", id, engine.StatusPending)
}

func (f *fake) Skip(_ context.Context, id engine.ID) error {
	err := f.act("skip", id, engine.StatusCanceled)
	f.infos = slices.DeleteFunc(f.infos, func(in engine.Info) bool { return in.Request.ID == id })
	return err
}

func (f *fake) Pause(_ context.Context, a engine.Actor) error {
	return f.act("pause "+a.String(), engine.ID{}, "")
}

func (f *fake) Unpause(_ context.Context, a engine.Actor) error {
	return f.act("unpause "+a.String(), engine.ID{}, "")
}

func (f *fake) Purge(_ context.Context, a engine.Actor) error {
	return f.act("purge "+a.String(), engine.ID{}, "")
}

func (f *fake) Actors(_ context.Context, _, from string, limit int) ([]engine.Actor, error) {
	var out []engine.Actor
	for _, a := range f.actors {
		if a.ID >= from && len(out) < limit {
			out = append(out, a)
		}
	}
	return out, nil
}

func (f *fake) Types(context.Context) ([]string, error) { return []string{"Account", "Old"}, nil }

func (f *fake) Stats(context.Context) (engine.Stats, error) {
	return engine.Stats{Pending: len(f.infos), Paused: f.paused, Durability: "process", Last: 42, Committed: 42}, nil
}

var errBusy = errors.New("purge actor Account/a: code runs on it")
