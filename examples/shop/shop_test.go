package shop

import (
	"errors"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/pawl-go/pawl/internal/rig"
)

func TestMain(m *testing.M) {
	code := m.Run()
	rig.Clean()
	os.Exit(code)
}

// TestDay is a short day, on which each process may be killed.
func TestDay(t *testing.T) {
	rig.Node(t)
	rig.Python(t)
	dir, err := os.MkdirTemp("", "pawl") //nolint:usetesting // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	d := Day{
		Dir: dir, Pawl: rig.Pawl(t), Order: rig.Build(t, "./examples/shop/cmd/order"),
		Orders: 40, Customers: 4, Kills: 4, Seed: rand.Uint64(), Out: t.Output(),
	}
	t.Logf("seed %d", d.Seed)
	r, err := d.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if r.Orders != d.Orders || r.Kills != d.Kills {
		t.Errorf("%+v", r)
	}
}

func TestDayRefusesWhatItCannotDo(t *testing.T) {
	for _, d := range []Day{
		{Orders: 1, Customers: 1},
		{Orders: 2, Customers: 0},
		{Orders: 2, Customers: 2, Kills: 2},
		{Orders: 2, Customers: 1, Kills: -1},
	} {
		if _, err := d.Run(t.Context()); err == nil {
			t.Errorf("%+v: no error", d)
		}
	}
}

func TestPlaceRefusesAnOrderOfNothing(t *testing.T) {
	for _, p := range []Purchase{{}, {Customer: "ann", City: "Oslo"}, {Customer: "ann", City: "Oslo", Amount: -1}, {City: "Oslo", Amount: 1}} {
		if _, err := new(Order).Place(t.Context(), p); !errors.Is(err, ErrNothing) {
			t.Errorf("%+v: %v", p, err)
		}
	}
}

// TestBooks has books that are right, and each way of being wrong.
func TestBooks(t *testing.T) {
	orders := []sold{
		{"1", Purchase{"ann", "Oslo", 5}, Receipt{"1", 5, "Oslo", 1}},
		{"2", Purchase{"ann", "Oslo", 3}, Receipt{"2", 3, "Oslo", 2}},
		{"3", Purchase{"bob", "Lima", 7}, Receipt{"3", 7, "Lima", 1}},
	}
	right := func() *books {
		return &books{
			Paid:     map[string]int{"1": 5, "2": 3, "3": 7},
			Accounts: map[string]account{"ann": {8, map[string]int{"1": 5, "2": 3}}, "bob": {7, map[string]int{"3": 7}}},
			Sent:     map[string]map[string]int{"Oslo": {"1": 1, "2": 2}, "Lima": {"3": 1}, "Accra": {}},
		}
	}
	if err := right().check(orders); err != nil {
		t.Error(err)
	}
	for name, c := range map[string]struct {
		change func(*books)
		want   string
	}{
		"charged twice":           {func(b *books) { b.Accounts["bob"] = account{14, map[string]int{"3": 7}} }, "bob has paid 14"},
		"not charged":             {func(b *books) { delete(b.Accounts["ann"].Orders, "2") }, "2: ann has paid 0, not 3"},
		"charged for nothing":     {func(b *books) { b.Accounts["ann"].Orders["9"] = 0 }, "ann has paid 8 for 3 orders"},
		"the order knows nothing": {func(b *books) { b.Paid["1"] = 0 }, "the order has 0"},
		"not shipped":             {func(b *books) { delete(b.Sent["Lima"], "3") }, "parcel 0 goes to Lima"},
		"shipped for nothing":     {func(b *books) { b.Sent["Accra"]["9"] = 1 }, "Accra gets 1 parcels for 0 orders"},
		"one number twice":        {func(b *books) { b.Sent["Oslo"]["2"] = 1 }, "with the numbers"},
	} {
		b := right()
		c.change(b)
		if err := b.check(orders); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}
