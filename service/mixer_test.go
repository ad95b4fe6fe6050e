package service

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/pawl-go/pawl/queue"
)

// Num is the message that tests feed: what the mixer does with it depends on N
// alone, what it sends also on all that came before.
type Num struct{ N int }

// Sum is what the mixer sends.
type Sum struct {
	N, K int    // of the input; which of its outputs
	Seen int    // inputs so far
	Hash uint64 // of all inputs so far, in order
}

// mixer is a handler whose every output shows the whole order of its inputs.
type mixer struct {
	Seen int
	Hash uint64
	log  []int // N of live and replayed inputs
}

var errThirteen = errors.New("thirteen")

func (m *mixer) Num(c *Context, n Num) error {
	out, err := m.apply(n.N)
	for _, s := range out {
		if err := c.Send(s); err != nil {
			return err
		}
	}
	return err
}

func (m *mixer) apply(n int) ([]Sum, error) {
	m.Seen++
	h := fnv.New64a()
	fmt.Fprint(h, m.Hash, n)
	m.Hash = h.Sum64()
	m.log = append(m.log, n)
	var out []Sum
	for k := range [...]int{0, 1, 3, 1, 0, 2}[n%6] {
		out = append(out, Sum{n, k, m.Seen, m.Hash})
	}
	if n%13 == 12 {
		return out, errThirteen // after it has sent
	}
	return out, nil
}

func (m *mixer) Snapshot() ([]byte, error)  { return json.Marshal(m) }
func (m *mixer) Restore(state []byte) error { return json.Unmarshal(state, m) }

func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

// desk is a set of queues and what is done with them.
type desk struct {
	t    testing.TB
	root string
	fs   queue.FS
	cfg  Config
	qs   map[string]*queue.Queue
}

func newDesk(t testing.TB) *desk {
	d := &desk{t: t, root: t.TempDir(), qs: map[string]*queue.Queue{}}
	d.cfg = Config{
		Name: "mix", Inputs: []Input{{ID: 1, Queue: d.queue("in")}},
		Output: Output{Queue: d.queue("out")}, Logger: quiet(),
	}
	return d
}

func (d *desk) queue(name string) *queue.Queue {
	d.t.Helper()
	if q := d.qs[name]; q != nil {
		return q
	}
	q, err := queue.Open(d.root+"/"+name, queue.Config{FS: d.fs, CycleBytes: 64 << 10, Logger: quiet(), FlushEvery: time.Hour})
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { _ = q.Close() })
	d.qs[name] = q
	return q
}

// cut takes what is at or behind an index out of a queue.
func (d *desk) cut(name string, from queue.Index) *queue.Queue {
	d.t.Helper()
	if err := d.queue(name).Close(); err != nil {
		d.t.Fatal(err)
	}
	delete(d.qs, name)
	if _, err := queue.SetAside(d.root+"/"+name, queue.Config{FS: d.fs, Logger: quiet()}, from, "a test"); err != nil {
		d.t.Fatal(err)
	}
	return d.queue(name)
}

// feed publishes numbers on an input.
func (d *desk) feed(name string, ns ...int) {
	d.t.Helper()
	p := NewPublisher(d.queue(name), PublisherConfig{Now: func() time.Time { return time.Unix(1e9, 0) }})
	for _, n := range ns {
		if _, err := p.Publish(Num{n}); err != nil {
			d.t.Fatal(err)
		}
	}
}

// run makes a service and handles everything that is there; then it ends.
func (d *desk) run(handler any) (*Service, error) {
	d.t.Helper()
	s := d.service(handler)
	return s, drain(s)
}

func (d *desk) service(handler any) *Service {
	d.t.Helper()
	h, err := Handle(handler)
	if err != nil {
		d.t.Fatal(err)
	}
	s, err := New(d.cfg, h)
	if err != nil {
		d.t.Fatal(err)
	}
	return s
}

// drain is Run until there is nothing to do.
func drain(s *Service) error {
	ctx := context.Background()
	err := s.open(ctx)
	for n := 1; err == nil && n > 0; {
		n, err = s.step(ctx)
	}
	return errors.Join(err, s.close())
}

func (d *desk) mustRun(handler any) *Service {
	d.t.Helper()
	s, err := d.run(handler)
	if err != nil {
		d.t.Fatal(err)
	}
	return s
}

// sums reads an output queue: "N.K Seen" of each message.
func (d *desk) sums(name string) string {
	d.t.Helper()
	var b strings.Builder
	for e, err := range Messages(d.queue(name), 0) {
		if err != nil {
			d.t.Fatal(err)
		}
		var s Sum
		if err := json.Unmarshal(e.Payload, &s); err != nil {
			d.t.Fatal(err)
		}
		fmt.Fprintf(&b, "%d.%d/%d ", s.N, s.K, s.Seen)
	}
	return strings.TrimSpace(b.String())
}

// dump is every byte of every entry.
func (d *desk) dump(name string) []string {
	d.t.Helper()
	var all []string
	for e, err := range d.queue(name).Entries(0) {
		if err != nil {
			d.t.Fatal(err)
		}
		all = append(all, fmt.Sprintf("%s %q", e.Index, e.Payload))
	}
	return all
}

// flat is a mixer that remembers nothing.
type flat struct{}

func (flat) Num(c *Context, n Num) error { return (&mixer{}).Num(c, n) }

// judge holds an output queue to its inputs: the recorded order, applied to a new
// mixer, gives exactly what is there; nothing is missing before the last record and
// nothing is there twice. It gives how far the inputs are covered.
func judge(out *queue.Queue, ins map[uint32]*queue.Queue, stateless bool) (map[uint32]queue.Index, error) {
	tailers, done := map[uint32]*queue.Tailer{}, map[uint32]queue.Index{}
	for id, q := range ins {
		tailers[id] = q.NewTailer(0)
		defer tailers[id].Close()
	}
	var m mixer
	var want []Sum
	var failed error
	advance := func(h Hop, cause bool) error {
		for done[h.Source] < h.Index {
			i, p, ok, err := tailers[h.Source].TryNext()
			if err != nil || !ok || i > h.Index {
				return errors.Join(fmt.Errorf("input %s is not there", h), err)
			}
			e, err := Decode(p)
			if err != nil {
				return err
			}
			var n Num
			if err := json.Unmarshal(e.Payload, &n); err != nil {
				return err
			}
			if len(want) > 0 || failed != nil {
				return fmt.Errorf("outputs of an input before %s are missing", h)
			}
			done[h.Source] = i
			if stateless {
				m = mixer{}
			}
			want, failed = m.apply(n.N)
		}
		return nil
	}
	begun := false
	for e, err := range out.Entries(0) {
		if err != nil {
			return nil, err
		}
		var f frame
		if err := f.decode(e.Payload); err != nil {
			return nil, fmt.Errorf("output %s: %w", e.Index, err)
		}
		if f.kind == Begin {
			if f.begin != 0 {
				continue // inputs were added
			}
			if begun {
				return nil, fmt.Errorf("output %s: a second begin", e.Index)
			}
			begun = true
			continue
		}
		if f.has(hasOrder) {
			if len(want) > 0 {
				return nil, fmt.Errorf("output %s: %d outputs are missing before it", e.Index, len(want))
			}
			for _, h := range append(f.runs, f.cause()) {
				if done[h.Source] >= h.Index {
					return nil, fmt.Errorf("output %s: input %s comes twice", e.Index, h)
				}
				if err := advance(h, false); err != nil {
					return nil, fmt.Errorf("output %s: %w", e.Index, err)
				}
			}
		}
		switch f.kind {
		case Order:
		case Dead:
			if failed == nil {
				return nil, fmt.Errorf("output %s: dead, and should not be", e.Index)
			}
			want, failed = nil, nil
		default:
			var got Sum
			if err := json.Unmarshal(f.payload, &got); err != nil {
				return nil, err
			}
			if len(want) == 0 || got != want[0] || failed != nil {
				return nil, fmt.Errorf("output %s is %+v, want %+v", e.Index, got, want)
			}
			want = want[1:]
		}
	}
	if len(want) > 0 || failed != nil {
		return nil, errors.New("the last record is not whole")
	}
	return done, nil
}
