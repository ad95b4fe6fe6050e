package measure_test

import (
	"crypto/sha256"
	"errors"
	"testing"
	"time"

	"github.com/pawl-go/pawl/bench/measure"
)

func TestLoadCountsOps(t *testing.T) {
	res, err := measure.Load{Clients: 3, Ops: 100}.Run(t.Context(), func(int, int) error { return nil })
	if err != nil || res.Ops != 100 || res.Latencies.TotalCount() != 100 {
		t.Errorf("%+v, %v", res, err)
	}
}

func TestLoadEndsAtAnError(t *testing.T) {
	bad := errors.New("bad")
	_, err := measure.Load{Clients: 3, Duration: time.Hour, Warm: time.Hour}.Run(t.Context(), func(c, n int) error {
		if c == 1 && n == 10 {
			return bad
		}
		return nil
	})
	if !errors.Is(err, bad) {
		t.Error(err)
	}
}

// However soon the time is over, there is something to tell.
func TestLoadDoesOneEach(t *testing.T) {
	const clients = 100
	work := make([]byte, 1<<20) // keeps the processors while the time runs out
	r, err := measure.Load{Clients: clients, Duration: 1, Warm: -1}.Run(t.Context(), func(int, int) error {
		sha256.Sum256(work)
		return nil
	})
	if err != nil || r.Ops < clients {
		t.Errorf("%d operations of %d clients, %v", r.Ops, clients, err)
	}
}

func TestLoadUntimed(t *testing.T) {
	r, err := measure.Load{Ops: 10, Warm: -1, Untimed: true}.Run(t.Context(), func(int, int) error { return nil })
	if err != nil || r.Ops != 10 || r.Latencies != nil {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestProbe(t *testing.T) {
	for _, durability := range []string{measure.Process, measure.Disk} {
		for _, depth := range []int{1, 3} {
			load := measure.Load{Clients: 4, Duration: 50 * time.Millisecond}
			res, err := measure.Probe(t.Context(), t.TempDir(), durability, depth, 60, 80, load)
			if err != nil {
				t.Fatal(err)
			}
			var r measure.Report
			r.Take(res)
			t.Logf("%s, %d deep: %.0f/s, p50 %v us", durability, depth, r.OpsPerS, r.P50)
			if res.Ops == 0 {
				t.Error("nothing done")
			}
		}
	}
	h, err := measure.Flushes(t.Context(), t.TempDir(), 140, 20*time.Millisecond)
	if err != nil || h.TotalCount() == 0 {
		t.Error(err)
	}
	t.Logf("a bare flush: p50 %v us, p99 %v us", measure.Micros(h, 50), measure.Micros(h, 99))
}
