package rounds_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/pawl-go/pawl/bench/measure"
	"github.com/pawl-go/pawl/bench/rounds"
)

// play returns the figures one after the other, and notes that it was its turn.
func play(turns *[]string, name string, perS ...float64) rounds.Side {
	n := 0
	return rounds.Side{Name: name, Do: func(context.Context) (rounds.Figure, error) {
		*turns = append(*turns, name)
		n++
		return rounds.Figure{Ops: 2, OpsPerS: perS[n-1], P50: 1}, nil
	}}
}

func TestSidesTakeTurnsAndMediansAreReported(t *testing.T) {
	var turns []string
	job := rounds.Job{Name: "job", Sides: []rounds.Side{play(&turns, "ours", 10, 90, 20), play(&turns, "bare", 20, 100, 80)}}
	r, err := rounds.Run(t.Context(), "title", []rounds.Job{job}, 3, nil)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"ours", "bare", "ours", "bare", "ours", "bare"}; !slices.Equal(turns, want) {
		t.Errorf("turns %v, want %v", turns, want)
	}
	if f := r.Figures; f[0].OpsPerS != 20 || f[1].OpsPerS != 80 || f[0].Ops != 6 {
		t.Errorf("%+v", f)
	}
	// The ratios within a round are 0.5, 0.9 and 0.25: not that of the medians.
	if x := r.Ratios; len(x) != 1 || x[0].Ops != 0.5 || x[0].P50 != 1 || x[0].CPU != 0 || x[0].Against != "bare" {
		t.Errorf("%+v", x)
	}
	var out strings.Builder
	r.Print(&out)
	if !strings.Contains(out.String(), "0.50") {
		t.Error(out.String())
	}
}

// What a round has not measured counts for nothing, and not as zero.
func TestMissingMeasures(t *testing.T) {
	n := 0
	side := func(p99 ...float64) rounds.Side {
		return rounds.Side{Do: func(context.Context) (rounds.Figure, error) {
			n++
			return rounds.Figure{Ops: 1, P99: p99[(n-1)/2]}, nil
		}}
	}
	job := rounds.Job{Name: "job", Sides: []rounds.Side{side(8, 0, 6), side(4, 4, 2)}}
	r, err := rounds.Run(t.Context(), "title", []rounds.Job{job}, 3, nil)
	if err != nil {
		t.Fatal(err)
	}
	if r.Figures[0].P99 != 7 || r.Figures[1].P99 != 4 || r.Ratios[0].P99 != 2.5 || r.Ratios[0].P50 != 0 {
		t.Errorf("%+v", r)
	}
}

func TestPercentilesOfFewOperations(t *testing.T) {
	for _, c := range []struct {
		ops       int
		p99, p999 bool
	}{{99, false, false}, {100, true, false}, {1000, true, true}} {
		res, err := measure.Load{Ops: c.ops, Warm: -1}.Run(t.Context(), func(int, int) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		if f := rounds.Of(res); f.P99 > 0 != c.p99 || f.P999 > 0 != c.p999 || f.P50 == 0 {
			t.Errorf("%d operations: %+v", c.ops, f)
		}
	}
}

func TestAnErrorSaysWhoAndWhat(t *testing.T) {
	bad := errors.New("bad")
	job := rounds.Job{Name: "job", Sides: []rounds.Side{{Name: "ours", Do: func(context.Context) (rounds.Figure, error) {
		return rounds.Figure{}, bad
	}}}}
	_, err := rounds.Run(t.Context(), "title", []rounds.Job{job}, 1, nil)
	if !errors.Is(err, bad) || !strings.Contains(err.Error(), "job with ours") {
		t.Error(err)
	}
}
