package core

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// Backoff of redialling: from the least, doubled with each failure, up to the
// most, with up to half of it taken off at random. It begins anew after a connection
// that stood for a quarter of a heartbeat interval: a peer that dies again and again
// is back as soon as it is there, and one that lets this host in and at once hangs up
// is not dialled without end.
const (
	minBackoff = 50 * time.Millisecond
	maxBackoff = 5 * time.Second
)

// Link keeps the connection between two hosts, which all their queues share: a
// pure state machine like Replica. The host with the higher id dials, and dials
// again after a while when the connection is gone. Each side sends a heartbeat in
// every interval, and drops a connection on which nothing has come in for the
// timeout; what it has sent is no sign of life, so a connection that is cut one
// way ends at the side that hears nothing, and with it at the other.
//
// Times are those of the last LinkTick. A Link belongs to one goroutine at a time.
type Link struct {
	self, peer        HostID
	interval, timeout time.Duration
	rand              *rand.Rand

	now     time.Time
	conn    uint64 // 0: none
	since   time.Time
	heard   time.Time
	sent    time.Time
	dialing bool
	dialAt  time.Time
	backoff time.Duration
	out     []LinkEffect
}

// NewLink makes the Link of one host to another. Interval and timeout are those of
// Config; the seed spreads the redialling of many hosts.
func NewLink(self, peer HostID, interval, timeout time.Duration, seed uint64) (*Link, error) {
	switch {
	case self == 0 || self > MaxHosts || peer == 0 || peer > MaxHosts || self == peer:
		return nil, fmt.Errorf("make link from host %d to host %d: want two different hosts from 1 to %d", self, peer, MaxHosts)
	case interval <= 0 || timeout <= interval:
		return nil, fmt.Errorf("make link: heartbeat timeout %v must exceed the interval %v", timeout, interval)
	}
	return &Link{
		self: self, peer: peer, interval: interval, timeout: timeout,
		rand: rand.New(rand.NewPCG(seed, uint64(self)<<8|uint64(peer))),
	}, nil
}

// LinkEvent is what the shell tells a Link: one of the types below.
type LinkEvent interface{ linkEvent() }

// LinkTick tells the time, at least four times in a heartbeat interval.
type LinkTick struct{ Now time.Time }

// LinkUp says that a connection stands and has been authenticated, dialled or
// accepted. Conn is a number that was not used before. A connection that was
// there is replaced: the peer has given it up.
type LinkUp struct{ Conn uint64 }

// LinkDown says that a connection is gone.
type LinkDown struct{ Conn uint64 }

// LinkHeard says that something has come in.
type LinkHeard struct{ Conn uint64 }

// DialFailed answers Dial: no connection, or it was not authenticated.
type DialFailed struct{}

// LinkEffect is what a Link wants done: one of the types below.
type LinkEffect interface{ linkEffect() }

// Dial asks to connect to the peer. The answer is LinkUp or DialFailed.
type Dial struct{}

// Beat asks to send a heartbeat.
type Beat struct{ Conn uint64 }

// Hang asks to end a connection, without a LinkDown for it.
type Hang struct {
	Conn uint64
	Why  string
}

// TellUp is to be passed on as PeerUp, to each Replica that the two hosts share.
type TellUp struct{ Conn uint64 }

// TellDown is to be passed on as PeerDown, in its order with TellUp.
type TellDown struct{ Conn uint64 }

func (LinkTick) linkEvent()   {}
func (LinkUp) linkEvent()     {}
func (LinkDown) linkEvent()   {}
func (LinkHeard) linkEvent()  {}
func (DialFailed) linkEvent() {}
func (Dial) linkEffect()      {}
func (Beat) linkEffect()      {}
func (Hang) linkEffect()      {}
func (TellUp) linkEffect()    {}
func (TellDown) linkEffect()  {}

// Dials reports whether this host dials; the other accepts.
func (l *Link) Dials() bool { return l.self > l.peer }

// Step takes an event and returns what it leads to, to be done in that order. The
// slice is good until the next Step.
func (l *Link) Step(ev LinkEvent) []LinkEffect {
	l.out = l.out[:0]
	switch ev := ev.(type) {
	case LinkTick:
		l.tick(ev.Now)
	case LinkUp:
		l.up(ev.Conn)
	case LinkDown:
		if ev.Conn == l.conn {
			l.lose()
		}
	case LinkHeard:
		if ev.Conn == l.conn {
			l.heard = l.now
		}
	case DialFailed:
		l.dialing = false
		l.later()
	}
	return l.out
}

func (l *Link) emit(e LinkEffect) { l.out = append(l.out, e) }

func (l *Link) tick(now time.Time) {
	l.now = now
	switch {
	case l.conn == 0:
	case now.Sub(l.heard) >= l.timeout:
		l.emit(Hang{l.conn, fmt.Sprintf("nothing was heard of host %d for %v", l.peer, now.Sub(l.heard))})
		l.lose()
	case now.Sub(l.sent) >= l.interval:
		l.sent = now
		l.emit(Beat{l.conn})
	}
	if l.Dials() && l.conn == 0 && !l.dialing && !now.Before(l.dialAt) {
		l.dialing = true
		l.emit(Dial{})
	}
}

func (l *Link) up(conn uint64) {
	if l.conn != 0 {
		old := l.conn
		l.lose()
		l.emit(Hang{old, fmt.Sprintf("host %d has connected anew", l.peer)})
	}
	l.dialing = false
	l.conn, l.since, l.heard, l.sent = conn, l.now, l.now, l.now
	l.emit(TellUp{conn})
}

// lose forgets the connection. One that did not stand for a while counts as a failure.
func (l *Link) lose() {
	l.emit(TellDown{l.conn})
	l.conn = 0
	if l.now.Sub(l.since) >= l.interval/4 {
		l.backoff = 0
	}
	l.later()
}

// later puts the next dial off.
func (l *Link) later() {
	l.backoff = min(max(minBackoff, 2*l.backoff), maxBackoff)
	l.dialAt = l.now.Add(l.backoff - time.Duration(l.rand.Int64N(int64(l.backoff/2))))
}
