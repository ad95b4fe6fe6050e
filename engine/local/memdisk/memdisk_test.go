package memdisk_test

import (
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/engine/enginetest"
	"github.com/pawl-go/pawl/engine/local/memdisk"
	"github.com/pawl-go/pawl/queue"
)

var options = engine.Options{App: "test", Logger: slog.New(slog.DiscardHandler)}

func open(t testing.TB, d *memdisk.Disk, durability queue.Durability) engine.Engine {
	t.Helper()
	eng, err := d.Open(durability, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { eng.Close() })
	return eng
}

func BenchmarkOpen(b *testing.B) {
	for b.Loop() {
		eng, err := memdisk.New(1).Open(queue.Process, options)
		if err != nil {
			b.Fatal(err)
		}
		eng.Close()
	}
}

func BenchmarkCrashAndOpen(b *testing.B) {
	d := memdisk.New(1)
	eng, _ := d.Open(queue.Process, options)
	for b.Loop() {
		next := d.Crash()
		eng.Close()
		var err error
		if eng, err = next.Open(queue.Process, options); err != nil {
			b.Fatal(err)
		}
		d = next
	}
	eng.Close()
}

// harness runs the conformance suite on disks in memory.
type harness struct {
	durability queue.Durability
	options    engine.Options
	disk       *memdisk.Disk
	eng        engine.Engine
}

func (h *harness) Open(t *testing.T, o engine.Options) engine.Engine {
	h.options, h.disk = o, memdisk.New(1)
	return h.open(t)
}

func (h *harness) open(t *testing.T) engine.Engine {
	t.Helper()
	eng, err := h.disk.Open(h.durability, h.options)
	if err != nil {
		t.Fatal(err)
	}
	h.eng = eng
	t.Cleanup(func() { eng.Close() })
	return eng
}

func (h *harness) Fail(t *testing.T, s engine.Session) {
	t.Helper()
	if err := h.eng.(interface{ Fail(engine.Session) error }).Fail(s); err != nil {
		t.Fatal(err)
	}
}

func (h *harness) Crash(t *testing.T) engine.Engine {
	h.disk = h.disk.Kill() // what the suite expects
	return h.open(t)
}

// TestConformance: an engine on a disk in memory is an engine.
func TestConformance(t *testing.T) {
	for _, d := range []queue.Durability{queue.Process, queue.Disk} {
		t.Run(d.String(), func(t *testing.T) {
			enginetest.Run(t, func(*testing.T) enginetest.Harness { return &harness{durability: d} })
		})
	}
}

// TestCrash: what was acknowledged is there in the next life, and what a
// zombie does is not. What was not acknowledged is lost now and then by a power
// cut, and never by the death of the process.
func TestCrash(t *testing.T) {
	for _, durability := range []queue.Durability{queue.Process, queue.Disk} {
		t.Run(durability.String(), func(t *testing.T) {
			lost := 0
			for seed := range uint64(40) {
				if crash(t, durability, seed) {
					lost++
				}
			}
			if (lost > 0) != (durability == queue.Disk) || lost == 40 {
				t.Errorf("lost the tail %d times", lost)
			}
		})
	}
}

// crash reports whether the record that nobody had waited for is lost.
func crash(t *testing.T, durability queue.Durability, seed uint64) (lost bool) {
	d := memdisk.New(seed)
	eng := open(t, d, durability)
	s := join(t, eng)
	write(t, s, "acknowledged", true)
	write(t, s, "not", false)
	next := d.Crash()
	<-s.Fenced()
	if _, err := s.Send(engine.Attempt{}, &engine.Effects{Reminders: []engine.ReminderChange{reminder("zombie")}}); err == nil {
		t.Errorf("seed %d: a zombie records", seed)
	}
	if err := eng.Close(); err == nil && durability == queue.Disk {
		t.Errorf("seed %d: a dead disk takes what is flushed", seed)
	}
	got, err := join(t, open(t, next, durability)).Reminders(t.Context(), actor)
	if err != nil {
		t.Fatal(err)
	}
	switch {
	case len(got) == 2 && got[0].Name == "acknowledged" && got[1].Name == "not":
		return false
	case len(got) == 1 && got[0].Name == "acknowledged":
		return true
	}
	t.Fatalf("seed %d: %v", seed, got)
	return false
}

var actor = engine.Actor{Type: "A", ID: "1"}

func join(t *testing.T, eng engine.Engine) engine.Session {
	t.Helper()
	s, err := eng.Join(t.Context(), engine.Component{Name: "c"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func reminder(name string) engine.ReminderChange {
	return engine.ReminderChange{Reminder: engine.Reminder{Actor: actor, Name: name, Method: "m", Due: time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC)}}
}

func write(t *testing.T, s engine.Session, name string, wait bool) {
	t.Helper()
	at, err := s.Send(engine.Attempt{}, &engine.Effects{Reminders: []engine.ReminderChange{reminder(name)}})
	if err == nil && wait {
		err = s.Wait(t.Context(), at)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestOneAtATime: a second opening is refused while the first is there.
func TestOneAtATime(t *testing.T) {
	d := memdisk.New(1)
	eng := open(t, d, queue.Process)
	if _, err := d.Open(queue.Process, options); err == nil {
		t.Fatal("opened twice")
	}
	if err := eng.Close(); err != nil {
		t.Fatal(err)
	}
	open(t, d, queue.Process)
}

// TestFull: a full disk takes no record, says why, and takes them again when it has
// room.
func TestFull(t *testing.T) {
	d := memdisk.New(1)
	s := join(t, open(t, d, queue.Process))
	write(t, s, "before", true)
	d.SetFull(true)
	_, err := s.Send(engine.Attempt{}, &engine.Effects{Reminders: []engine.ReminderChange{reminder("refused")}})
	if !errors.Is(err, engine.ErrUnavailable) || !errors.Is(err, queue.ErrFull) {
		t.Errorf("on a full disk: %v", err)
	}
	d.SetFull(false)
	write(t, s, "after", true)
	got, err := s.Reminders(t.Context(), actor)
	if err != nil || len(got) != 2 || got[0].Name != "after" || got[1].Name != "before" {
		t.Errorf("recorded %v, %v; want what was written before and after", got, err)
	}
}
