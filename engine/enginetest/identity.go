package enginetest

import (
	"context"
	"fmt"
	"strings"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/internal/runtime"
)

var once = []test{
	{"call once: a retry joins the call that is running", func(w *World) {
		charge(w)
		w.Open("pay")
		client, a := w.Node("None"), w.Node("Order")
		w.Node("Bank")
		p := client.Start("Order/o", "pay", "")
		w.Hear("at charge")
		a.Kill()
		w.Node("Order")
		w.Open("charge")
		if got := w.Wait(p); got != "charged" {
			w.Errorf("got %q", got)
		}
		w.Times("charge", 1)
	}},
	{"call once: a retry gets the outcome of the call that has ended", func(w *World) {
		charge(w)
		w.Open("charge")
		n := w.Node()
		p := n.Start("Order/o", "pay", "")
		w.Hear("at pay")
		w.Crash()
		n = w.Node()
		if got := w.Wait(n.Attach(p.ID())); got != "charged" {
			w.Errorf("got %q", got)
		}
		w.Times("charge", 1)
		w.Times("order 2", 1)
	}},
	{"without Once a retry calls again", func(w *World) {
		charge(w)
		w.Open("charge")
		n := w.Node()
		p := n.Start("Order/o", "payTwice", "")
		w.Hear("at pay")
		w.Crash()
		n = w.Node()
		w.Wait(n.Attach(p.ID()))
		w.Times("charge", 2)
	}},
	{"a tell made once is sent once", func(w *World) {
		w.On("A.go", func(s *Scene) runtime.Result {
			s.Tell("Bank/b", "charge", "", func(c *runtime.Call) { c.Once, c.Immediately = "t", true })
			if s.inv.Attempt() == 1 {
				s.Pass("go")
			}
			return value("")
		})
		charge(w)
		w.Open("charge")
		n := w.Node()
		p := n.Start("A/a", "go", "")
		w.Hear("at go", "charge")
		n.Ask("Bank/b", "get", "") // behind the charge, which has its outcome then
		w.Crash()
		n = w.Node()
		w.Wait(n.Attach(p.ID()))
		n.Ask("Bank/b", "get", "")
		w.Times("charge", 1)
	}},
}

func charge(w *World) {
	order := func(call func(s *Scene) string) Script {
		return func(s *Scene) runtime.Result {
			s.Say("order %d", s.inv.Attempt())
			got := call(s)
			if s.inv.Attempt() == 1 {
				s.Pass("pay")
			}
			return value(got)
		}
	}
	w.On("Order.pay", order(func(s *Scene) string { return s.CallOnce("charge", "Bank/b", "charge", "") }))
	w.On("Order.payTwice", order(func(s *Scene) string { return s.Call("Bank/b", "charge", "") }))
	w.On("Bank.charge", func(s *Scene) runtime.Result {
		s.Say("charge")
		s.Pass("charge")
		return value("charged")
	})
	w.On("Bank.get", func(*Scene) runtime.Result { return value("") })
}

func keyed(to, arg, key string) runtime.Call {
	c := parse(to, "add", arg)
	c.Key = key
	return c
}

var identity = []test{
	{"a key: repeated after the end, over a crash, joined in flight", func(w *World) {
		counterScripts(w)
		n := w.Node()
		call := func(c runtime.Call) string {
			w.Helper()
			o, err := n.Call(w.ctx, c)
			if err != nil {
				return "?" + string(engine.CodeOf(err))
			}
			return text(o)
		}
		k := keyed("C/c", "", "k1")
		for range 3 {
			if got := call(k); got != "1" {
				w.Errorf("got %q", got)
			}
		}
		w.Crash()
		n = w.Node()
		if got := call(k); got != "1" {
			w.Errorf("after a crash: got %q", got)
		}
		if got := call(keyed("C/c", "other", "k1")); got != "?key_reused" {
			w.Errorf("another request under the key: %q", got)
		}
		slow := keyed("C/d", "stop", "k2")
		p, err := n.Go(w.ctx, slow)
		if err != nil {
			w.Fatal(err)
		}
		w.Hear("at stop")
		q, err := n.Go(w.ctx, slow)
		if err != nil || p.ID() != q.ID() {
			w.Fatalf("not joined: %v", err)
		}
		w.Open("stop")
		if got := w.Wait(p) + w.Wait(q); got != "11" {
			w.Errorf("in flight: %q", got)
		}
	}},
	{"a key of a tell", func(w *World) {
		counterScripts(w)
		n := w.Node()
		for range 3 {
			if _, err := n.Component.Tell(w.ctx, keyed("C/c", "", "t")); err != nil {
				w.Fatal(err)
			}
		}
		if got := n.Ask("C/c", "get", ""); got != "1" {
			w.Errorf("state is %q", got)
		}
	}},
	{"attach: pending, ended, over a crash, unknown", func(w *World) {
		counterScripts(w)
		n := w.Node()
		p := n.Start("C/c", "add", "stop")
		w.Hear("at stop")
		if q := n.Attach(p.ID()); true {
			w.Open("stop")
			if got := w.Wait(q); got != "1" {
				w.Errorf("pending: %q", got)
			}
		}
		if got := w.Wait(n.Attach(p.ID())); got != "1" {
			w.Errorf("ended: %q", got)
		}
		w.Crash()
		n = w.Node()
		if got := w.Wait(n.Attach(p.ID())); got != "1" {
			w.Errorf("over a crash: %q", got)
		}
		if _, err := n.Attach(engine.Derive("no", "such")).Wait(w.ctx); engine.CodeOf(err) != engine.ErrNotFound {
			w.Errorf("unknown: %v", err)
		}
	}},
	{"what was acknowledged is there after a crash, with its order", func(w *World) {
		w.On("L.log", func(s *Scene) runtime.Result {
			s.Set("log", s.Get("log")+s.arg)
			return value(s.Get("log"))
		})
		n := w.Node("None")
		var want strings.Builder
		for i := range 20 {
			n.Tell("L/l", "log", fmt.Sprint(i, ","))
			fmt.Fprint(&want, i, ",")
		}
		w.Crash()
		n = w.Node("L")
		if got := n.Ask("L/l", "log", "."); got != want.String()+"." {
			w.Errorf("got  %q\nwant %q", got, want.String()+".")
		}
	}},
	{"ids never come again", func(w *World) {
		counterScripts(w)
		n := w.Node()
		p := n.Start("C/c", "get", "")
		w.Wait(p)
		w.Crash()
		n = w.Node()
		q := n.Start("C/c", "get", "")
		if p.ID() == q.ID() {
			w.Errorf("the id %v came again", p.ID())
		}
	}},
	{"limits for requests from outside", func(w *World) {
		w.options.Mailbox, w.options.Pending = 3, 5
		w.On("A.go", func(s *Scene) runtime.Result {
			s.Pass("go")
			return value("")
		})
		n := w.Node()
		for range 3 {
			n.Tell("A/a", "go", "")
		}
		over := func(to string) {
			w.Helper()
			if _, err := n.Component.Tell(w.ctx, parse(to, "go", "")); engine.CodeOf(err) != engine.ErrOverloaded {
				w.Errorf("to %s: %v, not overloaded", to, err)
			}
		}
		over("A/a")
		n.Tell("A/b", "go", "")
		n.Tell("A/c", "go", "")
		over("A/d")
		w.Open("go")
	}},
	{"reads see what is recorded, with a lock held", func(w *World) {
		counterScripts(w)
		n := w.Node()
		n.Ask("C/c", "add", "")
		n.Start("C/c", "add", "stop")
		w.Hear("at stop")
		cells, err := n.Session().Load(context.Background(), engine.Actor{Type: "C", ID: "c"})
		if err != nil || len(cells) != 1 || string(cells[0].Value) != "1" {
			w.Errorf("got %v, %v", cells, err)
		}
		w.Open("stop")
	}},
}
