package runtime

// idleRunners bounds the runners that are kept when there is nothing to run:
// a goroutine whose stack has grown once need not grow it again.
const idleRunners = 128

// runner is a goroutine that runs entries. Idle, it waits for the next one.
type runner struct {
	work chan *entry // of size 1: who hands over does not wait
}

// runOn hands a claimed entry, counted as running, to a runner. mu is held.
func (c *Component) runOn(e *entry) {
	if n := len(c.mu.idle); n > 0 {
		r := c.mu.idle[n-1]
		c.mu.idle = c.mu.idle[:n-1]
		r.work <- e
		return
	}
	r := &runner{work: make(chan *entry, 1)}
	r.work <- e
	c.wg.Go(func() { c.loop(r) })
}

// loop is the life of a runner. It begins when the component has joined: an
// engine may deliver before.
func (c *Component) loop(r *runner) {
	select {
	case <-c.joined:
	case <-c.ended:
		return
	}
	for e := range r.work {
		c.drain(e)
		if !c.rests(r) {
			return
		}
	}
}

// rests keeps an idle runner for later.
func (c *Component) rests(r *runner) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.stopped || len(c.mu.idle) >= idleRunners {
		return false
	}
	c.mu.idle = append(c.mu.idle, r)
	return true
}

// drain runs an entry, and then what stands behind it on its actor: bursts for
// one actor stay on one goroutine.
func (c *Component) drain(e *entry) {
	for e != nil {
		if e.refused {
			e = c.refuse(e)
		} else {
			e = c.run(e)
		}
	}
}

// runInline runs an entry on the goroutine of who waits for it, as long as it
// is its invocation that goes on; what stands behind it gets a runner.
func (c *Component) runInline(e *entry) {
	id := e.d.Request.ID
	for e != nil && e.d.Request.ID == id {
		e = c.run(e)
	}
	if e != nil {
		c.mu.Lock()
		c.runOn(e)
		c.mu.Unlock()
	}
}
