package v1

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/pawl-go/pawl/engine"
)

// Gauge is a count at one moment, with the name and the help that Prometheus is told.
type Gauge struct {
	Name, Help string
	Value      float64
}

// Gauges are the counts of the engine that a session is of.
func Gauges(ctx context.Context, s engine.Session) ([]Gauge, error) {
	st, err := s.Operator().Stats(ctx)
	if err != nil {
		return nil, err
	}
	return []Gauge{
		{"pawl_pending", "Requests in the flow.", float64(st.Pending)},
		{"pawl_scheduled", "Delayed tells.", float64(st.Scheduled)},
		{"pawl_parked", "Invocations that wait for an operator.", float64(st.Parked)},
		{"pawl_failed", "Tells and reminders that ended with an error.", float64(st.Failed)},
		{"pawl_reminders", "Reminders that are set.", float64(st.Reminders)},
		{"pawl_paused", "Actors that an operator has paused.", float64(len(st.Paused))},
		{"pawl_components", "Living members.", float64(len(s.Members()))},
		{"pawl_epoch", "The engine's epoch.", float64(st.Epoch)},
		{"pawl_journal_bytes", "Size of the journal.", float64(st.JournalBytes)},
		{"pawl_last_position", "The newest record.", float64(st.Last)},
		{"pawl_committed_position", "The newest record that counts.", float64(st.Committed)},
	}, nil
}

// metrics serves GET /metrics, in Prometheus' text format.
func (h *Handler) metrics(w http.ResponseWriter, r *http.Request) error {
	gauges, err := Gauges(r.Context(), h.rt.Session())
	if err != nil {
		return err
	}
	var b strings.Builder
	for _, g := range gauges {
		fmt.Fprintf(&b, "# HELP %[1]s %[2]s\n# TYPE %[1]s gauge\n%[1]s %[3]v\n", g.Name, g.Help, g.Value)
	}
	w.Header().Set("Content-Type", "text/plain; version=0.0.4")
	_, _ = w.Write([]byte(b.String()))
	return nil
}
