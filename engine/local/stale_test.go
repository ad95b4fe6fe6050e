package local

import (
	"slices"
	"testing"

	"github.com/pawl-go/pawl/engine"
)

// TestReleaseOfAFailedComponent: it moves no actor, neither before its failure is
// committed, nor one that is at another component by then.
func TestReleaseOfAFailedComponent(t *testing.T) {
	w := newWorld(t, "durability=process&cycle=64KiB")
	old, po := w.join("old", "A")
	client, _ := w.join("client")
	a := engine.Actor{Type: "A", ID: "1"}
	first := tell(client, a.Type, a.ID)
	w.send(client, engine.Attempt{}, first)
	po.delivery(t, first.ID, 1)
	w.finish(old, attempt(first, 1), nil, value("done")) // its line is empty, and it lives on
	next, pn := w.join("new", "A")
	gone, at, err := w.e.recordEnd(old.(*session).m, false)
	if err != nil {
		t.Fatal(err)
	}
	old.Release(a)
	second := tell(client, a.Type, a.ID)
	w.send(client, engine.Attempt{}, second)
	if slices.Contains(pn.delivered(), second.ID) {
		t.Error("placed anew before the failure of its component counts")
	}
	if err := w.e.commit(at); err != nil {
		t.Fatal(err)
	}
	if err := w.e.replace(gone); err != nil {
		t.Fatal(err)
	}
	token := pn.delivery(t, second.ID, 1).Token
	w.finish(next, attempt(second, 1), nil, value("done"))
	old.Release(a)
	third := tell(client, a.Type, a.ID)
	w.send(client, engine.Attempt{}, third)
	if d := pn.delivery(t, third.ID, 1); d.Token != token {
		t.Error("a failed component has released an actor of its successor")
	}
}
