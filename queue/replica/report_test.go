package replica

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/pawl-go/pawl/queue"
)

func sinkReport(host HostID) Report {
	return Report{
		Stats: Stats{
			Queue: "orders", Host: host, Role: "sink", Source: 1, Epoch: "3.1", LastIn: "3.1", Last: queue.NewIndex(1, 4),
			Counted: queue.NewIndex(1, 3), Trust: "whole", Need: 2, Promises: 2,
		},
		Peers: []PeerStats{{Host: 1, Name: "one", Connected: true, HeardMS: 7}, {Host: 3, Name: "three", HeardMS: -1, Why: "gone"}},
	}
}

func encodeReport(t testing.TB, r Report) []byte {
	t.Helper()
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestReportRoundTrip(t *testing.T) {
	want := sinkReport(2)
	want.Sinks = []SinkStats{{Host: 3, State: "live", Sent: queue.NewIndex(1, 4)}}
	got, err := decodeReport(encodeReport(t, want), 2, "orders")
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("%+v, %v, want %+v", got, err, want)
	}
}

// TestReportsThatNoHostMakes are refused, and what is printed of a report cannot
// touch the terminal.
func TestReportsThatNoHostMakes(t *testing.T) {
	for name, spoil := range map[string]func(*Report){
		"of another host":  func(r *Report) { r.Host = 3 },
		"of another queue": func(r *Report) { r.Queue = "others" },
		"no role":          func(r *Report) { r.Role = "king" },
		"no epoch":         func(r *Report) { r.Epoch = "1" },
		"no source":        func(r *Report) { r.Source = 200 },
		"many sinks":       func(r *Report) { r.Sinks = make([]SinkStats, 128) },
		"many peers":       func(r *Report) { r.Peers = make([]PeerStats, 128) },
	} {
		r := sinkReport(2)
		spoil(&r)
		if _, err := decodeReport(encodeReport(t, r), 2, "orders"); !errors.Is(err, errReport) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, text := range []string{"", "{", "[]", `{"last":"x"}`, `{"host":-1}`, strings.Repeat("[", 10_000)} {
		if _, err := decodeReport([]byte(text), 2, "orders"); !errors.Is(err, errReport) {
			t.Errorf("%.20q: %v", text, err)
		}
	}
	r := sinkReport(2)
	r.Failed, r.Peers[0].Why = "\x1b[2Jgone", strings.Repeat("x", 2*maxText)
	got, err := decodeReport(encodeReport(t, r), 2, "orders")
	if err != nil || got.Failed != "?[2Jgone" || len(got.Peers[0].Why) != maxText {
		t.Errorf("%q %d %v", got.Failed, len(got.Peers[0].Why), err)
	}
}

func FuzzReport(f *testing.F) {
	f.Add(encodeReport(f, sinkReport(2)))
	f.Add([]byte(`{"host":2,"queue":"orders","role":"source","epoch":"1.2"}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := decodeReport(b, 2, "orders")
		if err != nil {
			if !errors.Is(err, errReport) {
				t.Fatal(err)
			}
			return
		}
		again, err := decodeReport(encodeReport(t, r), 2, "orders")
		if err != nil || !reflect.DeepEqual(encodeReport(t, again), encodeReport(t, r)) {
			t.Fatalf("%+v is read again as %+v, %v", r, again, err)
		}
		own := sinkReport(1)
		own.Peers = []PeerStats{{Host: 2, Name: "two", Connected: true}}
		if o := overview("one", own, []answer{{report: r}}); !o.row(2).Reached || o.row(2).Role != r.Role {
			t.Fatalf("%+v of %+v", o, r)
		}
	})
}

// TestTwoSources: the one of the newer epoch is the source, and the other is told of.
func TestTwoSources(t *testing.T) {
	old, newer := sinkReport(1), sinkReport(2)
	old.Role, old.Source, old.Epoch, old.Gap = "source", 1, "3.1", 9
	old.Peers = []PeerStats{{Host: 2, Name: "two", HeardMS: 3}, {Host: 3, Name: "three", HeardMS: 4, Connected: true}}
	newer.Role, newer.Source, newer.Epoch, newer.Single = "source", 2, "4.2", 2
	newer.Sinks = []SinkStats{{Host: 1, State: "down", Gap: 100}, {Host: 3, State: "copying", Sent: 8, Received: 7, Appended: 6, Flushed: 5, Gap: 2}}
	o := overview("one", old, []answer{{report: newer}, {err: errSilent}})
	if o.Source != 2 || o.Epoch != "4.2" || len(o.Warnings) != 2 ||
		!strings.Contains(o.Warnings[0], "host 1 takes itself for the source too") || !strings.Contains(o.Warnings[1], "only host 2") {
		t.Errorf("%+v", o)
	}
	one, three := o.row(1), o.row(3)
	if *one.Gap != 9 || one.State != "down" || one.Sent != nil || one.HeardMS != 0 {
		t.Errorf("%+v", one)
	}
	if three.Reached || three.State != "copying" || *three.Sent != 8 || *three.Received != 7 || *three.Appended != 6 || *three.Flushed != 5 ||
		*three.Gap != 2 || three.Applied != nil || len(three.HeardBy) != 1 || three.HeardBy[0] != 1 {
		t.Errorf("%+v", three)
	}
}
