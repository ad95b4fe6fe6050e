package gauges

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pawl-go/pawl/queue"
	"github.com/pawl-go/pawl/queue/replica"
)

type fixed []replica.Stats

func (f fixed) Stats() []replica.Stats { return f }

func TestGauges(t *testing.T) {
	stats := fixed{
		{
			Queue: "orders", Role: "source", Last: queue.NewIndex(2, 5), Counted: queue.NewIndex(2, 3), Flushed: 7, Gap: 2,
			Sinks: []replica.SinkStats{{Host: 9, State: "live", Sent: 5, Received: 4, Appended: 3, Flushed: 2, Gap: 1}},
		},
		{Queue: "others", Role: "sink", Locked: "this host is not the source", Failed: "its disk"},
	}
	reg := prometheus.NewPedanticRegistry()
	reg.MustRegister(New(stats))
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			name := strings.TrimPrefix(f.GetName(), "pawl_queue_")
			for _, l := range m.GetLabel() {
				name += " " + l.GetValue()
			}
			got[name] = m.GetGauge().GetValue()
		}
	}
	want := map[string]float64{
		"role orders source": 1, "role others sink": 1, "locked orders": 0, "locked others": 1, "failed orders": 0, "failed others": 1,
		"gap_messages orders": 2, "gap_messages others": 0, "last_index orders": 2<<32 + 5, "counted_index orders": 2<<32 + 3, "flushed_index orders": 7,
		"last_index others": 0, "counted_index others": 0, "flushed_index others": 0,
		"sink_state orders 9 live": 1, "sink_gap_messages orders 9": 1, "sink_sent_index orders 9": 5, "sink_received_index orders 9": 4,
		"sink_appended_index orders 9": 3, "sink_flushed_index orders 9": 2,
	}
	for name, v := range want {
		if have, ok := got[name]; !ok || have != v {
			t.Errorf("%s is %v (there: %t), want %v", name, have, ok, v)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d gauges, want %d: %v", len(got), len(want), got)
	}
}
