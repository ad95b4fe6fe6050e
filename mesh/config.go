package mesh

import (
	"cmp"
	"crypto/tls"
	"fmt"
	"log/slog"
	"math"
	"net"
	"time"

	"github.com/pawl-go/pawl/mesh/internal/wire"
)

// MaxMessage is the most an encoded message or reply may have, header included,
// in bytes.
const MaxMessage = 4 << 20

// Config says what a node is. Only ID is required; a node without Listen can dial
// and cannot be dialled.
type Config struct {
	// ID is the node's name, unique in the mesh, 1 to 255 bytes. With TLS it is the
	// name in the node's certificate.
	ID string
	// Listen is the TCP address to listen on, such as "10.0.0.5:7400"; port 0 picks
	// one. Empty: the node does not listen. An address that is not loopback needs
	// TLS or Secret.
	Listen string
	// Advertise is the address at which others reach this node. Empty: the one it
	// listens on.
	Advertise string
	// Messages are the types that travel between nodes.
	Messages []MessageType
	// Members tells who else there is. Nil is Static(): whoever joins or is joined.
	Members Membership

	// Secret is known to all nodes of the mesh, and to nobody else: who does not
	// know it is refused. It authenticates and does not encrypt; TLS does both.
	Secret []byte
	// TLS has the node's certificate and the roots of the others'. Both sides of each
	// connection show a certificate for their node's name. Version 1.3 is used.
	TLS *tls.Config

	// Lanes is the number of streams that this node's messages to a peer are spread
	// over: 1 to 64, 4 if 0. Nodes may differ.
	Lanes int
	// CallTimeout ends a call to another node unless the call or the reference has
	// its own: 30 s if 0, none if negative.
	CallTimeout time.Duration
	// Codec encodes what has no encoding of its own: CBOR if nil.
	Codec Codec
	// Limits bound what waits.
	Limits Limits
	// Timing is for detecting failures and for dialling again.
	Timing Timing
	// IncarnationFile keeps the node's incarnation, so that it grows from start to
	// start even if the clock goes back. Empty: the clock alone decides.
	IncarnationFile string
	// SocketBuffer bounds, in bytes, what the kernel keeps of each connection in each
	// direction: 128 KiB if 0, as the kernel likes if negative. A small message is
	// late by what is there in front of it; over a long distance a lane carries at most
	// so much in a round trip.
	SocketBuffer int
	// Observer: the node looks in and is no member. Peers do not list it, and it
	// needs not listen.
	Observer bool

	// Logger takes what an operator should know: slog.Default() if nil.
	Logger *slog.Logger
	// Network is TCP if nil. It is a seam for tests; see package meshtest.
	Network Network
	// Now is the wall clock, which only the incarnation uses: time.Now if nil.
	Now func() time.Time
}

// Limits bound what waits; a zero field has its default.
type Limits struct {
	ActorMessages int // messages that wait for one actor: 100,000
	ActorBytes    int // bytes from other nodes that wait for one actor: 16 MiB
	LaneMessages  int // messages that wait to be written to one lane: 128
	LaneBytes     int // bytes that wait to be written to one lane: 16 MiB
	// StreamBytes cuts the connection to a peer that does not read while so much
	// waits for it, replies and notices included, which nothing else bounds: 256 MiB.
	StreamBytes int
}

// Timing says when a peer is given up; a zero field has its default.
type Timing struct {
	Heartbeat time.Duration // between two signs of life: 500 ms
	Silence   time.Duration // without any, a link is lost: 3 s
	Dial      time.Duration // for a connection and its handshake: 3 s
	RedialMin time.Duration // between two dials, doubled each time: 50 ms
	RedialMax time.Duration // and at most: 5 s
	// FailAfter: a member gone for so long has failed: 30 s. Negative: never, since
	// Members says so.
	FailAfter time.Duration
}

// validate fills defaults in, and says what is wrong.
func (c *Config) validate() error {
	if c.ID == "" || len(c.ID) > wire.MaxName {
		return fmt.Errorf("config: ID has 1 to %d bytes, not %d", wire.MaxName, len(c.ID))
	}
	c.Lanes = cmp.Or(c.Lanes, 4)
	if c.Lanes < 1 || c.Lanes > wire.MaxLanes {
		return fmt.Errorf("config: Lanes is 1 to %d, not %d", wire.MaxLanes, c.Lanes)
	}
	if len(c.Advertise) > wire.MaxName {
		return fmt.Errorf("config: Advertise has at most %d bytes, not %d", wire.MaxName, len(c.Advertise))
	}
	if c.TLS != nil && len(c.TLS.Certificates) == 0 && c.TLS.GetCertificate == nil {
		return fmt.Errorf("config: TLS has no certificate: each node shows one, when it dials too")
	}
	if c.Network == nil && c.TLS == nil && len(c.Secret) == 0 && !loopback(c.Listen) {
		return fmt.Errorf("config: Listen %q can be reached from other machines: set TLS or Secret", c.Listen)
	}
	if c.CallTimeout == 0 {
		c.CallTimeout = 30 * time.Second
	}
	c.CallTimeout = max(c.CallTimeout, 0)
	if c.Codec == nil {
		c.Codec = CBOR()
	}
	if c.Members == nil {
		c.Members = Static()
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	c.SocketBuffer = cmp.Or(c.SocketBuffer, 128<<10)
	if c.Network == nil {
		c.Network = tcp{max(c.SocketBuffer, 0)}
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if err := c.Limits.validate(); err != nil {
		return err
	}
	return c.Timing.validate()
}

func (l *Limits) validate() error {
	for _, f := range []struct {
		name      string
		value     *int
		preset    int
		low, high int
	}{
		{"ActorMessages", &l.ActorMessages, 100_000, 1, math.MaxInt32},
		{"ActorBytes", &l.ActorBytes, 16 << 20, 1, math.MaxInt},
		{"LaneMessages", &l.LaneMessages, 128, 1, 1 << 20},
		{"LaneBytes", &l.LaneBytes, 16 << 20, 1, math.MaxInt},
		{"StreamBytes", &l.StreamBytes, 256 << 20, 8 << 20, math.MaxInt},
	} {
		*f.value = cmp.Or(*f.value, f.preset)
		if *f.value < f.low || *f.value > f.high {
			return fmt.Errorf("config: Limits.%s is %d to %d, not %d", f.name, f.low, f.high, *f.value)
		}
	}
	return nil
}

func (t *Timing) validate() error {
	for _, f := range []struct {
		name   string
		value  *time.Duration
		preset time.Duration
	}{
		{"Heartbeat", &t.Heartbeat, 500 * time.Millisecond},
		{"Silence", &t.Silence, 3 * time.Second},
		{"Dial", &t.Dial, 3 * time.Second},
		{"RedialMin", &t.RedialMin, 50 * time.Millisecond},
		{"RedialMax", &t.RedialMax, 5 * time.Second},
	} {
		*f.value = cmp.Or(*f.value, f.preset)
		if *f.value < 0 {
			return fmt.Errorf("config: Timing.%s is negative", f.name)
		}
	}
	if t.Silence < 2*t.Heartbeat {
		return fmt.Errorf("config: Timing.Silence %v is less than two heartbeats of %v", t.Silence, t.Heartbeat)
	}
	if t.RedialMax < t.RedialMin {
		return fmt.Errorf("config: Timing.RedialMax %v is less than RedialMin %v", t.RedialMax, t.RedialMin)
	}
	t.FailAfter = cmp.Or(t.FailAfter, 30*time.Second)
	return nil
}

// loopback reports whether nobody on another machine can dial addr.
func loopback(addr string) bool {
	if addr == "" {
		return true
	}
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
