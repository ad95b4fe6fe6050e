package service

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/pawl-go/pawl/queue"
	"github.com/pawl-go/pawl/queue/memfs"
)

// rounds is how often a random test runs: n, or what PAWL_SERVICE_ROUNDS asks for.
func rounds(t testing.TB, n int) int {
	if v := os.Getenv("PAWL_SERVICE_ROUNDS"); v != "" {
		k, err := strconv.Atoi(v)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	return n
}

// TestCrashes runs a service over and over on a disk that loses what was not
// flushed, and breaks it off at every step of writing.
func TestCrashes(t *testing.T) {
	start := rand.Uint64()
	if v := os.Getenv("PAWL_SERVICE_SEED"); v != "" {
		if _, err := fmt.Sscan(v, &start); err != nil {
			t.Fatal(err)
		}
	}
	for k := range rounds(t, 60) {
		seed := start + uint64(k)
		w := newWorld(seed)
		if err := w.run(); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

// world is a service with its queues on a simulated disk.
type world struct {
	r         *rand.Rand
	fs        *memfs.FS
	inputs    int
	stateless bool
	powerCuts bool // then inputs are acknowledged when they are flushed
	snapshots bool

	ins       map[uint32]*queue.Queue
	out, dead *queue.Queue
	kept      []string // of the output queue, that no crash may cost
	letters   []string // and of the dead letters
}

func newWorld(seed uint64) *world {
	r := rand.New(rand.NewPCG(seed, 3))
	w := &world{r: r, fs: memfs.New(), inputs: 1 + r.IntN(3), stateless: r.IntN(4) == 0, powerCuts: r.IntN(3) > 0}
	w.snapshots = !w.stateless && r.IntN(2) == 0
	return w
}

func (w *world) run() error {
	for life := range 6 {
		if life > 0 && w.inputs < 4 && w.r.IntN(8) == 0 {
			w.inputs++ // one is added
		}
		err := w.open()
		if err == nil {
			err = w.live()
		}
		if err != nil {
			return fmt.Errorf("life %d: %w", life, err)
		}
		w.crash()
	}
	if err := w.open(); err != nil {
		return err
	}
	defer w.close()
	return w.finish()
}

func (w *world) open() error {
	var err error
	open := func(name string) *queue.Queue {
		q, openErr := queue.Open(name, queue.Config{
			FS: w.fs, Logger: quiet(), FlushEvery: time.Hour, CycleBytes: 8 << 10 << w.r.IntN(3),
		})
		err = errors.Join(err, openErr)
		return q
	}
	w.ins = map[uint32]*queue.Queue{}
	for id := range uint32(w.inputs) {
		w.ins[id+1] = open(fmt.Sprint("in", id+1))
	}
	w.out, w.dead = open("out"), open("dead")
	if err != nil {
		return err
	}
	return errors.Join(keeps("out", w.out, w.kept), keeps("dead", w.dead, w.letters))
}

// keeps says whether a queue begins with what was kept.
func keeps(name string, q *queue.Queue, kept []string) error {
	now, err := contents(q, q.Last())
	if err != nil {
		return err
	}
	if len(now) < len(kept) || !slices.Equal(now[:len(kept)], kept) {
		return fmt.Errorf("queue %s does not begin with the %d entries that were seen and safe", name, len(kept))
	}
	return nil
}

func contents(q *queue.Queue, through queue.Index) ([]string, error) {
	var all []string
	for e, err := range q.Entries(0) {
		if err != nil {
			return nil, err
		}
		if e.Index > through {
			break
		}
		all = append(all, fmt.Sprintf("%s %s", e.Index, e.Payload))
	}
	return all, nil
}

func (w *world) service() (*Service, error) {
	cfg := Config{
		Name: "sim", Output: Output{Queue: w.out}, DeadLetters: Output{Queue: w.dead}, Stateless: w.stateless, Logger: quiet(),
	}
	for id := range uint32(w.inputs) {
		in := Input{ID: id + 1, Queue: w.ins[id+1]}
		if w.powerCuts {
			in.Acknowledged = in.Queue.WaitDurable
		}
		cfg.Inputs = append(cfg.Inputs, in)
	}
	if w.snapshots {
		cfg.Snapshots = Snapshots{Dir: "snaps", FS: w.fs, Every: 10, Keep: 1 + w.r.IntN(2)}
	}
	var handler any = &mixer{}
	if w.stateless {
		handler = flat{}
	}
	h, err := Handle(handler)
	if err != nil {
		return nil, err
	}
	return New(cfg, h)
}

// live feeds the inputs and lets the service work until a step breaks off.
func (w *world) live() error {
	s, err := w.service()
	if err != nil {
		return err
	}
	defer s.close()
	left := w.r.IntN(120)
	s.trap = func(string) error {
		if left--; left < 0 {
			return errTrap
		}
		return nil
	}
	ctx := context.Background()
	if err = s.open(ctx); err == nil {
		for range 10 {
			if err = w.feed(ctx); err != nil {
				return err
			}
			if _, err = s.step(ctx); err != nil {
				break
			}
			if w.r.IntN(8) == 0 {
				if err := w.out.WaitDurable(ctx, w.out.Last()); err != nil && w.out.Last() != 0 {
					return err
				}
			}
		}
	}
	if err != nil && !errors.Is(err, errTrap) {
		return err
	}
	return nil
}

func (w *world) feed(ctx context.Context) error {
	for id, n := range w.r.Perm(w.inputs) {
		q := w.ins[uint32(id+1)]
		p := NewPublisher(q, PublisherConfig{Now: func() time.Time { return time.Unix(1, 0) }})
		for range w.r.IntN(1 + 4*n + 4) {
			i, err := p.Publish(Num{w.r.IntN(1000)})
			if err == nil && w.r.IntN(20) == 0 {
				err = q.WaitDurable(ctx, i)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// crash ends the life: what survives is noted, and the rest may be lost.
func (w *world) crash() {
	through, lettersThrough := w.out.Last(), w.dead.Last()
	next := w.fs.Kill()
	if w.powerCuts && w.r.IntN(3) > 0 {
		through, lettersThrough = w.out.Durable(), w.dead.Durable()
		next = w.fs.Crash(w.r)
	}
	w.kept, _ = contents(w.out, through)
	w.letters, _ = contents(w.dead, lettersThrough)
	w.close()
	w.fs = next
}

func (w *world) close() {
	for _, q := range w.ins {
		_ = q.Close() // of the world that is gone
	}
	_, _ = w.out.Close(), w.dead.Close()
}

// finish lets the service come to the end, and judges the whole.
func (w *world) finish() error {
	s, err := w.service()
	if err != nil {
		return err
	}
	if err := w.feed(context.Background()); err != nil {
		return err
	}
	for _, q := range w.ins { // the last of each has an output, so that all is told
		if _, err := NewPublisher(q, PublisherConfig{}).Publish(Num{1}); err != nil {
			return err
		}
	}
	if err := drain(s); err != nil {
		return err
	}
	done, err := judge(w.out, w.ins, w.stateless)
	if err != nil {
		return err
	}
	for id, q := range w.ins {
		if done[id] != q.Last() {
			return fmt.Errorf("input %d is covered to %s of %s", id, done[id], q.Last())
		}
	}
	return w.sameLetters()
}

// sameLetters holds the dead letters to the Dead entries.
func (w *world) sameLetters() error {
	var want, got []Hop
	for e, err := range w.out.Entries(0) {
		if err != nil {
			return err
		}
		if env, err := Decode(e.Payload); err == nil && env.Kind == Dead {
			want = append(want, env.History[0])
		}
	}
	for e, err := range Messages(w.dead, 0) {
		if err != nil {
			return err
		}
		got = append(got, e.History[0])
	}
	if !slices.Equal(want, got) {
		return fmt.Errorf("dead letters of %v, want %v", got, want)
	}
	return nil
}
