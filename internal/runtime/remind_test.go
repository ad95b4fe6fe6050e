package runtime

import (
	"testing"
	"time"

	"github.com/pawl-go/pawl/engine"
)

func TestComesFrom(t *testing.T) {
	due := time.Unix(1000, 0)
	set := engine.Reminder{Method: "M", Payload: []byte("1"), Due: due, Every: time.Minute}
	for name, c := range map[string]struct {
		change func(*engine.Reminder)
		want   bool
	}{
		"as it was set":          {func(*engine.Reminder) {}, true},
		"having fired":           {func(r *engine.Reminder) { r.Due = due.Add(3 * time.Minute) }, true},
		"due before":             {func(r *engine.Reminder) { r.Due = due.Add(-time.Minute) }, false},
		"out of step":            {func(r *engine.Reminder) { r.Due = due.Add(time.Second) }, false},
		"another method":         {func(r *engine.Reminder) { r.Method = "N" }, false},
		"another argument":       {func(r *engine.Reminder) { r.Payload = nil }, false},
		"another period":         {func(r *engine.Reminder) { r.Every = time.Hour }, false},
		"another way of misfire": {func(r *engine.Reminder) { r.Misfire = engine.FireAll }, false},
	} {
		r := set
		c.change(&r)
		if got := comesFrom(&r, &set); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	once := set
	once.Every = 0
	later := once
	later.Due = due.Add(time.Minute)
	if !comesFrom(&once, &once) || comesFrom(&later, &once) {
		t.Error("one for once has one time")
	}
}
