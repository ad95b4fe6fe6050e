package local

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/queue"
)

func TestURLIsReadStrictly(t *testing.T) {
	dir := t.TempDir()
	for _, tc := range []struct{ url, says string }{
		{"local:", "no directory"},
		{"local:" + dir + "?durable=disk", "there are: checkpoint, cycle, durability, host, queue, replication, retain, retain_bytes"},
		{"local:" + dir + "?durability=none", "process, disk"},
		{"local:" + dir + "?checkpoint=64", "below the least size"},
		{"local:" + dir + "?checkpoint=64MB", "write 64MiB"},
		{"local:" + dir + "?cycle=10000", "multiple of 4KiB"},
		{"local:" + dir + "?retain=-1s", "negative"},
		{"local:" + dir + "?retain=soon", "invalid duration"},
		{"local:" + dir + "?cycle=1MiB&cycle=2MiB", "given 2 times"},
		{"local://host/x", "names a host"},
		{"local:" + dir + "#x", "fragment"},
	} {
		_, err := engine.Open(t.Context(), tc.url, engine.Options{App: "test"})
		if err == nil || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: %v; want it to say %q", tc.url, err, tc.says)
		}
	}
	if _, err := engine.Open(t.Context(), "local:"+dir, engine.Options{}); err == nil {
		t.Error("opened without an application")
	}
	if _, err := engine.Open(t.Context(), "local:"+dir, engine.Options{App: "a", Mailbox: -1}); err == nil {
		t.Error("opened with a negative limit")
	}
}

func TestDirectoryIsPrivate(t *testing.T) {
	w := newWorld(t, "cycle=64KiB")
	st, err := os.Stat(w.dir)
	if err != nil || st.Mode().Perm() != 0o700 {
		t.Errorf("%v %v", st.Mode(), err)
	}
}

func TestOpenedTwiceItIsOneEngine(t *testing.T) {
	w := newWorld(t, "cycle=64KiB&durability=process")
	h, err := engine.Open(t.Context(), w.url, w.opts)
	if err != nil {
		t.Fatal(err)
	}
	if h.(*handle).Engine != w.e {
		t.Error("another engine")
	}
	if _, err := engine.Open(t.Context(), "local:"+w.dir+"?durability=disk", w.opts); err == nil || !strings.Contains(err.Error(), "durability process") {
		t.Errorf("another durability: %v", err)
	}
	o := w.opts
	o.App = "other"
	if _, err := engine.Open(t.Context(), w.url, o); err == nil || !strings.Contains(err.Error(), `"test"`) {
		t.Errorf("another application: %v", err)
	}
	if err := errors.Join(h.Close(), h.Close()); err != nil {
		t.Fatal(err)
	}
	s, p := w.join("c", "A") // the first opening goes on
	r := call(s, "A", "1")
	w.send(s, engine.Attempt{}, r)
	p.delivery(t, r.ID, 1)
}

func TestDataBelongToOneApplication(t *testing.T) {
	w := newWorld(t, "cycle=64KiB")
	if err := w.h.Close(); err != nil {
		t.Fatal(err)
	}
	w.opts.App = "other"
	if _, err := engine.Open(t.Context(), w.url, w.opts); err == nil || !strings.Contains(err.Error(), `belong to the application "test"`) {
		t.Errorf("%v", err)
	}
	w.opts.App = "test"
	w.open()
}

func TestLockNamesItsHolder(t *testing.T) {
	w := prepareWorld(t, "cycle=64KiB")
	q, err := queue.Open(filepath.Join(w.dir, "journal"), queue.Config{CycleBytes: 64 << 10})
	if err != nil {
		t.Fatal(err)
	}
	_, err = engine.Open(t.Context(), w.url, w.opts)
	if locked, ok := errors.AsType[*queue.LockedError](err); !ok || locked.Holder.PID != os.Getpid() {
		t.Errorf("%v", err)
	}
	if err := q.Close(); err != nil {
		t.Fatal(err)
	}
	w.open()
	if err := w.h.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestClosedEngineIsUnavailable(t *testing.T) {
	w := newWorld(t, "cycle=64KiB")
	s, _ := w.join("c", "A")
	if err := w.h.Close(); err != nil {
		t.Fatal(err)
	}
	<-s.Fenced()
	_, err := s.Send(engine.Attempt{}, &engine.Effects{Requests: []*engine.Request{call(s, "A", "1")}})
	if engine.CodeOf(err) != engine.ErrUnavailable {
		t.Errorf("send: %v", err)
	}
	if _, err := s.Load(t.Context(), engine.Actor{Type: "A"}); engine.CodeOf(err) != engine.ErrUnavailable {
		t.Errorf("load: %v", err)
	}
	if _, err := w.h.Join(t.Context(), engine.Component{Name: "d"}, newProbe()); engine.CodeOf(err) != engine.ErrUnavailable {
		t.Errorf("join: %v", err)
	}
	if err := s.Leave(t.Context()); err != nil {
		t.Errorf("leave: %v", err)
	}
}

func TestTwoComponentsOfOneNameAreRefused(t *testing.T) {
	w := newWorld(t, "cycle=64KiB")
	s, _ := w.join("c", "A")
	if _, err := w.h.Join(t.Context(), engine.Component{Name: "c"}, newProbe()); err == nil {
		t.Error("joined twice")
	}
	if err := s.Leave(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.join("c", "A")
}
