package runtime_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/engine/enginetest"
	"github.com/pawl-go/pawl/engine/local/localtest"
	"github.com/pawl-go/pawl/internal/runtime"
)

// diary is what the instances of a test say, in order.
type diary struct {
	mu   sync.Mutex
	said []string
	news chan struct{}
}

func newDiary() *diary { return &diary{news: make(chan struct{})} }

func (d *diary) say(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.said = append(d.said, fmt.Sprintf(format, args...))
	close(d.news)
	d.news = make(chan struct{})
}

// hear waits until something was said.
func (d *diary) hear(t *testing.T, what string) {
	t.Helper()
	over := time.After(time.Minute)
	for {
		d.mu.Lock()
		there, news := slices.Contains(d.said, what), d.news
		d.mu.Unlock()
		if there {
			return
		}
		select {
		case <-news:
		case <-over:
			t.Fatalf("never heard %q", what)
		}
	}
}

// before fails the test unless a was said before b.
func (d *diary) before(t *testing.T, a, b string) {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	if i, j := slices.Index(d.said, a), slices.Index(d.said, b); i < 0 || j < 0 || i > j {
		t.Errorf("%q does not stand before %q: %q", a, b, d.said)
	}
}

// outside is an instance that stands for something outside of the process.
type outside struct {
	*diary
	name string
	wait <-chan struct{} // Deactivate takes until it is closed; nil: no time
}

func (*outside) Load([]engine.Cell) error                          { return nil }
func (*outside) Writes(dst []engine.Write) ([]engine.Write, error) { return dst, nil }
func (*outside) Recorded()                                         {}
func (*outside) Discard()                                          {}
func (*outside) Settle()                                           {}
func (o *outside) Leave()                                          { o.say("%s leaves", o.name) }

func (o *outside) Activate(*runtime.Invocation) error {
	o.say("%s is activated", o.name)
	return nil
}

func (o *outside) Deactivate() {
	o.say("%s is deactivated", o.name)
	if o.wait != nil {
		<-o.wait
	}
}

func (o *outside) Invoke(inv *runtime.Invocation, m *runtime.Method, payload []byte) runtime.Result {
	return runtime.Result{Value: fmt.Appendf(nil, "%s.%s(%s) by %s", inv.Self().Type, inv.Method(), payload, m.Name)}
}

// host runs a component with types of one's own.
func host(t *testing.T, types ...*runtime.Type) *runtime.Component {
	t.Helper()
	h := &localtest.Harness{Params: "durability=process"}
	eng := h.Open(t, engine.Options{App: "seams", Logger: slog.New(slog.DiscardHandler)})
	c, err := runtime.New(runtime.Config{Name: "host", Types: types, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Join(t.Context(), eng); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Close(context.Background()) // its engine is closed after it
		_ = eng.Close()
	})
	return c
}

func ask(t *testing.T, c *runtime.Component, to, method, arg string) string {
	t.Helper()
	o, err := c.Call(t.Context(), enginetest.Call(to, method, arg))
	switch {
	case err != nil:
		t.Fatal(err)
	case o.Failure != nil:
		return "!" + o.Failure.Code
	}
	return string(o.Value)
}

// TestAny: a type that has Any runs what it does not name, nested and after a tail
// call too; what it names is not Any's.
func TestAny(t *testing.T) {
	made := func(string) runtime.Instance { return &outside{diary: newDiary()} }
	c := host(t,
		&runtime.Type{Name: "Open", Any: &runtime.Method{Name: "any"}, Methods: map[string]*runtime.Method{"named": {Name: "named"}}, New: made},
		&runtime.Type{Name: "Closed", Methods: map[string]*runtime.Method{"named": {Name: "named"}}, New: made},
	)
	for _, x := range []struct{ to, method, want string }{
		{"Open/a", "whatever", "Open.whatever(1) by any"},
		{"Open/a", "", "Open.(1) by any"},
		{"Open/a", "a/b \x00", "Open.a/b \x00(1) by any"},
		{"Open/a", "named", "Open.named(1) by named"},
		{"Closed/a", "named", "Closed.named(1) by named"},
		{"Closed/a", "whatever", "!no_method"},
	} {
		if got := ask(t, c, x.to, x.method, "1"); got != x.want {
			t.Errorf("%s.%q: %q, want %q", x.to, x.method, got, x.want)
		}
	}
	for _, m := range c.Session().Members() {
		for _, kind := range m.Types {
			if len(kind.Methods) != 1 { // others are told of what has a name
				t.Errorf("%s is described with %v", kind.Name, kind.Methods)
			}
		}
	}
}

// TestLeaver: an instance is out of use before the next one is made, though its hook
// takes longer; whether it was idle or its state was changed from outside.
func TestLeaver(t *testing.T) {
	for _, why := range []string{"idle", "changed"} {
		t.Run(why, func(t *testing.T) {
			d, wait, n := newDiary(), make(chan struct{}), 0
			kind := &runtime.Type{Name: "A", Any: &runtime.Method{}, IdleAfter: time.Hour, New: func(string) runtime.Instance {
				n++ // one at a time: of one actor
				return &outside{diary: d, name: fmt.Sprint("instance ", n), wait: wait}
			}}
			if why == "idle" {
				kind.IdleAfter = 10 * time.Millisecond
			}
			c := host(t, kind)
			t.Cleanup(func() { close(wait) }) // before the component is closed
			ask(t, c, "A/a", "x", "")
			if why == "changed" {
				if live := c.Live("A"); !slices.Equal(live, []string{"a"}) {
					t.Errorf("in memory: %q", live)
				}
				a := engine.Actor{Type: "A", ID: "a"}
				if err := c.Session().Operator().Write(t.Context(), a, []engine.Write{{Key: engine.Key{Cell: "c"}, Value: []byte("1")}}); err != nil {
					t.Fatal(err)
				}
			}
			d.hear(t, "instance 1 is deactivated")
			if live := c.Live("A"); len(live) > 0 {
				t.Errorf("in memory after it has left: %q", live)
			}
			ask(t, c, "A/a", "x", "") // while the hook of the first runs
			d.before(t, "instance 1 leaves", "instance 1 is deactivated")
			d.before(t, "instance 1 leaves", "instance 2 is activated")
		})
	}
}

// TestBusyTimeout: a call that waits for too long for its turn is answered; a tell is
// not lost by that, and while an operator has paused the actor the time stands still.
func TestBusyTimeout(t *testing.T) {
	w := newWorld(t)
	w.Type("A", runtime.Type{BusyTimeout: 30 * time.Millisecond})
	w.On("A.hold", func(s *scene) result { s.Pass("hold"); return enginetest.Value("held") })
	w.On("A.told", func(s *scene) result { s.Say("told"); return enginetest.Value("") })
	w.On("A.get", func(*scene) result { return enginetest.Value("got") })
	w.On("B.ask", func(s *scene) result { return enginetest.Value(s.Call("A/a", "get", "")) })
	n := w.Node()
	op, paused := n.Session().Operator(), engine.Actor{Type: "A", ID: "paused"}
	if err := op.Pause(t.Context(), paused); err != nil {
		t.Fatal(err)
	}
	later := n.Start("A/paused", "get", "")
	held := n.Start("A/a", "hold", "")
	w.Hear("at hold")
	n.Tell("A/a", "told", "")
	nested := n.Start("B/b", "ask", "")
	if got := n.Ask("A/a", "get", ""); got != "!deadlock" {
		t.Errorf("a call is answered %q", got)
	}
	if got := w.Wait(nested); got != "!deadlock" {
		t.Errorf("a nested call is answered %q", got)
	}
	if err := op.Unpause(t.Context(), paused); err != nil {
		t.Fatal(err)
	}
	if got := w.Wait(later); got != "got" {
		t.Errorf("a call of an actor that was paused is answered %q", got)
	}
	w.Open("hold")
	if got := w.Wait(held); got != "held" {
		t.Errorf("what ran is answered %q", got)
	}
	w.Hear("told")
	w.Allowed()
}

// TestSettled: who has several calls out hears of each as it ends.
func TestSettled(t *testing.T) {
	w := newWorld(t)
	w.On("A.go", func(s *scene) result {
		slow, err := s.Inv().Go(s.Inv(), enginetest.Call("B/slow", "slow", ""))
		if err != nil {
			return enginetest.Failed(err.Error())
		}
		fast, err := s.Inv().Go(s.Inv(), enginetest.Call("B/fast", "fast", ""))
		if err != nil {
			return enginetest.Failed(err.Error())
		}
		select {
		case <-fast.Settled():
		case <-slow.Settled():
			s.Say("slow is first")
		}
		o, err := fast.Wait(s.Inv()) // it does not block, so the turn is not given up
		if err != nil || string(o.Value) != "fast" {
			s.Say("fast: %v, %v", o, err)
		}
		s.Open("slow")
		<-slow.Settled()
		if _, err := slow.Wait(s.Inv()); err != nil {
			s.Say("slow: %v", err)
		}
		<-slow.Settled() // and from then on
		return enginetest.Value("both")
	})
	w.On("B.slow", func(s *scene) result { s.Pass("slow"); return enginetest.Value("slow") })
	w.On("B.fast", func(*scene) result { return enginetest.Value("fast") })
	n := w.Node()
	p := n.Start("A/a", "go", "")
	if got := w.Wait(p); got != "both" {
		t.Errorf("got %q", got)
	}
	<-p.Settled() // outside, too, and when it is asked for afterwards
	w.Expect("at slow")

	unknown := n.Attach(engine.ID{Hi: 1 << 40, Lo: 1})
	<-unknown.Settled() // nothing is to come
	_, err := unknown.Wait(t.Context())
	wantCode(t, err, engine.ErrNotFound)
	w.Allowed()
}
