package pawltest

import (
	"fmt"
	"testing"
)

// Find is Explore, but returns the report of the first failure instead of failing
// the test, and how many schedules it took.
func Find(t *testing.T, scenario func(*World), opts ...Option) (report, schedule string, tried int) {
	t.Helper()
	cfg, err := newConfig(opts, false)
	if err != nil {
		t.Fatal(err)
	}
	e := newExplorer(t, cfg, scenario)
	w := e.explore()
	t.Log(e.tally())
	if w == nil {
		return "", "", e.total()
	}
	return w.report(), w.plan.String(), e.total()
}

// Replay runs one schedule, and gives its timeline and what it says.
func Replay(t *testing.T, schedule string, scenario func(*World), opts ...Option) (timeline, report string) {
	t.Helper()
	cfg, err := newConfig(opts, false)
	if err != nil {
		t.Fatal(err)
	}
	s, err := parseSchedule(schedule)
	if err != nil {
		t.Fatal(err)
	}
	w := play(t, cfg, s, scenario)
	if w.Failed() {
		report = w.report()
	}
	return w.Timeline(), report
}

// SchedulesOf gives the schedules with one failure more than one has.
func SchedulesOf(t *testing.T, schedule string, scenario func(*World), opts ...Option) []string {
	t.Helper()
	cfg, err := newConfig(opts, false)
	if err != nil {
		t.Fatal(err)
	}
	s, err := parseSchedule(schedule)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, more := range play(t, cfg, s, scenario).more() {
		list = append(list, more.String())
	}
	return list
}

// CheckOptions says what is wrong with options.
func CheckOptions(opts ...Option) error {
	_, err := newConfig(opts, false)
	return err
}

// CheckSchedule reads a schedule and writes it again.
func CheckSchedule(text string) error {
	s, err := parseSchedule(text)
	if err == nil && s.String() != text {
		return fmt.Errorf("%q becomes %q", text, s)
	}
	return err
}
