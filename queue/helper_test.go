package queue

import (
	"testing"
	"time"
)

// TestPace: who takes at least as long as slowPace would is slow.
func TestPace(t *testing.T) {
	var p pace
	now := time.Unix(0, 0)
	for _, step := range []struct {
		took time.Duration
		n    int64
		slow bool
	}{
		{0, touchAhead, true}, // the first time
		{time.Second, slowPace, true},
		{time.Second, slowPace + 1, false},
		{time.Millisecond, touchAhead / 4, false},
		{time.Hour, touchAhead, true},
		{0, pageSize, false},
	} {
		now = now.Add(step.took)
		if slow := p.slow(step.n, now); slow != step.slow {
			t.Errorf("%d bytes in %v: slow is %v", step.n, step.took, slow)
		}
	}
}
