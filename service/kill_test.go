package service

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/pawl-go/pawl/queue"
)

// The test binary is also the process that is killed.
const roleEnv = "PAWL_SERVICE_ROLE"

func TestMain(m *testing.M) {
	dir := os.Getenv(roleEnv)
	if dir == "" {
		goleak.VerifyTestMain(m)
		return
	}
	if err := serve(context.Background(), dir, (*Service).Run); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// serve runs two services, in1 and in2 -> mid -> out, until one of them ends.
func serve(ctx context.Context, dir string, run func(*Service, context.Context) error) error {
	var qs []*queue.Queue
	open := func(how func(string, queue.Config) (*queue.Queue, error), name string) *queue.Queue {
		q, err := how(filepath.Join(dir, name), queue.Config{CycleBytes: 64 << 10, Logger: quiet()})
		if err != nil {
			panic(err)
		}
		qs = append(qs, q)
		return q
	}
	in1, in2 := open(queue.OpenReader, "in1"), open(queue.OpenReader, "in2")
	mid, dead, out := open(queue.Open, "mid"), open(queue.Open, "dead"), open(queue.Open, "out")
	defer func() {
		for _, q := range qs {
			_ = q.Close()
		}
	}()
	mix, err := Handle(&mixer{})
	if err != nil {
		return err
	}
	first, err := New(Config{
		Name: "mix", Inputs: []Input{{ID: 1, Queue: in1}, {ID: 2, Queue: in2}}, Output: Output{Queue: mid},
		DeadLetters: Output{Queue: dead}, Snapshots: Snapshots{Dir: filepath.Join(dir, "snaps"), Every: 50}, Logger: quiet(),
	}, mix)
	if err != nil {
		return err
	}
	on, err := Handle(pass{})
	if err != nil {
		return err
	}
	second, err := New(Config{
		Name: "pass", Inputs: []Input{{ID: 3, Queue: mid, Acknowledged: mid.WaitDurable}}, Output: Output{Queue: out}, Stateless: true, Logger: quiet(),
	}, on)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	errs := make(chan error, 1)
	go func() { errs <- run(second, ctx) }()
	err = run(first, ctx)
	if err != nil {
		cancel()
	}
	return errors.Join(err, <-errs)
}

// TestKill9 kills a process with two services over and over, while this one feeds
// them.
func TestKill9(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 9))
	dir := t.TempDir()
	feeders := map[uint32]*Publisher{}
	ins := map[uint32]*queue.Queue{}
	for id := range uint32(2) {
		q, err := queue.Open(filepath.Join(dir, fmt.Sprint("in", id+1)), queue.Config{CycleBytes: 64 << 10, Logger: quiet()})
		if err != nil {
			t.Fatal(err)
		}
		defer q.Close()
		ins[id+1], feeders[id+1] = q, NewPublisher(q, PublisherConfig{})
	}
	// The process makes the other queues; until then there is nothing to look at.
	mid, err := queue.Open(filepath.Join(dir, "mid"), queue.Config{CycleBytes: 64 << 10, Logger: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	if err := mid.Close(); err != nil {
		t.Fatal(err)
	}
	for range rounds(t, 15) {
		killOnce(t, r, dir, feeders)
	}
	// The rest, without being killed: first what the first service has to do, then
	// the second.
	for range 2 {
		if err := serve(t.Context(), dir, func(s *Service, _ context.Context) error { return drain(s) }); err != nil {
			t.Fatal(err)
		}
	}
	judgeKilled(t, dir, ins)
}

// killOnce starts the process, and kills it when it has written some entries.
func killOnce(t *testing.T, r *rand.Rand, dir string, feeders map[uint32]*Publisher) {
	t.Helper()
	reader, err := queue.OpenReadOnly(filepath.Join(dir, "mid"), queue.Config{Logger: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	tailer := reader.NewTailer(behind(reader.Last()))
	defer tailer.Close()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), roleEnv+"="+dir)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var ended sync.WaitGroup
	ended.Go(func() {
		_ = cmd.Wait() // killed; or by an error, and then there is nothing to wait for
		cancel()
	})
	defer ended.Wait()
	defer func() { _ = cmd.Process.Kill() }()
	var ns [300]int
	for k := range ns {
		ns[k] = r.IntN(1000)
	}
	var feeding sync.WaitGroup
	feeding.Go(func() {
		for k, n := range ns {
			if _, err := feeders[uint32(1+k%2)].Publish(Num{n}); err != nil {
				t.Error(err)
			}
		}
	})
	defer feeding.Wait()
	for range r.IntN(200) { // 300 inputs have more outputs than that
		if _, _, err := tailer.Next(ctx); err != nil {
			t.Fatal(err)
		}
	}
}

func judgeKilled(t *testing.T, dir string, ins map[uint32]*queue.Queue) {
	t.Helper()
	open := func(name string) *queue.Queue {
		q, err := queue.OpenReadOnly(filepath.Join(dir, name), queue.Config{Logger: quiet()})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = q.Close() })
		return q
	}
	mid, out := open("mid"), open("out")
	if _, err := judge(mid, ins, false); err != nil {
		t.Fatal(err)
	}
	type sent struct {
		payload string
		cause   Hop
	}
	var want, got []sent
	for e, err := range Messages(mid, 0) {
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, sent{string(e.Payload), Hop{3, e.Index}})
	}
	for e, err := range Messages(out, 0) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, sent{string(e.Payload), e.History[0]})
	}
	if len(want) < 100 || len(got) != len(want) {
		t.Fatalf("%d messages, want %d", len(got), len(want))
	}
	for k := range want {
		if got[k] != want[k] {
			t.Fatalf("message %d is %v, want %v", k, got[k], want[k])
		}
	}
}
