package core

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// linkSteps runs events, separated by ticks of 100 ms, and notes what comes out.
type linkSteps struct {
	t   *testing.T
	l   *Link
	now time.Time
}

func newLinkSteps(t *testing.T, self, peer HostID) *linkSteps {
	l, err := NewLink(self, peer, time.Second, 1500*time.Millisecond, 1)
	if err != nil {
		t.Fatal(err)
	}
	return &linkSteps{t, l, time.Unix(0, 0)}
}

// wait ticks for d and returns what that led to, with the time of each.
func (s *linkSteps) wait(d time.Duration) []string {
	var out []string
	for end := s.now.Add(d); s.now.Before(end); {
		s.now = s.now.Add(100 * time.Millisecond)
		for _, e := range s.l.Step(LinkTick{s.now}) {
			out = append(out, fmt.Sprintf("%dms %T", s.now.UnixMilli(), e))
		}
	}
	return out
}

func (s *linkSteps) want(got []string, want ...string) {
	s.t.Helper()
	if !slices.Equal(got, want) {
		s.t.Errorf("got %q, want %q", got, want)
	}
}

func (s *linkSteps) step(ev LinkEvent) []string {
	var out []string
	for _, e := range s.l.Step(ev) {
		out = append(out, fmt.Sprintf("%T", e))
	}
	return out
}

func TestLinkHigherDials(t *testing.T) {
	high, low := newLinkSteps(t, 2, 1), newLinkSteps(t, 1, 2)
	high.want(high.wait(time.Second), "100ms core.Dial")
	low.want(low.wait(10 * time.Second))
	if !high.l.Dials() || low.l.Dials() {
		t.Error("the wrong host dials")
	}
}

func TestLinkHearsOnlyWhatComesIn(t *testing.T) {
	s := newLinkSteps(t, 2, 1)
	s.wait(100 * time.Millisecond)
	s.want(s.step(LinkUp{7}), "core.TellUp")
	s.want(s.wait(1200*time.Millisecond), "1100ms core.Beat")
	s.step(LinkHeard{7})
	// It goes on sending, hears nothing, and gives up 1.5 s after it heard last.
	s.want(s.wait(1500*time.Millisecond), "2100ms core.Beat", "2800ms core.Hang", "2800ms core.TellDown")
	s.want(s.step(LinkHeard{7}))
	s.want(s.step(LinkDown{7}))
}

func TestLinkBacksOff(t *testing.T) {
	s := newLinkSteps(t, 2, 1)
	var gaps []time.Duration
	var last time.Time
	for len(gaps) < 12 {
		if out := s.wait(100 * time.Millisecond); len(out) == 1 {
			if !last.IsZero() {
				gaps = append(gaps, s.now.Sub(last))
			}
			last = s.now
			s.step(DialFailed{})
		}
	}
	if gaps[0] > 200*time.Millisecond || gaps[11] < 2*time.Second || slices.Max(gaps) > maxBackoff+100*time.Millisecond {
		t.Errorf("redials after %v", gaps)
	}
	// A connection that does not last is no success, one that does is.
	s.step(LinkUp{1})
	s.step(LinkDown{1})
	if s.l.backoff != maxBackoff {
		t.Errorf("backoff after a short connection: %v", s.l.backoff)
	}
	s.step(LinkUp{2})
	for range 20 {
		s.wait(100 * time.Millisecond)
		s.step(LinkHeard{2})
	}
	s.step(LinkDown{2})
	if s.l.backoff != minBackoff {
		t.Errorf("backoff after a long connection: %v", s.l.backoff)
	}
}

// A peer that dies ten times in a row, each time after a short life, is dialled as soon
// after the last death as after the first.
func TestLinkComesBackAfterManyDeaths(t *testing.T) {
	s := newLinkSteps(t, 2, 1)
	for death := range 10 {
		var dials int
		for up := s.now.Add(2 * time.Second); s.now.Before(up); { // it is down
			for range s.wait(100 * time.Millisecond) {
				dials++
				s.step(DialFailed{})
			}
		}
		if dials < 5 {
			t.Errorf("after death %d: dialled %d times in two seconds", death, dials)
		}
		s.want(s.step(LinkUp{uint64(death)}), "core.TellUp")
		s.wait(300 * time.Millisecond)
		s.step(LinkDown{uint64(death)})
	}
}

func TestLinkIsReplaced(t *testing.T) {
	s := newLinkSteps(t, 1, 2)
	s.wait(100 * time.Millisecond)
	s.step(LinkUp{1})
	s.want(s.step(LinkUp{2}), "core.TellDown", "core.Hang", "core.TellUp")
	s.want(s.step(LinkDown{1}))
	s.want(s.step(LinkDown{2}), "core.TellDown")
}

func TestNewLinkRefuses(t *testing.T) {
	for _, c := range []struct {
		self, peer        HostID
		interval, timeout time.Duration
	}{{1, 1, 1, 2}, {0, 1, 1, 2}, {1, 128, 1, 2}, {1, 2, 0, 2}, {1, 2, 2, 2}} {
		if _, err := NewLink(c.self, c.peer, c.interval, c.timeout, 0); err == nil {
			t.Errorf("%+v was taken", c)
		}
	}
}
