package messages_test

import (
	"strings"
	"testing"
	"time"

	"github.com/pawl-go/pawl/bench/messages"
)

// lossy loses the hundredth message.
type lossy struct{ *messages.Channel }

func (l lossy) Teller(p messages.Place) func([]byte) error {
	send, n := l.Channel.Teller(p), 0
	if send == nil {
		return nil
	}
	return func(m []byte) error {
		if n++; n == 100 {
			return nil
		}
		return send(m)
	}
}

func run(t *testing.T, s messages.System) (*messages.Report, error) {
	t.Helper()
	return messages.Run(t.Context(), []messages.System{s}, time.Millisecond, func(string, float64, int64) {})
}

// A system that loses a message has no figures.
func TestLossIsFound(t *testing.T) {
	c := messages.NewChannel()
	defer c.Close()
	if r, err := run(t, c); err != nil || len(r.Figures) != 2 {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := run(t, lossy{c}); err == nil || !strings.Contains(err.Error(), "of 50000 messages 49999 were handled") {
		t.Error(err)
	}
}

func TestRatios(t *testing.T) {
	ours := &messages.Report{Figures: []messages.Figure{{Job: "local-ask", System: "ours", OpsPerS: 30, P50: 2, P99: 4, CPUPerOp: 5}}}
	theirs := &messages.Report{Figures: []messages.Figure{{Job: "local-ask", System: "theirs", OpsPerS: 10, P50: 8, P99: 2, CPUPerOp: 10}}}
	ours.Add(theirs)
	want := messages.Ratio{Job: "local-ask", System: "ours", Against: "theirs", MoreOps: 3, LessP50: 4, LessP99: 0.5, LessCPU: 2}
	if len(ours.Figures) != 2 || len(ours.Ratios) != 1 || ours.Ratios[0] != want {
		t.Errorf("%+v", ours)
	}
	ours.Print(t.Output())
}
