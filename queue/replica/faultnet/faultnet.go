// Package faultnet is a network that fails, for tests of hosts: a proxy in front of
// a TCP address that holds up, cuts and breaks off what goes through it.
//
//	p, err := faultnet.Listen("127.0.0.1:7001")   // hosts connect to p.Addr()
//	p.Hold(faultnet.Forth)                        // a one-way cut: nothing gets through
//	p.CutAfter(faultnet.Back, 117)                // the next connection ends within a frame
//	p.Break()                                     // all connections end
//
// Nothing in it is random: whoever uses it says what happens when.
package faultnet

import (
	"context"
	"net"
	"sync"
	"time"
)

// Way is a direction through the proxy.
type Way int

// The directions.
const (
	Forth Way = iota // from who connects to the address behind the proxy
	Back
)

// Proxy is a proxy for one address. All methods may be called concurrently.
type Proxy struct {
	listener net.Listener
	owned    sync.WaitGroup
	ctx      context.Context
	cancel   context.CancelFunc
	mu       struct {
		sync.Mutex
		target  string
		held    [2]bool
		delay   time.Duration
		cuts    [2]int64 // of the next connection; below 0: none
		refuse  bool
		pairs   map[*pair]bool
		changed chan struct{} // closed when something above has changed
	}
}

// pair is a connection through the proxy.
type pair struct {
	ends [2]net.Conn // who connected, what is behind
	cuts [2]int64    // bytes after which the way ends; below 0: never
}

// Listen makes a proxy for an address, which may be empty at first, on a free port of the loopback.
func Listen(target string) (*Proxy, error) {
	ctx, cancel := context.WithCancel(context.Background())
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		cancel()
		return nil, err
	}
	p := &Proxy{listener: ln, ctx: ctx, cancel: cancel}
	p.mu.target = target
	p.mu.pairs = map[*pair]bool{}
	p.mu.cuts = [2]int64{-1, -1}
	p.mu.changed = make(chan struct{})
	p.owned.Go(p.accept)
	return p, nil
}

// Addr is where to connect.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// SetTarget changes the address behind the proxy, for new connections.
func (p *Proxy) SetTarget(target string) { p.change(func() { p.mu.target = target }) }

// Hold keeps everything that goes one way from getting through, on connections
// that stand and new ones, until Release.
func (p *Proxy) Hold(w Way) { p.change(func() { p.mu.held[w] = true }) }

// Release ends all that Hold, Delay and Refuse have begun.
func (p *Proxy) Release() {
	p.change(func() { p.mu.held, p.mu.delay, p.mu.refuse = [2]bool{}, 0, false })
}

// Delay holds each piece of what goes through up for so long.
func (p *Proxy) Delay(d time.Duration) { p.change(func() { p.mu.delay = d }) }

// Refuse ends all connections, and each new one at once.
func (p *Proxy) Refuse() {
	p.change(func() { p.mu.refuse = true })
	p.Break()
}

// CutAfter ends the next connection when so many bytes have gone one way.
func (p *Proxy) CutAfter(w Way, bytes int64) { p.change(func() { p.mu.cuts[w] = bytes }) }

// Break ends all connections that stand.
func (p *Proxy) Break() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.mu.pairs {
		c.close()
	}
}

// Close ends the proxy with all its connections.
func (p *Proxy) Close() {
	p.cancel()
	_ = p.listener.Close()
	p.Break()
	p.owned.Wait()
}

func (p *Proxy) change(do func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	do()
	close(p.mu.changed)
	p.mu.changed = make(chan struct{})
}

func (c *pair) close() {
	for _, end := range c.ends {
		_ = end.Close()
	}
}

func (p *Proxy) accept() {
	for {
		in, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.owned.Go(func() { p.serve(in) })
	}
}

func (p *Proxy) serve(in net.Conn) {
	p.mu.Lock()
	target := p.mu.target
	p.mu.Unlock()
	var d net.Dialer
	out, err := d.DialContext(p.ctx, "tcp", target)
	if err != nil {
		_ = in.Close()
		return
	}
	c := &pair{ends: [2]net.Conn{in, out}}
	p.mu.Lock()
	c.cuts, p.mu.cuts = p.mu.cuts, [2]int64{-1, -1}
	refuse := p.mu.refuse || p.ctx.Err() != nil
	p.mu.pairs[c] = true
	p.mu.Unlock()
	if refuse {
		c.close()
	}
	var ways sync.WaitGroup
	ways.Go(func() { p.pump(c, Forth) })
	ways.Go(func() { p.pump(c, Back) })
	ways.Wait()
	p.mu.Lock()
	delete(p.mu.pairs, c)
	p.mu.Unlock()
}

// pump carries what goes one way, until either end is closed.
func (p *Proxy) pump(c *pair, w Way) {
	defer c.close()
	from, to := c.ends[w], c.ends[1-w]
	b := make([]byte, 32<<10)
	left := c.cuts[w]
	for left != 0 {
		n, err := from.Read(b)
		if !p.pass() {
			return
		}
		if !p.gate(w) {
			return
		}
		if left > 0 {
			n = int(min(int64(n), left))
			left -= int64(n)
		}
		if _, werr := to.Write(b[:n]); err != nil || werr != nil {
			return
		}
	}
}

// pass waits for the delay.
func (p *Proxy) pass() bool {
	p.mu.Lock()
	d := p.mu.delay
	p.mu.Unlock()
	if d == 0 {
		return true
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-p.ctx.Done():
		return false
	}
}

// gate waits while the way is held.
func (p *Proxy) gate(w Way) bool {
	for {
		p.mu.Lock()
		held, changed := p.mu.held[w], p.mu.changed
		p.mu.Unlock()
		if !held {
			return true
		}
		select {
		case <-changed:
		case <-p.ctx.Done():
			return false
		}
	}
}
