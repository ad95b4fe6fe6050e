package replica

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/pawl-go/pawl/queue/replica/core"
	"github.com/pawl-go/pawl/queue/replica/elect"
	"github.com/pawl-go/pawl/queue/replica/wire"
)

const electionName = "replica.election"

// automatic takes over by itself: the host that package elect has elected does, once
// no host that it can reach has had a source for a heartbeat timeout. The office
// goes to the source when there is one, so that it is vacant when that is gone; and
// to the next host when a take-over does not succeed. It belongs to its goroutine.
type automatic struct {
	q       *Queue
	elector *elect.Elector
	in      jobs[ballot]
	timeout time.Duration

	unkept  []byte    // state that could not be kept yet
	silent  time.Time // since when there is no source; zero: there is one
	passed  time.Time // when the office was handed on last
	attempt chan error
	cancel  context.CancelFunc // of the attempt
}

// ballot is a message of another host.
type ballot struct {
	from HostID
	conn *conn
	body []byte
}

func newAutomatic(q *Queue) (*automatic, error) {
	state, err := readAll(q.dir, electionName)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read %s: %w", electionName, err)
	}
	state, ok := uncheck(bytes.TrimSuffix(state, []byte("\n")))
	if !ok {
		state = nil
	}
	a := &automatic{q: q, timeout: q.cfg.Replica.HeartbeatTimeout}
	a.in.init()
	a.elector, err = elect.New(q.host.cfg.Self, q.cfg.Replica.Hosts, state)
	return a, err
}

// run drives the election until the replica ends: a host whose disk has failed is
// not elected.
func (a *automatic) run() {
	t := time.NewTicker(a.timeout / (2 * elect.ElectionTicks))
	defer t.Stop()
	for {
		select {
		case <-a.q.closed:
			return
		case <-a.q.quit.Done():
			return
		case <-a.in.kick:
			for _, b := range a.in.all() {
				out, err := a.elector.Step(b.from, b.body)
				if errors.Is(err, elect.ErrMessage) {
					a.q.event(Event{Kind: core.NoticeProtocol, Peer: b.from, Text: "an election cannot be followed", Err: err})
					b.conn.close()
					continue
				}
				a.carryOut(out, err)
			}
		case now := <-t.C:
			out, err := a.elector.Tick()
			a.carryOut(out, err)
			a.decide(now)
		}
	}
}

// carryOut keeps the state and sends the messages. State that cannot be kept is
// tried again; until then this host says nothing.
func (a *automatic) carryOut(out elect.Output, err error) {
	if out.State != nil {
		a.unkept = out.State
	}
	if err == nil && a.unkept != nil {
		if err = replaceFile(a.q.dir, electionName, append(check(a.unkept), '\n')); err == nil {
			a.unkept = nil
		}
	}
	if err != nil {
		a.q.event(Event{Kind: core.NoticeStorage, Text: "this host takes no part in the election", Err: err})
		return
	}
	for _, m := range out.Messages {
		c := a.q.host.connNow(m.To)
		if c == nil {
			continue
		}
		number, shared := c.numbers[a.q]
		if !shared {
			continue
		}
		if b, err := wire.Append(nil, wire.Frame{Type: wire.Election, Queue: number, Body: m.Body}); err == nil {
			c.send(frameOf(b))
		}
	}
}

// decide does what is for the elected host to do.
func (a *automatic) decide(now time.Time) {
	elected := a.elector.Leader() == a.q.host.cfg.Self
	ended := a.watch(elected)
	a.q.mu.Lock()
	s := a.q.mu.core.Status()
	a.q.mu.Unlock()
	source := s.Role == core.Source || s.Living != 0 || s.Followed != 0
	switch {
	case source:
		a.silent = time.Time{}
	case a.silent.IsZero():
		a.silent = now
	}
	switch {
	case !elected || a.attempt != nil:
	case ended && !source: // also one that has promises, and a disk that takes no epoch
		a.silent = now // if nobody takes the office it is tried again
		a.pass(a.next(), now)
	case s.Source != 0 && s.Source == s.Living && s.Source != s.Self:
		// Not to one that merely has this host's promise: a take-over that fails hands the
		// office on, and its host would get it back.
		a.pass(s.Source, now)
	case source || now.Sub(a.silent) < a.timeout:
	case s.Last.Epoch.IsZero() && a.q.cfg.Replica.Master != 0:
		a.pass(a.next(), now) // the master begins; or this host is new, and others are not
	default:
		a.begin()
	}
}

// begin takes over, with a time limit: then it is for another host to try.
func (a *automatic) begin() {
	ctx, cancel := context.WithTimeout(a.q.quit, 2*a.timeout)
	end := make(chan error, 1)
	a.attempt, a.cancel = end, cancel
	a.q.event(Event{Kind: EventElected, Text: fmt.Sprintf("no host has had a source for %v: this host is elected, and takes over", a.timeout)})
	a.q.owned.Go(func() {
		_, err := a.q.takeOver(ctx, core.TakeOver{Elected: true})
		end <- err
	})
}

// watch ends an attempt of a host that is not elected any more, and says whether one
// has ended. Whether it has come to anything shows in who is the source.
func (a *automatic) watch(elected bool) (ended bool) {
	if a.attempt == nil {
		return false
	}
	select {
	case <-a.attempt: //nolint:errcheck // who is the source says whether it came to anything
		a.cancel()
		a.attempt = nil
		return true
	default:
	}
	if !elected {
		a.cancel()
	}
	return false
}

// next is the host with the next higher id that is connected, or the lowest one; 0:
// there is none.
func (a *automatic) next() HostID {
	ids := slices.Sorted(slices.Values(a.q.cfg.Replica.Hosts))
	self := slices.Index(ids, a.q.host.cfg.Self)
	for _, id := range append(slices.Clone(ids[self+1:]), ids[:self]...) {
		if c := a.q.host.connNow(id); c != nil {
			return id
		}
	}
	return 0
}

// pass hands the office on, once in a while.
func (a *automatic) pass(to HostID, now time.Time) {
	if to == 0 || now.Sub(a.passed) < a.timeout {
		return
	}
	a.passed = now
	out, err := a.elector.Transfer(to)
	a.carryOut(out, err)
}

// connNow is the connection to a host that stands, nil if there is none.
func (h *Host) connNow(peer HostID) *conn {
	l := h.links[peer]
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mu.up
}
