package mesh

import (
	"context"
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"
	"time"
)

// Status is what an actor is doing.
type Status string

// The statuses, in the order of a life.
const (
	Initialising Status = "initialising" // its handler is being made
	Running      Status = "running"
	Suspended    Status = "suspended" // takes no message until it is resumed
	Exiting      Status = "exiting"   // refuses new messages, handles those that wait
	Exited       Status = "exited"
)

// ExitReason says how an actor's life ended.
type ExitReason string

// The reasons.
const (
	ExitNormal  ExitReason = "normal"  // it was shut down, or stopped itself
	ExitError   ExitReason = "error"   // its handler returned an error
	ExitPanic   ExitReason = "panic"   // its handler panicked
	ExitAborted ExitReason = "aborted" // it was aborted, or its node was closed
	ExitUnknown ExitReason = "unknown" // a newer node's reason
)

// exitsOnWire lists the reasons by their number on the wire. Restarting is a flag.
var exitsOnWire = [...]ExitReason{ExitNormal, ExitError, ExitPanic, ExitAborted}

const restartingFlag = 0x80

func (e Exit) wireReason() uint8 {
	var b uint8
	for i, r := range exitsOnWire {
		if r == e.Reason {
			b = uint8(i)
		}
	}
	if e.Restarting {
		b |= restartingFlag
	}
	return b
}

func exitFromWire(b uint8, text string) Exit {
	e := Exit{Reason: ExitUnknown, Restarting: b&restartingFlag != 0, Detail: text}
	if i := int(b &^ restartingFlag); i < len(exitsOnWire) {
		e.Reason = exitsOnWire[i]
	}
	return e
}

// Exit is the end of one life of an actor.
type Exit struct {
	Reason     ExitReason
	Detail     string // the error, or what it panicked with
	Restarting bool   // supervision gives it another life
}

// anyActor is an actor whose type of messages is not known at compile time.
type anyActor interface {
	base() *core
	accepts(t reflect.Type) bool
	pushAny(m any, req *request) pushResult
	receive(t messageType, payload []byte, req *request, size int) (RemoteCode, error)
	run()
}

type pushResult uint8

const (
	pushed pushResult = iota
	pushClosed
	pushFull
	pushNotAccepted
)

// Bits of core.attention: what the goroutine of an actor must look at before it
// takes the next message.
const (
	wantAbort   = 1 << iota // exit now
	wantSuspend             // take no more
	wantRoom                // somebody waits for room
	wantStop                // it has stopped itself
)

// cacheLine keeps what senders write apart from what the actor writes: one message
// would else move the line between two processors several times.
const cacheLine = 64

// core is what all actors are, whatever their messages.
type core struct {
	node *Node
	name string
	self anyActor // the cell around it
	opts spawnOptions

	attention atomic.Uint32

	_         [cacheLine]byte
	taken     atomic.Uint64 // messages taken from the mailbox
	takenSize atomic.Int64  // and their bytes; only messages of other nodes have any
	_         [cacheLine]byte

	mu         sync.Mutex // guards what follows
	status     Status
	closed     bool // takes no new messages
	busy       bool // a goroutine runs it, or is about to
	pushed     uint64
	pushedSize int64
	roomTo     uint64   // up to so many pushed there is room, by the last look at taken
	roomToSize int64    // and up to so many bytes
	local      uint64   // of pushed, those sent on this node
	dropped    uint64   // of taken, those that were not handled
	waiters    waitlist // for room
	watchers   map[watcher]struct{}
	stopLife   context.CancelFunc
	life       context.Context // made when a handler first asks
	restarts   []time.Time
}

func (c *core) base() *core { return c }

// waiting returns how many messages wait; c.mu is held.
func (c *core) waiting() int { return int(c.pushed - c.taken.Load()) }

// full reports whether a message of size bytes has no room; c.mu is held. One
// always has when nothing waits. What has been taken is looked at only when the last
// look no longer promises room.
func (c *core) full(size int) bool {
	bytes := c.pushedSize + int64(size)
	if c.pushed < c.roomTo && bytes <= c.roomToSize {
		return false
	}
	l := &c.node.cfg.Limits
	taken := c.taken.Load()
	c.roomTo = taken + uint64(l.ActorMessages)
	c.roomToSize = c.takenSize.Load() + int64(l.ActorBytes)
	if c.pushed <= taken {
		return false
	}
	return c.pushed >= c.roomTo || size > 0 && bytes > c.roomToSize
}

// overloaded is full, without the lock: a look ahead before a message is decoded.
func (c *core) overloaded(size int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.closed && c.full(size)
}

// set and clear change bits of attention; c.mu is held.
func (c *core) set(bit uint32)   { c.attention.Or(bit) }
func (c *core) clear(bit uint32) { c.attention.And(^bit) }

// wake starts a goroutine for the actor unless it has one; c.mu is held.
func (c *core) wake() {
	if !c.busy && c.status != Exited {
		c.busy = true
		go c.self.run()
	}
}

// awaitRoom waits until a message may fit, the actor is closed, or ctx ends.
func (c *core) awaitRoom(ctx context.Context) error {
	c.mu.Lock()
	// The bit comes before the look, as taken comes before the look at the bit: a
	// message taken meanwhile is seen here or gives room there.
	c.set(wantRoom)
	if c.closed || !c.full(0) {
		c.giveRoom()
		c.mu.Unlock()
		return nil
	}
	turn := c.waiters.join()
	c.mu.Unlock()
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
		c.mu.Lock()
		defer c.mu.Unlock()
		c.waiters.leave(turn)
		return ctx.Err()
	}
}

// giveRoom lets as many try again as there is room for; c.mu is held.
func (c *core) giveRoom() {
	room := c.node.cfg.Limits.ActorMessages - c.waiting()
	if c.closed {
		room = c.waiters.len()
	}
	c.waiters.wake(room)
	if c.waiters.len() == 0 {
		c.clear(wantRoom)
	}
}

// shutdown refuses new messages and lets those that wait be handled. A suspended
// actor is resumed for it.
func (c *core) shutdown() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	c.closed = true
	c.status = Exiting
	c.clear(wantSuspend)
	c.giveRoom()
	c.wake()
}

// abort ends the actor after the message it is in.
func (c *core) abort() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.status == Exited {
		return
	}
	c.closed = true
	c.status = Exiting
	c.set(wantAbort)
	if c.stopLife != nil {
		c.stopLife()
	}
	c.giveRoom()
	c.wake()
}

func (c *core) suspend() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.set(wantSuspend)
		c.status = Suspended
	}
}

func (c *core) resume() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.attention.Load()&wantSuspend != 0 {
		c.clear(wantSuspend)
		c.status = Running
		c.wake()
	}
}

// ActorInfo is what an actor is doing.
type ActorInfo struct {
	Name     string `json:"name"`
	Status   Status `json:"status"`
	Waiting  int    `json:"waiting"`  // messages that wait for it
	Bytes    int64  `json:"bytes"`    // of those from other nodes, encoded
	Taken    uint64 `json:"taken"`    // messages it has begun
	Restarts int    `json:"restarts"` // lives before this one, as far as its limit remembers
	Watchers int    `json:"watchers"` // monitors on it
}

func (c *core) info() ActorInfo {
	c.mu.Lock()
	defer c.mu.Unlock()
	return ActorInfo{
		Name: c.name, Status: c.status, Waiting: c.waiting(), Bytes: c.pushedSize - c.takenSize.Load(),
		Taken: c.taken.Load(), Restarts: len(c.restarts), Watchers: len(c.watchers),
	}
}

// lifeContext is done when the actor is aborted or its life has ended.
func (c *core) lifeContext() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.life == nil {
		c.life, c.stopLife = context.WithCancel(context.Background())
		if c.attention.Load()&wantAbort != 0 {
			c.stopLife()
		}
	}
	return c.life
}

// endLife ends that context; c.mu is held.
func (c *core) endLife() {
	if c.stopLife != nil {
		c.stopLife()
	}
	c.life, c.stopLife = nil, nil
}

// panicError is what a handler panicked with.
type panicError struct {
	value any
	stack []byte
}

func (e *panicError) Error() string { return fmt.Sprintf("panic: %v", e.value) }
