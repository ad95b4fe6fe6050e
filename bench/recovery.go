package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/pawl-go/pawl"
	"github.com/pawl-go/pawl/bench/measure"
	"github.com/pawl-go/pawl/bench/rounds"
	"github.com/pawl-go/pawl/internal/stage"
)

// RecoveryOptions are the options of Recovery. Zero fields take the default.
type RecoveryOptions struct {
	Pawl     string        // path of the command pawl; required
	Dir      string        // where the data go; default: the system's temporary directory
	Rounds   int           // of which each figure is the median; default 5
	Failures int           // of each kind in a round; default 3
	Duration time.Duration // of a round of joins and leaves; default 2 s
	// Heartbeat is the server's --heartbeat-timeout. Default 3 s.
	Heartbeat time.Duration
	// Progress is told what is measured now and how far it is, from 0 to 1.
	Progress func(what string, done float64, ops int64)
}

// Recovery measures what callers see of the failure of a component: from kill -9, or
// SIGSTOP, of the pair in which a method runs to the answer of its call, which
// another pair has given then; and of the server. Besides, what calls see while other
// components join and leave. The longest time of all rounds stands beside the medians.
func Recovery(ctx context.Context, o RecoveryOptions) (*rounds.Report, error) {
	if o.Pawl == "" {
		return nil, errors.New("bench recovery: RecoveryOptions.Pawl is missing")
	}
	o.Rounds, o.Failures, o.Duration = cmp.Or(o.Rounds, 5), cmp.Or(o.Failures, 3), cmp.Or(o.Duration, 2*time.Second)
	o.Heartbeat = cmp.Or(o.Heartbeat, 3*time.Second)
	r, err := o.run(ctx)
	if err != nil {
		return nil, fmt.Errorf("bench recovery: %w", err)
	}
	return r, nil
}

func (o *RecoveryOptions) run(ctx context.Context) (*rounds.Report, error) {
	dir, err := os.MkdirTemp(o.Dir, "pawl")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }() // a temporary directory
	c := &cluster{site: site{pawl: o.Pawl, dir: dir, durability: measure.Process, heartbeat: o.Heartbeat}}
	defer c.close()
	if err := c.open(ctx); err != nil {
		return nil, err
	}
	return rounds.Run(ctx, "failures of components", []rounds.Job{
		{Name: "work moved", Sides: []rounds.Side{
			o.failures("runtime killed", func(p *member) error { return syscall.Kill(p.PID(), syscall.SIGKILL) }, c),
			o.failures("application killed", func(p *member) error { return syscall.Kill(p.app.PID, syscall.SIGKILL) }, c),
			o.failures(fmt.Sprintf("pair stopped (%v)", o.Heartbeat), (*member).stop, c),
		}},
		{Name: "server killed", Sides: []rounds.Side{{Name: "and started anew", Do: func(ctx context.Context) (rounds.Figure, error) {
			return o.times(func() (time.Duration, error) { return c.restart(ctx) })
		}}}},
		{Name: "calls of 4 clients", Sides: []rounds.Side{
			{Name: "others come and go", Do: func(ctx context.Context) (rounds.Figure, error) { return o.visited(ctx, c) }},
			{Name: "nobody does", Do: func(ctx context.Context) (rounds.Figure, error) { return o.calls(ctx, c) }},
		}},
	}, o.Rounds, o.Progress)
}

// failures lets the pair fail in which a method runs.
func (o *RecoveryOptions) failures(name string, fail func(*member) error, c *cluster) rounds.Side {
	return rounds.Side{Name: name, Do: func(ctx context.Context) (rounds.Figure, error) {
		return o.times(func() (time.Duration, error) { return c.fail(ctx, fail) })
	}}
}

func (o *RecoveryOptions) times(failure func() (time.Duration, error)) (f rounds.Figure, err error) {
	h := measure.NewHistogram()
	for range o.Failures {
		took, err := failure()
		if err != nil {
			return f, err
		}
		_ = h.RecordValue(int64(took)) // over a minute: beyond the scale
	}
	return rounds.Figure{Ops: h.TotalCount(), P50: measure.Micros(h, 50), Max: measure.Micros(h, 100)}, nil
}

// calls is a load on the actors of the pairs, by way of the server.
func (o *RecoveryOptions) calls(ctx context.Context, c *cluster) (rounds.Figure, error) {
	load := measure.Load{Clients: 4, Duration: o.Duration}
	res, err := load.Run(ctx, func(client, n int) error {
		_, err := c.through.call(ctx, client, "echo", int64(n))
		return err
	})
	if err != nil {
		return rounds.Figure{}, err
	}
	return rounds.Of(res), nil
}

// Visitor is hosted by those who come and go, and never called.
type Visitor struct{}

// Visit does nothing.
func (*Visitor) Visit(context.Context, pawl.None) (pawl.None, error) { return pawl.None{}, nil }

// visitEvery is how often somebody joins; they leave at once.
const visitEvery = 50 * time.Millisecond

// visited is calls while other components join and leave.
func (o *RecoveryOptions) visited(ctx context.Context, c *cluster) (rounds.Figure, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	visits := make(chan error, 1)
	go func() { visits <- c.visit(ctx) }()
	f, err := o.calls(ctx, c)
	cancel()
	return f, errors.Join(err, <-visits)
}

// visit joins and leaves until ctx ends.
func (c *cluster) visit(ctx context.Context) error {
	tick := time.NewTicker(visitEvery)
	defer tick.Stop()
	for n := 0; ; n++ {
		app, err := pawl.Open(ctx, "pawl:"+escape(c.data()), config(fmt.Sprintf("visitor-%d", n)))
		if err != nil {
			return err
		}
		pawl.Register[Visitor](app)
		if err := errors.Join(app.Start(context.WithoutCancel(ctx)), app.Close()); err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// cluster is a server and two pairs.
type cluster struct {
	site
	server  *stage.Process
	members [2]*member
	through *target // the server's own face
	actors  int     // used so far
}

// member is a pair.
type member struct {
	*stage.Process
	app stage.App
}

// stop stops both of the pair.
func (m *member) stop() error {
	return errors.Join(syscall.Kill(m.PID(), syscall.SIGSTOP), syscall.Kill(m.app.PID, syscall.SIGSTOP))
}

// end ends both of the pair, stopped or not.
func (m *member) end() {
	_ = syscall.Kill(m.app.PID, syscall.SIGKILL) // they may have ended
	m.Kill()
	<-m.Silent()
}

func (c *cluster) data() string { return filepath.Join(c.dir, "served") }

func (c *cluster) open(ctx context.Context) (err error) {
	if c.server, err = c.serve(ctx, c.data()); err != nil {
		return err
	}
	for i := range c.members {
		if err := c.join(ctx, i); err != nil {
			return err
		}
	}
	socket := filepath.Join(c.data(), "pawl.sock")
	c.through = newTarget("http://pawl/v1/actors/Counter/%d/call/%s")
	c.through.client.Transport = &http.Transport{
		MaxIdleConnsPerHost: maxClients,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "unix", socket)
		},
	}
	return nil
}

// join starts a pair.
func (c *cluster) join(ctx context.Context, i int) error {
	p, app, err := c.pair(ctx, "pawl:"+escape(c.data()))
	if err == nil {
		c.members[i] = &member{p, app}
	}
	return err
}

// fail lets the pair fail in which a method runs, and measures until its call is
// answered, by the other pair.
func (c *cluster) fail(ctx context.Context, fail func(*member) error) (time.Duration, error) {
	c.actors++
	actor := 1000 + c.actors // one that is nowhere yet
	pid, err := c.through.call(ctx, actor, "pid", 0)
	if err != nil {
		return 0, err
	}
	victim := 0
	if c.members[1].app.PID == int(pid) {
		victim = 1
	}
	m := c.members[victim]
	type answer struct {
		pid int64
		err error
	}
	answered := make(chan answer, 1)
	go func() {
		pid, err := c.through.call(ctx, actor, "hold", pid)
		answered <- answer{pid, err}
	}()
	if err := m.holds(ctx); err != nil {
		return 0, err
	}
	begun := time.Now()
	if err := fail(m); err != nil {
		return 0, err
	}
	a := <-answered
	took := time.Since(begun)
	if a.err == nil && a.pid == pid {
		a.err = errors.New("the call was answered by the pair that failed")
	}
	m.end()
	return took, errors.Join(a.err, c.join(ctx, victim))
}

// holds returns when the application runs a method that ends with it only.
func (m *member) holds(ctx context.Context) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, m.app.URL()+"/held", nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// restart kills the server, starts it anew, and what has ended with it, and measures
// until an actor answers.
func (c *cluster) restart(ctx context.Context) (time.Duration, error) {
	begun := time.Now()
	c.server.Kill()
	var err error
	if c.server, err = c.serve(ctx, c.data()); err != nil {
		return 0, err
	}
	answered := make(chan error, 1)
	go func() {
		_, err := c.through.call(ctx, 0, "echo", 0)
		answered <- err
	}()
	for {
		select {
		case err := <-answered:
			took := time.Since(begun)
			return took, errors.Join(err, c.heal(ctx))
		case <-c.members[0].Done():
			err = c.join(ctx, 0)
		case <-c.members[1].Done():
			err = c.join(ctx, 1)
		}
		if err != nil {
			return 0, err
		}
	}
}

// heal starts a pair in the place of each that does not answer.
func (c *cluster) heal(ctx context.Context) error {
	for i, m := range c.members {
		if _, err := newTarget(runtimePath(m.app)).call(ctx, 0, "echo", 0); err == nil {
			continue
		}
		m.end()
		if err := c.join(ctx, i); err != nil {
			return err
		}
	}
	return nil
}
