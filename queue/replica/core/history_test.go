package core

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/pawl-go/pawl/queue"
)

// A history answers as a plain list of entries would, across rolls, cuts and
// releases.
func TestHistoryIsAList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h, err := newHistory(Log{})
		if err != nil {
			t.Fatal(err)
		}
		var list []Entry // all that was ever there and not cut
		released := 0
		number := uint64(0)
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			switch rapid.IntRange(0, 5).Draw(t, "act") {
			case 0: // cut
				n := rapid.IntRange(released, len(list)).Draw(t, "keep")
				list = list[:n]
				h.truncate(h.at(uint64(n)))
			case 1: // release a whole cycle, and not the last
				n := released
				for n < len(list) && list[n].Index.Cycle() == list[released].Index.Cycle() {
					n++
				}
				if n < len(list) && n > released {
					released = n
					h.release(Base{Index: list[n-1].Index})
				}
			default:
				first := nextIndex(t, list, released)
				var controls []Row
				n := rapid.IntRange(1, 5).Draw(t, "entries")
				for k := range n {
					e := Entry{Index: first + queue.Index(k), Control: rapid.IntRange(0, 3).Draw(t, "control") == 0}
					if e.Control {
						number++
						c := Control{Kind: EpochBegins, Epoch: Epoch{number, 1}}
						e.Payload = c.Encode()
						controls = append(controls, Row{Control: c, Index: e.Index})
					}
					list = append(list, e)
				}
				run := Run{first, first + queue.Index(n-1)}
				if err := h.admits(run); err != nil {
					t.Fatal(err)
				}
				h.append(run, controls)
			}
			compareHistory(t, h, list, released)
		}
	})
}

func nextIndex(t *rapid.T, list []Entry, released int) queue.Index {
	if len(list) == 0 {
		return queue.NewIndex(uint32(rapid.IntRange(1, 3).Draw(t, "cycle")), 0)
	}
	last := list[len(list)-1].Index
	if len(list) == released || rapid.IntRange(0, 2).Draw(t, "roll") == 0 {
		return queue.NewIndex(last.Cycle()+uint32(rapid.IntRange(1, 3).Draw(t, "cycle")), 0)
	}
	return last + 1
}

func compareHistory(t *rapid.T, h *history, list []Entry, released int) {
	var last queue.Index
	if len(list) > 0 {
		last = list[len(list)-1].Index
	}
	if h.last() != last || h.count != uint64(len(list)) {
		t.Fatalf("last %v of %d, want %v of %d", h.last(), h.count, last, len(list))
	}
	var epoch Epoch
	prev := queue.Index(0)
	for k, e := range list {
		if e.Control {
			c, err := DecodeControl(e.Payload)
			if err != nil {
				t.Fatal(err)
			}
			epoch = c.Epoch
		}
		if k < released {
			prev = e.Index
			continue
		}
		if h.countTo(e.Index) != uint64(k+1) || h.at(uint64(k+1)) != e.Index || !h.has(e.Index) || h.prev(e.Index) != prev {
			t.Fatalf("entry %d, %v: count %d, at %v, prev %v, want %v", k, e.Index, h.countTo(e.Index), h.at(uint64(k+1)), h.prev(e.Index), prev)
		}
		if h.epochAt(e.Index) != epoch {
			t.Fatalf("entry %v is in epoch %v, want %v", e.Index, h.epochAt(e.Index), epoch)
		}
		if h.has(queue.NewIndex(e.Index.Cycle()+4, 0)) && h.last().Cycle() < e.Index.Cycle()+4 {
			t.Fatal("it has what is not there")
		}
		messages := uint64(0)
		for _, later := range list[k+1:] {
			if !later.Control {
				messages++
			}
		}
		if got := h.messages(e.Index, last); got != messages {
			t.Fatalf("%d messages behind %v, want %d", got, e.Index, messages)
		}
		prev = e.Index
	}
}

// The fork that two histories show is the last entry that they share.
func TestHistoryFork(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		common := rapid.IntRange(0, 10).Draw(t, "common")
		a, b := &history{}, &history{}
		add := func(h *history, e Epoch) {
			i := queue.NewIndex(1, uint32(h.count))
			var controls []Row
			if !e.IsZero() {
				controls = []Row{{Control: Control{Kind: EpochBegins, Epoch: e}, Index: i}}
			}
			h.append(Run{i, i}, controls)
		}
		number := uint64(0)
		draw := func(host HostID) Epoch {
			if rapid.Bool().Draw(t, "begins") {
				number++
				return Epoch{number, host}
			}
			return Epoch{}
		}
		for range common {
			e := draw(1)
			add(a, e)
			add(b, e)
		}
		// Beyond the fork each has epochs of its own; one may go on in the epoch
		// in common, since one host was its source.
		for k := range rapid.IntRange(0, 5).Draw(t, "more of a") {
			e := draw(2)
			if k == 0 && e.IsZero() {
				number++
				e = Epoch{number, 2}
			}
			add(a, e)
		}
		for range rapid.IntRange(0, 5).Draw(t, "more of b") {
			add(b, draw(3))
		}
		want := queue.Index(0)
		if common > 0 {
			want = queue.NewIndex(1, uint32(common-1))
		}
		if got := a.fork(b.epochs(), b.last()); got != want {
			t.Fatalf("fork %v, want %v", got, want)
		}
		if got := b.fork(a.epochs(), a.last()); got != want {
			t.Fatalf("fork seen from the other side %v, want %v", got, want)
		}
	})
}

func TestNewRefuses(t *testing.T) {
	hosts := []HostID{1, 2}
	run := func(a, b queue.Index) Log { return Log{Runs: []Run{{a, b}}} }
	for name, c := range map[string]struct {
		cfg   Config
		start Start
	}{
		"no hosts":           {},
		"too many hosts":     {cfg: Config{Self: 1, Hosts: make([]HostID, MaxHosts+1)}},
		"host 0":             {cfg: Config{Self: 1, Hosts: []HostID{0, 1}}},
		"host 128":           {cfg: Config{Self: 1, Hosts: []HostID{1, 128}}},
		"a host twice":       {cfg: Config{Self: 1, Hosts: []HostID{1, 2, 2}}},
		"not among them":     {cfg: Config{Self: 3, Hosts: hosts}},
		"strange master":     {cfg: Config{Self: 1, Hosts: hosts, Master: 3}},
		"short timeout":      {cfg: Config{Self: 1, Hosts: hosts, HeartbeatInterval: 2, HeartbeatTimeout: 2}},
		"negative chunk":     {cfg: Config{Self: 1, Hosts: hosts, ChunkBytes: -1}},
		"too few hosts":      {cfg: Config{Self: 1, Hosts: hosts, Acknowledge: true, Strategy: Unbounded().Counting(3)}},
		"no floor":           {cfg: Config{Self: 1, Hosts: hosts, Acknowledge: true, Strategy: Custom(0, func(Table) bool { return true })}},
		"no function":        {cfg: Config{Self: 1, Hosts: hosts, Acknowledge: true, Strategy: Custom(2, nil)}},
		"no limit":           {cfg: Config{Self: 1, Hosts: hosts, Acknowledge: true, Strategy: MaxGap(Limit{})}},
		"flush at no limit":  {cfg: Config{Self: 1, Hosts: hosts, Acknowledge: true, Strategy: Unbounded().OrFlush(0)}},
		"begins in a cycle":  {Config{Self: 1, Hosts: hosts}, Start{Log: run(queue.NewIndex(1, 3), queue.NewIndex(1, 4))}},
		"a run of no length": {Config{Self: 1, Hosts: hosts}, Start{Log: run(queue.NewIndex(1, 1), queue.NewIndex(1, 0))}},
		"over a roll":        {Config{Self: 1, Hosts: hosts}, Start{Log: run(queue.NewIndex(1, 0), queue.NewIndex(2, 0))}},
		"control behind end": {Config{Self: 1, Hosts: hosts}, Start{Log: Log{Controls: []Row{{Index: 7}}}}},
	} {
		if _, err := New(c.cfg, c.start); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
}

// The memory for the times of appends is bounded, and errs to the safe side.
func TestStampsAreBounded(t *testing.T) {
	var s stamps
	for k := range 3 * maxStamps {
		s.add(queue.NewIndex(1, uint32(k)), 10, time.Unix(int64(k), 0))
	}
	if len(s.list) > maxStamps {
		t.Fatalf("%d stamps", len(s.list))
	}
	got := s.within(1000, 0)
	if got > queue.NewIndex(1, 99) || got < queue.NewIndex(1, 90) {
		t.Errorf("1000 bytes reach to %v, want about 1:99, and never above", got)
	}
	s.count(queue.NewIndex(1, 99))
	if s.list[0].index <= queue.NewIndex(1, 99) {
		t.Errorf("what counts is kept: %v", s.list[0].index)
	}
}

// TestLateRelease: news of a release that come late, or again, change nothing.
func TestLateRelease(t *testing.T) {
	r, err := New(Config{Self: 1, Hosts: []HostID{1}}, Start{Log: Log{
		Base: Base{Index: queue.NewIndex(3, 4), Count: 9, Sum: 7},
		Runs: []Run{{queue.NewIndex(4, 0), queue.NewIndex(4, 2)}, {queue.NewIndex(5, 0), queue.NewIndex(5, 2)}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, late := range []queue.Index{queue.NewIndex(2, 1), queue.NewIndex(3, 4)} {
		r.Step(Released{Through: late, Sum: 1})
		if r.h.base.Sum != 7 || r.h.last() != queue.NewIndex(5, 2) {
			t.Fatalf("after %v: %+v", late, r.h.base)
		}
	}
	r.Step(Released{Through: queue.NewIndex(4, 2), Sum: 8})
	if want := (Base{Index: queue.NewIndex(4, 2), Count: 12, Sum: 8}); r.h.base != want {
		t.Fatalf("%+v, want %+v", r.h.base, want)
	}
}
