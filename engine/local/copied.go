package local

import (
	"context"
	"errors"
	"fmt"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/queue"
	"github.com/pawl-go/pawl/queue/replica"
	"github.com/pawl-go/pawl/queue/replica/config"
	"github.com/pawl-go/pawl/queue/replica/control"
)

// copies say where the copies of the journal are.
type copies struct {
	on      bool
	file    string // the configuration of replication, absolute
	host    string // name or id of this host in it
	queue   string // name of the journal in it
	standby string // what to do while another host is the source: wait, or refuse
}

func (c *copies) validate() error {
	switch {
	case !c.on && *c != copies{}:
		return errors.New("replication, host, queue and standby mean nothing without durability=replicated")
	case !c.on:
		return nil
	case c.file == "" || c.host == "":
		return errors.New("durability=replicated needs replication=FILE and host=NAME: which file, and which of its hosts this is")
	}
	if c.queue == "" {
		c.queue = "journal"
	}
	if c.standby == "" {
		c.standby = "refuse"
	}
	return nil
}

// durabilityName is the durability as the URL says it.
func (s *settings) durabilityName() string {
	if s.copies.on {
		return "replicated"
	}
	return s.durability.String()
}

// copied is a journal with copies on other hosts. Until this host is the source, tenure
// is nil, and it is only read, by follow.
type copied struct {
	host   *replica.Host
	q      *replica.Queue
	tenure *replica.Tenure
	held   chan struct{} // one slot: the flow holds something back

	// patience ends the waits of the engine itself when it is closed: other hosts may
	// be away for long.
	patience context.Context
	hurry    context.CancelFunc

	endControl context.CancelFunc
	controlled chan struct{} // closed when the control socket is; nil: there is none
}

// openCopied opens this host, with the journal as its only queue.
func openCopied(ctx context.Context, s *settings, dir string, cfg queue.Config) (*copied, error) {
	file, err := config.Load(s.copies.file)
	if err != nil {
		return nil, err
	}
	self, ok := file.Host(s.copies.host)
	if !ok {
		return nil, fmt.Errorf("%s has no host %q", s.copies.file, s.copies.host)
	}
	q, ok := file.Queue(s.copies.queue)
	switch {
	case !ok:
		return nil, fmt.Errorf("%s has no queue %q: name the journal with the parameter \"queue\"", s.copies.file, s.copies.queue)
	case !q.Acknowledge:
		return nil, fmt.Errorf("%s: queue %s needs acknowledge: true, or a take-over loses what was answered", s.copies.file, q.Name)
	}
	hc, err := file.HostConfig(self)
	if err != nil {
		return nil, err
	}
	// The engine says what can go: no limit but this is ever reached. It holds back what
	// a sink has yet to get, so that every host has the whole journal behind its state.
	cfg.Retain = queue.Retention{Age: forEver}
	hc.Logger = s.Logger
	hc.Queues = []replica.QueueConfig{{Name: q.Name, Dir: dir, Replica: file.Replica(q, self.ID), Queue: cfg, HoldForSinks: true}}
	host, err := replica.Open(hc)
	if err != nil {
		return nil, err
	}
	c := &copied{host: host, q: host.Queue(q.Name)}
	c.patience, c.hurry = context.WithCancel(context.Background())
	c.openControl(ctx, s, file.ControlPath(self))
	return c, nil
}

const forEver = 1<<63 - 1

// openControl lets `pawl queue replication` ask this host.
func (c *copied) openControl(ctx context.Context, s *settings, path string) {
	ln, err := control.Listen(ctx, path)
	if err != nil {
		s.Logger.Warn("local engine: no commands can be given to this host", "error", err)
		return
	}
	life, end := context.WithCancel(context.Background())
	c.endControl, c.controlled = end, make(chan struct{})
	go func() {
		defer close(c.controlled)
		if err := control.Serve(life, ln, c.host); err != nil {
			s.Logger.Warn("local engine: no commands can be given to this host any more", "error", err)
		}
	}()
}

// Append implements journal.
func (c *copied) Append(p []byte) (queue.Index, error) { return c.tenure.Append(p) }

// Last implements journal.
func (c *copied) Last() queue.Index { return c.q.Last() }

// Durable implements journal: what counts.
func (c *copied) Durable() queue.Index { return c.tenure.Counted() }

// WaitDurable implements journal: a source that is cut off acts on nothing, also on what
// has counted.
func (c *copied) WaitDurable(ctx context.Context, i queue.Index) error {
	if err := c.tenure.Wait(ctx, i); err != nil {
		return err
	}
	return c.tenure.WaitLease(ctx)
}

// waitSafe returns when a record counts, and is on the disk of this host too: the store
// may have it then.
func (c *copied) waitSafe(i queue.Index) error {
	if c.tenure != nil {
		if err := c.tenure.Wait(c.patience, i); err != nil {
			return err
		}
	}
	return c.q.WaitDurable(context.Background(), i)
}

// Read implements journal.
func (c *copied) Read(i queue.Index) ([]byte, error) { return c.q.Local().Read(i) }

// NewTailer implements journal.
func (c *copied) NewTailer(from queue.Index) *queue.Tailer { return c.q.Local().NewTailer(from) }

// First implements journal.
func (c *copied) First() queue.Index { return c.q.Local().First() }

// Cycles implements journal.
func (c *copied) Cycles() []queue.CycleInfo { return c.q.Local().Cycles() }

// ReleaseBefore implements journal.
func (c *copied) ReleaseBefore(i queue.Index) error { return c.q.Local().ReleaseBefore(i) }

// Unmap implements journal.
func (c *copied) Unmap(before queue.Index) { c.q.Local().Unmap(before) }

// Err implements journal: why nothing is recorded any more.
func (c *copied) Err() error {
	if c.tenure != nil {
		select {
		case <-c.tenure.Over():
			return replica.ErrTenureOver
		default:
		}
	}
	return c.q.Local().Err()
}

// Close implements journal.
func (c *copied) Close() error {
	c.hurry()
	if c.controlled != nil {
		c.endControl()
		<-c.controlled
	}
	return c.host.Close()
}

// watchTenure ends the engine when this host is not the source any more.
func (e *Engine) watchTenure() {
	select {
	case <-e.copied.tenure.Over():
		e.failLater(fmt.Errorf("%w; open the engine again, and it follows the new one", replica.ErrTenureOver))
	case <-e.quit:
	}
}

// elsewhere is the error of a host that is no source.
func (c *copied) elsewhere(s replica.Stats) error {
	return &engine.Error{Code: engine.ErrUnavailable, Err: fmt.Errorf(
		"host %d is the source of %s: open the application there, make this host the source with `pawl queue replication takeover`, or wait for that with standby=wait", s.Source, s.Queue)}
}
