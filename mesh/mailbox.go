package mesh

import (
	"errors"
	"fmt"
	"reflect"
	"runtime/debug"

	"github.com/pawl-go/pawl/mesh/internal/wire"
)

// envelope is a message on its way to a handler.
type envelope[M any] struct {
	msg  M
	req  *request // whoever waits for a reply; nil for a cast
	size int      // encoded, in bytes; 0 if sent on this node
}

// cell is an actor that takes messages of type M. Senders add to in; the actor's
// goroutine takes all that is there and works it off without a lock, so a message costs
// one short lock and is not moved again. An actor with nothing to do has no
// goroutine.
type cell[M any] struct {
	core
	in chunks[M] // guarded by mu

	_ [cacheLine]byte
	// The goroutine's own; while there is none, guarded by mu.
	batch   *chunk[M] // the first one is being worked off
	pos     int       // in it
	emptied *chunk[M] // a small one that is worked off
	tookN   uint64
	atMost  int // so many messages more, if quick; else -1
	make    func(*Context) (Handler[M], error)
	handler Handler[M]
	ctx     *Context
}

func (c *cell[M]) push(m M, req *request, size int) pushResult {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return pushClosed
	}
	if c.full(size) {
		c.mu.Unlock()
		return pushFull
	}
	c.in.push(envelope[M]{m, req, size})
	c.pushed++
	if size > 0 {
		c.pushedSize += int64(size)
	} else {
		c.local++
	}
	if !c.busy && c.status != Suspended {
		c.busy = true
		if c.opts.quick && req != nil && c.status == Running {
			c.mu.Unlock()
			c.runOnce()
			return pushed
		}
		go c.run()
	}
	c.mu.Unlock()
	return pushed
}

func (c *cell[M]) accepts(t reflect.Type) bool { return t.AssignableTo(reflect.TypeFor[M]()) }

func (c *cell[M]) pushAny(m any, req *request) pushResult {
	typed, ok := m.(M)
	if !ok {
		return pushNotAccepted
	}
	return c.push(typed, req, 0)
}

// looksAhead is the size, in bytes, from which a message is not decoded before it
// is known that there is room.
const looksAhead = 4 << 10

// receive decodes a message of another node and queues it. It never waits.
func (c *cell[M]) receive(t messageType, payload []byte, req *request, size int) (RemoteCode, error) {
	if size >= looksAhead && c.overloaded(size) {
		return RemoteOverloaded, nil
	}
	m, err := c.decode(t, payload, size)
	if errors.Is(err, errNotAccepted) {
		return RemoteNotAccepted, nil
	}
	if err != nil {
		return RemoteDecode, err
	}
	switch c.push(m, req, size) {
	case pushClosed:
		return RemoteClosed, nil
	case pushFull:
		return RemoteOverloaded, nil
	}
	return "", nil
}

var errNotAccepted = errors.New("not accepted")

// decode is for a message of size bytes. One larger than a fragment has been put
// together for it alone: its bytes may become the message's.
func (c *cell[M]) decode(t messageType, payload []byte, size int) (m M, err error) {
	defer func() { // a type's own functions may be careless with what arrives
		if v := recover(); v != nil {
			err = fmt.Errorf("decode %s: panic: %v", t.Name(), v)
		}
	}()
	if typed, ok := t.(*messageOf[M]); ok {
		if typed.adopt != nil && size > wire.FragmentSize {
			return typed.adopt(payload)
		}
		return typed.parse(payload)
	}
	if !c.accepts(t.Type()) {
		return m, errNotAccepted
	}
	v, err := t.parseAny(payload)
	if err != nil {
		return m, err
	}
	m, ok := v.(M)
	if !ok {
		return m, errNotAccepted
	}
	return m, nil
}

// run is the goroutine of an actor: it works until there is nothing to do.
func (c *cell[M]) run() {
	for {
		err := c.work()
		if errors.Is(err, errIdle) {
			return
		}
		if !c.endOfLife(err) {
			return
		}
	}
}

// runOnce handles one message on the goroutine that has brought it, and leaves what
// has come meanwhile to one of the actor's own; see [Quick].
func (c *cell[M]) runOnce() {
	c.atMost = 1
	err := c.work()
	if errors.Is(err, errIdle) {
		return
	}
	c.atMost = -1
	if errors.Is(err, errMore) || c.endOfLife(err) {
		go c.run()
	}
}

var (
	errMore    = errors.New("more")    // something waits, and is not for this goroutine
	errIdle    = errors.New("idle")    // nothing to do: the goroutine ends, busy is false
	errAborted = errors.New("aborted") // the life ends: aborted
	errStopped = errors.New("stopped") // the life ends: the actor stopped itself
	errDrained = errors.New("drained") // the life ends: shut down, and nothing waits
)

// work handles messages until it returns why it has stopped: one of the errors
// above, or the handler's failure.
func (c *cell[M]) work() (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &panicError{v, debug.Stack()}
			c.ctx.settle()
		}
	}()
	if c.handler == nil {
		c.ctx = &Context{node: c.node, actor: &c.core}
		if c.handler, err = c.make(c.ctx); err != nil {
			return fmt.Errorf("initialise: %w", err)
		}
		c.initialised()
	}
	for {
		e, err := c.next()
		if err != nil {
			return err
		}
		if e.req == nil {
			err = c.handler(c.ctx, e.msg)
		} else {
			err = c.answer(e)
		}
		*e = envelope[M]{}
		if err != nil {
			return err
		}
	}
}

// initialised moves a new life on to running.
func (c *cell[M]) initialised() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.status == Initialising {
		c.status = Running
	}
}

// answer handles a call.
func (c *cell[M]) answer(e *envelope[M]) error {
	if e.req.expired() {
		c.expire(e)
		return nil
	}
	c.ctx.begin(e.req)
	err := c.handler(c.ctx, e.msg)
	c.ctx.settle()
	return err
}

// expire drops a call whose caller no longer waits.
func (c *cell[M]) expire(e *envelope[M]) {
	c.mu.Lock()
	c.dropped++
	c.mu.Unlock()
	c.node.drop(ReasonExpired, c.letter(e))
}

func (c *cell[M]) letter(e *envelope[M]) DeadLetter {
	l := DeadLetter{Target: AnyAddress{c.node.id, c.name}, From: c.node.id, Type: typeName(c.node.types, e.msg), Call: e.req != nil, Count: 1}
	if e.req != nil {
		l.From = e.req.from()
	}
	return l
}

// next takes the next message. Its envelope is valid until the next call.
func (c *cell[M]) next() (*envelope[M], error) {
	for {
		if c.attention.Load()&^wantRoom != 0 {
			if err := c.attend(); err != nil {
				return nil, err
			}
		}
		if c.batch != nil && c.pos < len(c.batch.slots) {
			if c.atMost == 0 {
				return nil, errMore
			}
			c.atMost = max(c.atMost-1, -1)
			e := &c.batch.slots[c.pos]
			c.pos++
			c.tookN++
			c.taken.Store(c.tookN)
			if e.size > 0 {
				c.takenSize.Add(int64(e.size))
			}
			if c.attention.Load()&wantRoom != 0 { // after taken: see awaitRoom
				c.passRoom()
			}
			return e, nil
		}
		if err := c.refill(); err != nil {
			return nil, err
		}
	}
}

// refill goes on to the next chunk, or takes what has come meanwhile.
func (c *cell[M]) refill() error {
	c.pos = 0
	if b := c.batch; b != nil {
		c.batch = b.next
		b.slots, b.next = b.slots[:0], nil
		if cap(b.slots) == largeChunk {
			c.in.large.Put(b) // without the lock: senders hold it often
		} else {
			c.emptied = b
		}
		if c.batch != nil {
			return nil
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.emptied != nil {
		c.in.giveBack(c.emptied)
		c.emptied = nil
	}
	if c.batch = c.in.take(); c.batch != nil {
		return nil
	}
	if c.closed {
		return errDrained
	}
	return c.idle()
}

// idle is for a goroutine that has nothing to do; c.mu is held.
func (c *cell[M]) idle() error {
	c.busy, c.atMost = false, -1
	return errIdle
}

// attend looks at the bits of attention.
func (c *cell[M]) attend() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	a := c.attention.Load()
	switch {
	case a&wantAbort != 0:
		return errAborted
	case a&wantStop != 0:
		c.clear(wantStop)
		return errStopped
	case a&wantSuspend != 0:
		return c.idle()
	}
	return nil
}

// passRoom gives the room of a message that was taken to who waits for it.
func (c *cell[M]) passRoom() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.giveRoom()
}

// drain takes all that waits, to be dropped.
func (c *cell[M]) drain() []envelope[M] {
	c.mu.Lock()
	defer c.mu.Unlock()
	rest := append(c.batch.rest(c.pos), c.in.take().rest(0)...)
	c.in, c.batch, c.pos = chunks[M]{large: c.in.large}, nil, 0
	c.tookN += uint64(len(rest))
	c.taken.Store(c.tookN)
	c.dropped += uint64(len(rest))
	for _, e := range rest {
		c.takenSize.Add(int64(e.size))
	}
	return rest
}
