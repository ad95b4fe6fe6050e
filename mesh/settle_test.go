package mesh

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pawl-go/pawl/mesh/internal/wire"
)

// gate is the network, which lets nobody dial while it is shut.
type gate struct {
	Network
	shut *atomic.Bool
}

func (g gate) Dial(ctx context.Context, addr string) (net.Conn, error) {
	if g.shut.Load() {
		return nil, errors.New("the gate is shut")
	}
	return g.Network.Dial(ctx, addr)
}

// A dial that a peer began before the last link was, and that arrives after it, says
// nothing of what has come by that link: none of it is counted as lost, and the next dial
// says how much it was.
func TestStaleDialSettlesNothing(t *testing.T) {
	var shut atomic.Bool
	a, b := pair(t, func(c *Config) {
		c.Network = gate{TCP(), &shut}
		c.Timing.Heartbeat, c.Timing.Silence = time.Minute, time.Hour // no acknowledgement on the way
	})
	var handled atomic.Int64
	sink, err := Spawn(b, "sink", func(*Context, add) error { handled.Add(1); return nil })
	if err != nil {
		t.Fatal(err)
	}
	const count = 10
	for i := range count {
		if err := At(a, sink.Address()).Cast(t.Context(), add{i}); err != nil {
			t.Fatal(err)
		}
	}
	deadline := time.Now().Add(time.Minute)
	for handled.Load() < count && time.Now().Before(deadline) {
		time.Sleep(time.Millisecond)
	}
	shut.Store(true)
	l := acceptedLink(t, a)
	l.fail(errors.New("on purpose"))
	<-l.over
	a.settlePast(wire.Identity{Node: "b", LastLink: wire.LinkID{1, 2, 3}})
	if lost := a.Counters().Dropped[ReasonLost]; lost != 0 {
		t.Errorf("%d of %d that have arrived are counted as lost", lost, count)
	}
	shut.Store(false)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for _, n := range []*Node{a, b} {
		if err := n.WaitForMembers(ctx, 2); err != nil {
			t.Fatal(err)
		}
	}
	if c := a.Counters(); c.Sent != count || c.Dropped[ReasonLost] != 0 {
		t.Errorf("once it is linked again: %+v", c)
	}
}
