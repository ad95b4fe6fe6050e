package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"time"

	"github.com/pawl-go/pawl/mesh"
)

type options struct {
	messages int
	seed     uint64
	progress io.Writer
	child    func(ctx context.Context, args ...string) *exec.Cmd
}

// result is what became of all messages.
type result struct {
	sent, handled, refused, dropped uint64
	cuts                            int
	wrongs                          []string // handled twice, or late
}

func (r result) String() string {
	return fmt.Sprintf("%d sent, %d handled, %d refused, %d dropped; %d connections killed; %d handled twice or late",
		r.sent, r.handled, r.refused, r.dropped, r.cuts, len(r.wrongs))
}

// verdict says what is wrong with a result.
func (r result) verdict() error {
	switch {
	case len(r.wrongs) > 0:
		return fmt.Errorf("handled twice or late: %q", r.wrongs)
	case r.sent != r.handled+r.refused+r.dropped:
		return fmt.Errorf("%d messages are not accounted for", int64(r.sent)-int64(r.handled+r.refused+r.dropped))
	case r.cuts == 0 || r.handled < r.sent/2:
		return fmt.Errorf("too little was tried: %v", r)
	}
	return nil
}

const (
	actors = 8 // on each side, and as many senders
	// cutEvery is how many messages one side sends, on average, between two cuts.
	cutEvery = 2000
	// probeEvery is how many a sender sends before it waits for an answer.
	probeEvery = 100
)

// soak runs one node here and the other in a process of its own.
func soak(ctx context.Context, o options) (r result, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cutter := newCutter(o.seed)
	a, err := newSide("a", cutter)
	if err != nil {
		return r, err
	}
	defer a.node.Close()
	cmd := o.child(ctx, "--child", a.node.Addr(), "--messages", strconv.Itoa(o.messages))
	cmd.Stderr = os.Stderr
	if _, err := cmd.StdinPipe(); err != nil { // it ends when we do
		return r, err
	}
	if err := cmd.Start(); err != nil {
		return r, fmt.Errorf("start the other node: %w", err)
	}
	defer func() { cancel(); _ = cmd.Wait() }() // it is killed

	progress := make(chan struct{})
	go func() { defer close(progress); a.show(ctx, o) }()
	err = a.send(ctx, "b", o.messages/2, cutter.sent)
	if err == nil {
		r, err = a.settle(ctx)
	}
	cancel()
	<-progress
	r.cuts = cutter.count()
	return r, err
}

// beChild is the other node. It ends with its parent.
func beChild(ctx context.Context, addr string, messages int) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	b, err := newSide("b", nil, mesh.Peer{ID: "a", Addr: addr})
	if err != nil {
		return err
	}
	defer b.node.Close()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // its end is what counts
		cancel()
	}()
	if err := b.send(ctx, "a", messages-messages/2, func() {}); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// side is one of the two nodes.
type side struct {
	node      *mesh.Node
	witnesses [actors]witness
	ended     chan struct{} // closed when all is sent
}

// report is what a side says of itself.
type report struct {
	Ended  bool
	Wrongs []string
}

func newSide(id string, network mesh.Network, peers ...mesh.Peer) (*side, error) {
	s := &side{ended: make(chan struct{})}
	var err error
	s.node, err = mesh.Start(mesh.Config{
		ID: id, Listen: "127.0.0.1:0", Network: network, Logger: slog.New(slog.DiscardHandler),
		Members:  mesh.Static(peers...),
		Messages: []mesh.MessageType{mesh.Message[[]byte]("bytes"), mesh.Message[report]("report")},
		Timing:   mesh.Timing{RedialMin: 5 * time.Millisecond, RedialMax: 100 * time.Millisecond},
	})
	if err != nil {
		return nil, err
	}
	for i := range s.witnesses {
		if _, err := mesh.Spawn(s.node, witnessName(i), s.witnesses[i].handle); err != nil {
			return nil, err
		}
	}
	_, err = mesh.Spawn(s.node, "report", func(c *mesh.Context, _ report) error { return c.Reply(s.report()) })
	return s, err
}

func witnessName(i int) string { return "witness" + strconv.Itoa(i) }

func (s *side) report() (r report) {
	select {
	case <-s.ended:
		r.Ended = true
	default:
	}
	for i := range s.witnesses {
		r.Wrongs = append(r.Wrongs, s.witnesses[i].seen()...)
	}
	return r
}

// send sends count messages to the other side. sent is called after each.
func (s *side) send(ctx context.Context, to string, count int, sent func()) error {
	var senders sync.WaitGroup
	var mu sync.Mutex
	var failed error
	for i := range actors {
		share := count / actors
		if i < count%actors {
			share++
		}
		ref := mesh.At(s.node, mesh.Address[[]byte]{Node: to, Name: witnessName(i)})
		senders.Go(func() {
			if err := s.sendTo(ctx, ref, share, sent); err != nil {
				mu.Lock()
				defer mu.Unlock()
				failed = err
			}
		})
	}
	senders.Wait()
	close(s.ended)
	return failed
}

// sendTo sends count numbered messages to one actor. Now and then it makes sure that
// the way is open: what is sent while a lane is dialled again is dropped, which is
// too easy.
func (s *side) sendTo(ctx context.Context, to *mesh.Ref[[]byte], count int, sent func()) error {
	for n := range count {
		if n%probeEvery == 0 {
			if err := s.probe(ctx, to); err != nil {
				return err
			}
		}
		for {
			err := to.Cast(ctx, numbered(uint64(n+1)))
			if err == nil {
				break
			}
			if !isDown(err) {
				return err
			}
			if err := s.node.WaitForMembers(ctx, 2); err != nil {
				return err
			}
		}
		sent()
	}
	return nil
}

// probe calls an actor until it answers.
func (s *side) probe(ctx context.Context, to *mesh.Ref[[]byte]) error {
	for {
		if err := s.node.WaitForMembers(ctx, 2); err != nil {
			return err
		}
		_, err := mesh.Call[uint64](ctx, to, numbered(0), mesh.Timeout(100*time.Millisecond))
		if err == nil || ctx.Err() != nil {
			return ctx.Err()
		}
		if !isDown(err) && !mesh.OutcomeUnknown(err) && !errors.Is(err, mesh.RemoteOverloaded) {
			return err
		}
	}
}

// show says each few seconds how far it is.
func (s *side) show(ctx context.Context, o options) {
	tick := time.NewTicker(5 * time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			sent := s.node.Counters().Sent
			fmt.Fprintf(o.progress, "%3.0f%%  %d sent by this side\n", 200*float64(sent)/float64(o.messages), sent)
		}
	}
}
