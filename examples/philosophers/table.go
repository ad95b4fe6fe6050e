package philosophers

import (
	"context"
	"fmt"
	"path/filepath"
	"syscall"

	"github.com/pawl-go/pawl/internal/stage"
)

// table is the processes: a server and the hosts.
type table struct {
	dir    string
	waiter string // its address
	pawl   string // the command
	script string
	server *stage.Process
	hosts  []host
}

type host struct {
	*stage.Process
	node int // its process id
}

const appName = "philosophers"

func (t *table) data() string { return filepath.Join(t.dir, "data") }

// lay starts the server and the hosts.
func (t *table) lay(ctx context.Context, hosts int) error {
	root, err := stage.Root()
	if err != nil {
		return err
	}
	dir := filepath.Join(root, "examples", "philosophers")
	if err := stage.NPM(ctx, dir); err != nil {
		return err
	}
	t.script = filepath.Join(dir, "philosophers.js")
	if t.server, err = stage.Start("pawl serve", nil, t.pawl, "serve",
		"--app", appName, "--data", t.data(), "--listen", "", "--durability", "process"); err != nil {
		return err
	}
	if _, err := t.server.Line(ctx, "msg=serving"); err != nil {
		return err
	}
	for range hosts {
		h, err := t.seat(ctx)
		if err != nil {
			return err
		}
		t.hosts = append(t.hosts, h)
	}
	return nil
}

// seat starts a host and waits until it is ready.
func (t *table) seat(ctx context.Context) (host, error) {
	p, err := stage.Start("pawl run", []string{"WAITER=" + t.waiter}, t.pawl, "run",
		"--app", appName, "--actors", "Philosopher,Fork", "--engine", "pawl:"+t.data(), "--", "node", t.script)
	if err != nil {
		return host{}, err
	}
	app, err := p.Ready(ctx)
	if err != nil {
		p.Kill()
		return host{}, err
	}
	return host{p, app.PID}, nil
}

// kill kills one process of a host, waits for the end of the other, which is the
// runtime's own doing, and starts a host in their place.
func (t *table) kill(ctx context.Context, seat int, node bool) (which string, err error) {
	h := t.hosts[seat]
	if node {
		which = fmt.Sprintf("node of host %d", seat+1)
		err = syscall.Kill(h.node, syscall.SIGKILL)
	} else {
		which = fmt.Sprintf("the runtime of host %d", seat+1)
		err = syscall.Kill(h.PID(), syscall.SIGKILL)
	}
	if err != nil {
		return which, fmt.Errorf("kill %s: %w\n%s", which, err, h.Output())
	}
	select {
	case <-h.Silent():
	case <-ctx.Done():
		return which, context.Cause(ctx)
	}
	t.hosts[seat], err = t.seat(ctx)
	return which, err
}

// clear ends all that lay has started.
func (t *table) clear() {
	for _, h := range t.hosts {
		if h.Process != nil {
			h.Kill()
			<-h.Silent()
		}
	}
	if t.server != nil {
		t.server.Stop()
	}
}
