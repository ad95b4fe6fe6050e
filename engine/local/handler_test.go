package local

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/pawl-go/pawl/engine"
)

// probe is a handler that only notes what it is told; tests wait for it.
type probe struct {
	mu         sync.Mutex
	cond       *sync.Cond
	deliveries []engine.Delivery
	responses  map[engine.ID][]engine.Response
	cancels    []engine.ID
	outcomes   map[engine.ID]*engine.Outcome
	callerGone []engine.ID
	paused     map[engine.Actor]bool
	forgotten  []engine.Actor
	begun      map[engine.ID]bool
}

func newProbe() *probe {
	p := &probe{
		responses: map[engine.ID][]engine.Response{}, outcomes: map[engine.ID]*engine.Outcome{},
		paused: map[engine.Actor]bool{}, begun: map[engine.ID]bool{},
	}
	p.cond = sync.NewCond(&p.mu)
	return p
}

func (p *probe) note(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f()
	p.cond.Broadcast()
}

func (p *probe) Deliver(d engine.Delivery) {
	p.note(func() { p.deliveries = append(p.deliveries, d) })
}

func (p *probe) Respond(r engine.Response) {
	p.note(func() { p.responses[r.ID] = append(p.responses[r.ID], r) })
}

func (p *probe) Cancel(r *engine.Request, o *engine.Outcome, begun bool) {
	p.note(func() { p.cancels = append(p.cancels, r.ID); p.outcomes[r.ID] = o })
}

func (p *probe) Revoke(*engine.Request) {}

func (p *probe) CallerGone(r *engine.Request) {
	p.note(func() { p.callerGone = append(p.callerGone, r.ID) })
}
func (p *probe) Pause(a engine.Actor, on bool) { p.note(func() { p.paused[a] = on }) }
func (p *probe) Forget(a engine.Actor)         { p.note(func() { p.forgotten = append(p.forgotten, a) }) }

func (p *probe) Begun(r *engine.Request) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.begun[r.ID]
}

func (p *probe) Read(context.Context, *engine.Request) (*engine.Outcome, error) {
	return &engine.Outcome{Value: []byte("read")}, nil
}

// until waits until ok holds.
func (p *probe) until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	late := false
	timer := time.AfterFunc(time.Minute, func() { p.note(func() { late = true }) })
	defer timer.Stop()
	p.mu.Lock()
	defer p.mu.Unlock()
	for !ok() {
		if late {
			t.Fatalf("waited in vain for %s", what)
		}
		p.cond.Wait()
	}
}

// delivery waits for the n-th delivery of an id, from 1, and returns it.
func (p *probe) delivery(t testing.TB, id engine.ID, n int) (d engine.Delivery) {
	t.Helper()
	p.until(t, fmt.Sprintf("delivery %d of %s", n, id), func() bool {
		left := n
		for _, x := range p.deliveries {
			if x.Request.ID == id {
				if left--; left == 0 {
					d = x
					return true
				}
			}
		}
		return false
	})
	return d
}

// response waits for the response of an id.
func (p *probe) response(t testing.TB, id engine.ID) (r engine.Response) {
	t.Helper()
	p.until(t, "response of "+id.String(), func() bool {
		if len(p.responses[id]) == 0 {
			return false
		}
		r = p.responses[id][0]
		return true
	})
	return r
}

func (p *probe) delivered() (ids []engine.ID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, d := range p.deliveries {
		ids = append(ids, d.Request.ID)
	}
	return ids
}

// logBuffer collects what is logged.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// world is an engine with its directory, for tests.
type world struct {
	t     testing.TB
	tb    interface{ Fatalf(string, ...any) } // t, or a property's
	dir   string
	url   string
	opts  engine.Options
	alter func(*settings)
	logs  *logBuffer
	e     *Engine
	h     engine.Engine
}

func newWorld(t testing.TB, parameters string) *world {
	w := prepareWorld(t, parameters)
	w.open()
	t.Cleanup(func() { w.h.Close() })
	return w
}

func prepareWorld(t testing.TB, parameters string) *world {
	w := &world{t: t, tb: t, dir: filepath.Join(t.TempDir(), "data"), logs: &logBuffer{}}
	w.url = "local:" + w.dir + "?" + parameters
	w.opts = engine.Options{App: "test", Logger: slog.New(slog.NewTextHandler(w.logs, nil))}
	return w
}

func (w *world) open() {
	w.t.Helper()
	h, err := engine.Open(w.t.Context(), w.url, w.opts)
	if err != nil {
		w.t.Fatal(err)
	}
	w.h, w.e = h, h.(*handle).Engine
}

// crash forgets the engine as the death of its process would, and opens the
// directory again.
func (w *world) crash() {
	w.t.Helper()
	w.e.stop()
	before := w.e.dumpClosed()
	if err := w.e.letGo(); err != nil {
		w.t.Fatal(err)
	}
	w.recover(before)
}

// recover opens the directory again, and compares what was brought back with
// what was there.
func (w *world) recover(before string) {
	w.t.Helper()
	u, err := url.Parse(w.url)
	if err != nil {
		w.t.Fatal(err)
	}
	s, err := parseURL(u, w.opts)
	if err != nil {
		w.t.Fatal(err)
	}
	if w.alter != nil {
		w.alter(s)
	}
	e, err := recoverEngine(w.t.Context(), s)
	if err != nil {
		w.t.Fatal(err)
	}
	if after := e.dump(); before != "" && after != before {
		w.tb.Fatalf("brought back:\n%s\nwas there:\n%s", after, before)
	}
	if err := e.run(context.Background()); err != nil {
		w.t.Fatal(err)
	}
	running.Lock()
	op := &opening{ready: make(chan struct{}), gone: make(chan struct{}), e: e, refs: 1}
	close(op.ready)
	if running.engines == nil {
		running.engines = map[string]*opening{}
	}
	running.engines[s.dir] = op
	running.Unlock()
	w.h, w.e = &handle{Engine: e, end: unshare}, e
}

// reopen closes the engine cleanly and opens it again.
func (w *world) reopen() {
	w.t.Helper()
	if err := w.h.Close(); err != nil {
		w.t.Fatal(err)
	}
	w.open()
}

// join makes a component a member.
func (w *world) join(name string, types ...string) (engine.Session, *probe) {
	w.t.Helper()
	p := newProbe()
	return w.joinAs(name, p, types...), p
}

func (w *world) joinAs(name string, h engine.Handler, types ...string) engine.Session {
	w.t.Helper()
	c := engine.Component{Name: name}
	for _, t := range types {
		c.Types = append(c.Types, engine.Type{Name: t})
	}
	s, err := w.h.Join(w.t.Context(), c, h)
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

// call makes a request from outside.
func call(s engine.Session, typ, id string) *engine.Request {
	return &engine.Request{
		Frame: engine.Frame{ID: s.NewID(), Actor: engine.Actor{Type: typ, ID: id}},
		Step:  1, Kind: engine.KindCall, Method: "M", Payload: []byte("in"),
	}
}

func tell(s engine.Session, typ, id string) *engine.Request {
	r := call(s, typ, id)
	r.Kind = engine.KindTell
	return r
}

// nested makes a request that by waits for.
func nested(s engine.Session, by *engine.Request, typ, id string) *engine.Request {
	r := call(s, typ, id)
	r.Kind, r.Caller, r.Depth = engine.KindNested, &by.Frame, by.Depth+1
	return r
}

func attempt(r *engine.Request, n uint32) engine.Attempt {
	return engine.Attempt{ID: r.ID, Step: r.Step, N: n}
}

func (w *world) send(s engine.Session, by engine.Attempt, rs ...*engine.Request) engine.Position {
	w.t.Helper()
	at, err := s.Send(by, &engine.Effects{Requests: rs})
	if err != nil {
		w.t.Fatal(err)
	}
	return at
}

func (w *world) finish(s engine.Session, by engine.Attempt, ef *engine.Effects, o *engine.Outcome) engine.Position {
	w.t.Helper()
	if ef == nil {
		ef = &engine.Effects{}
	}
	at, err := s.Finish(by, ef, o)
	if err != nil {
		w.t.Fatal(err)
	}
	return at
}

func value(s string) *engine.Outcome { return &engine.Outcome{Value: []byte(s)} }

func put(cell, v string) engine.Write {
	return engine.Write{Key: engine.Key{Cell: cell}, Value: []byte(v)}
}

func entry(cell, e, v string) engine.Write {
	return engine.Write{Key: engine.Key{Cell: cell, Entry: e, InMap: true}, Value: []byte(v)}
}

// call0 is a request that nobody sends.
func call0(typ, id string) *engine.Request {
	return &engine.Request{Frame: engine.Frame{Actor: engine.Actor{Type: typ, ID: id}}, Step: 1, Method: "M"}
}
