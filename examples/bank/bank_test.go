package bank

import (
	"errors"
	"maps"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/pawl-go/pawl"
	"github.com/pawl-go/pawl/examples/internal/crash"
)

func TestMain(m *testing.M) {
	crash.Main(map[string]crash.App{"bank": Child})
	os.Exit(m.Run())
}

func TestTransfer(t *testing.T) {
	app, err := Open(t.Context(), "local:"+t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer app.Close()
	ctx := app.Context(t.Context())
	alice, bob := pawl.Actor[*Account]("alice"), pawl.Actor[*Account]("bob")
	for _, a := range []pawl.Ref[*Account]{alice, bob, alice} {
		if b, err := pawl.Call(ctx, a, (*Account).Open, 100); b != 100 || err != nil {
			t.Fatalf("Open %v = %d, %v; want 100", a, b, err)
		}
	}
	o := Order{From: alice, To: bob, Amount: 30}
	if b, err := pawl.Call(ctx, pawl.Actor[*Transfer]("rent"), (*Transfer).Begin, o); b != 130 || err != nil {
		t.Errorf("transfer = %d, %v; want bob's 130", b, err)
	}
	o.Amount = 71
	if _, err := pawl.Call(ctx, pawl.Actor[*Transfer]("car"), (*Transfer).Begin, o); !errors.Is(err, ErrNoFunds) {
		t.Errorf("transfer of more than there is: %v, want ErrNoFunds", err)
	}
	s, err := pawl.Call(ctx, alice, (*Account).Statement, pawl.None{})
	if err != nil || s.Balance != 70 || !maps.Equal(s.Moves, map[string]int64{"rent": -30}) {
		t.Errorf("alice's statement %+v, %v", s, err)
	}
}

func TestTheTotalNeverChanges(t *testing.T) {
	const transfers, kills = 2000, 5
	for _, durability := range []string{"process", "disk"} {
		t.Run(durability, func(t *testing.T) {
			run := crash.Run{
				Job:   crash.Job{Dir: t.TempDir(), Durability: durability, Rate: 4000},
				Kills: kills, Seed: rand.Uint64(), Early: 0.2,
			}
			t.Logf("seed %d", run.Seed)
			result, err := Run(t.Context(), run, transfers)
			if err != nil {
				t.Fatal(err)
			}
			if len(result.Kills) == 0 {
				t.Error("no kill landed")
			}
			v, err := Audit(t.Context(), run.Job.Engine(), transfers)
			if err != nil {
				t.Fatal(err)
			}
			if v.Made == 0 || v.Refused == 0 {
				t.Errorf("%d transfers made, %d refused: want some of both", v.Made, v.Refused)
			}
			for _, d := range v.Differences {
				t.Error(d)
			}
		})
	}
}

// books returns what the accounts and the ledger must have after so many
// transfers.
func books(transfers int) ([]Statement, Totals) {
	all, totals := make([]Statement, accounts), Totals{}
	for n := range all {
		all[n] = Statement{Balance: first, Moves: map[string]int64{}}
	}
	for unit := range transfers {
		m, id := moveOf(unit), transfer(unit).ID
		if all[m.from].Balance < m.amount {
			continue
		}
		all[m.from].Balance -= m.amount
		all[m.to].Balance += m.amount
		all[m.from].Moves[id], all[m.to].Moves[id] = -m.amount, m.amount
		totals.Deposits++
		totals.Volume += m.amount
	}
	return all, totals
}

func TestJudge(t *testing.T) {
	all, totals := books(300)
	if v := judge(all, totals, 300); !v.OK() || v.Made == 0 || v.Refused == 0 {
		t.Errorf("verdict over a right state: %+v", v)
	}
	m, id := moveOf(0), transfer(0).ID
	for name, doctor := range map[string]func([]Statement, *Totals){
		"lost money":           func(all []Statement, _ *Totals) { all[3].Balance-- },
		"money from money":     func(all []Statement, _ *Totals) { all[3].Balance++ },
		"a withdrawal only":    func(all []Statement, _ *Totals) { all[m.to].Balance -= m.amount; delete(all[m.to].Moves, id) },
		"a deposit only":       func(all []Statement, _ *Totals) { all[m.from].Balance += m.amount; delete(all[m.from].Moves, id) },
		"deposited twice":      func(all []Statement, _ *Totals) { all[m.to].Balance += m.amount },
		"a deposit not told":   func(_ []Statement, t *Totals) { t.Deposits--; t.Volume -= m.amount },
		"a deposit told twice": func(_ []Statement, t *Totals) { t.Deposits++; t.Volume += m.amount },
		"nobody's transfer": func(all []Statement, _ *Totals) {
			all[1].Moves["x"], all[2].Moves["x"] = -1, 1
			all[1].Balance--
			all[2].Balance++
		},
	} {
		all, totals := books(300)
		doctor(all, &totals)
		if judge(all, totals, 300).OK() {
			t.Errorf("%s: the verdict accepts it", name)
		}
	}
}
