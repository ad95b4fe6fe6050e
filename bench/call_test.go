package bench_test

import (
	"testing"
	"time"

	"github.com/pawl-go/pawl/bench"
)

func TestCallSmoke(t *testing.T) {
	for _, o := range []bench.CallOptions{
		{Durability: "process"},
		{Durability: "process", Clients: 8, Keys: 20},
		{Durability: "disk", Clients: 8, Keys: 20, Depth: 3},
		{Durability: "process", Clients: 3, Keys: 2, Depth: 2, Ops: 100},
	} {
		o.Duration, o.Dir = 100*time.Millisecond, t.TempDir()
		r, err := bench.Call(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		if r.Ops == 0 || r.P50 == 0 || r.ProbeOpsPerS == 0 || r.FlushP50 == 0 {
			t.Errorf("%+v", r)
		}
		t.Logf("%s, %d clients, %d deep: %.0f/s, p50 %v us, %d bytes", o.Durability, r.Clients, r.Depth, r.OpsPerS, r.P50, r.ProbeBytes)
	}
}

func TestCallRefusesADurability(t *testing.T) {
	if _, err := bench.Call(t.Context(), bench.CallOptions{Durability: "hope"}); err == nil {
		t.Error("no error")
	}
}
