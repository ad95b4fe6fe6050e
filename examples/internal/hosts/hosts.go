package hosts

import (
	"context"
	secret "crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/pawl-go/pawl/examples/internal/crash"
	"github.com/pawl-go/pawl/internal/ports"
	"github.com/pawl-go/pawl/queue/replica"
	"github.com/pawl-go/pawl/queue/replica/config"
	"github.com/pawl-go/pawl/queue/replica/control"
)

// names are those of the hosts, in the order in which they take over.
var names = [...]string{"one", "two", "three"}

// patience is how long a host may take to be there, and then to take over: another
// whose promise it needs may just be starting.
const patience = 20 * time.Second

// Hosts are three hosts. Their methods are for one goroutine.
type Hosts struct {
	dir     string // of the data of each, and of what they share
	sockets string // short, as the path of a socket must be
	file    *config.File
	source  int // which of them is, or was last; -1: none yet
	job     crash.Job

	standbys [len(names)]*crash.Life // nil: the source, or it does not run
}

// New prepares three hosts, with their data in a directory that is there, and with
// ports that are free now. Close ends them.
func New(ctx context.Context, dir string) (*Hosts, error) {
	sockets, err := os.MkdirTemp("", "hosts-")
	if err != nil {
		return nil, fmt.Errorf("prepare hosts: %w", err)
	}
	h := &Hosts{dir: dir, sockets: sockets, source: -1}
	if err := h.configure(); err != nil {
		return nil, errors.Join(fmt.Errorf("prepare hosts: %w", err), h.Close())
	}
	return h, nil
}

// configure writes the file of the hosts, and reads it.
func (h *Hosts) configure() error {
	if err := os.WriteFile(h.path("secret"), []byte(secret.Text()), 0o600); err != nil {
		return err
	}
	addresses, err := ports.Addresses(len(names))
	if err != nil {
		return err
	}
	var rows strings.Builder
	for i, name := range names {
		fmt.Fprintf(&rows, "  %s: { hostId: %d, connectUri: %q }\n", name, i+1, addresses[i])
	}
	text := fmt.Sprintf(`context:
  baseSourcePath: %[1]q
  baseSinkPath: %[1]q
  secretFile: %[2]q
  heartbeatIntervalMs: 200
  heartbeatTimeoutMs: 2000
  leaseTimeoutMs: 2000
hosts:
%[3]sreplicaSets: { all: [ %[4]s ] }
queues:
  journal: { replicaSets: [ all ], masterId: 1, acknowledge: true, strategy: majority }
`, h.sockets, h.path("secret"), rows.String(), strings.Join(names[:], ", "))
	if err := os.WriteFile(File(h.dir), []byte(text), 0o600); err != nil {
		return err
	}
	h.file, err = config.Load(File(h.dir))
	return err
}

// File is where the configuration of the hosts is, of those with a directory, for
// `pawl queue replication`.
func File(dir string) string { return filepath.Join(dir, "hosts.yaml") }

func (h *Hosts) path(name string) string { return filepath.Join(h.dir, name) }

// on is the job as a host does it.
func (h *Hosts) on(host int) crash.Job {
	job := h.job
	job.Dir, job.Durability, job.Standby = h.path(names[host]), "replicated", true
	more := "standby=wait&host=" + names[host] + "&replication=" + url.QueryEscape(File(h.dir))
	if job.Tuning != "" {
		more = job.Tuning + "&" + more
	}
	job.Tuning = more
	return job
}

// Next is for crash.Run.Next: it makes the host that has stood by for longest the
// source, and starts those that do not run. The ctx ends all of them. The life that
// it returns is the run's, which waits for its end.
func (h *Hosts) Next(ctx context.Context, job crash.Job) (*crash.Life, error) {
	first := h.source < 0
	h.job = job
	h.source = (h.source + 1) % len(names)
	if !first { // and before the one that was the source is there again: it would go on
		if err := h.takeOver(ctx); err != nil {
			return nil, err
		}
	}
	for host := range names {
		if err := h.standBy(ctx, host); err != nil {
			return nil, err
		}
	}
	life := h.standbys[h.source]
	if err := life.Begin(job.From); err != nil {
		return nil, err
	}
	h.standbys[h.source] = nil
	return life, nil
}

// standBy starts a host that does not run.
func (h *Hosts) standBy(ctx context.Context, host int) error {
	if h.standbys[host] != nil {
		return nil
	}
	life, err := crash.Start(ctx, h.on(host))
	if err != nil {
		return fmt.Errorf("host %s: %w", names[host], err)
	}
	life.Name, h.standbys[host] = names[host], life
	return nil
}

// Fenced is for crash.Run.Fenced: a host that works ends when another one has become the
// source, and then Next starts it anew, as one that stands by.
func Fenced(err error) bool {
	return err != nil && strings.Contains(err.Error(), replica.ErrTenureOver.Error())
}

// takeOver makes the host that is to be the source take over. One that was the source for
// a moment, of its own accord, has been fenced, and is started anew.
func (h *Hosts) takeOver(ctx context.Context) error {
	for {
		name, life := names[h.source], h.standbys[h.source]
		err := h.command(ctx, name, life)
		if !errors.Is(err, errEnded) {
			return err
		}
		h.standbys[h.source] = nil
		ended := life.Wait()
		if !Fenced(ended) {
			return fmt.Errorf("host %s %w: %w", name, errEnded, ended)
		}
		if err := h.standBy(ctx, h.source); err != nil {
			return err
		}
	}
}

var errEnded = errors.New("ended while it stood by")

// command gives a host the command. One that was started a moment ago may have no socket
// yet, and nothing tells when it has. Life, if it is a process of its own, may end instead.
func (h *Hosts) command(ctx context.Context, name string, life *crash.Life) error {
	host, _ := h.file.Host(name)
	client := control.NewClient(h.file.ControlPath(host))
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	late := time.NewTimer(patience)
	defer late.Stop()
	var events <-chan crash.Event
	if life != nil {
		events = life.Events
	}
	for {
		_, err := client.TakeOver(ctx, "journal", false, patience)
		if err == nil {
			return nil
		}
		if !errors.Is(err, syscall.ENOENT) && !errors.Is(err, syscall.ECONNREFUSED) {
			return fmt.Errorf("host %s: %w", name, err)
		}
		select {
		case <-again.C:
		case <-late.C:
			return fmt.Errorf("host %s: %w", name, err)
		case <-ctx.Done():
			return context.Cause(ctx)
		case _, ok := <-events: // a standby says nothing
			if !ok {
				return errEnded
			}
			return fmt.Errorf("host %s works, and nobody has asked it to", name)
		}
	}
}

// Last is the job of the run as the last source has it, once the run is over: who opens
// its engine is the source again, since the other two go on.
func (h *Hosts) Last() crash.Job { return h.on(h.source) }

// Close kills the hosts that stand by, and waits for them. The data stay.
func (h *Hosts) Close() error {
	var errs []error
	for host := range names {
		errs = append(errs, h.end(host))
	}
	return errors.Join(append(errs, os.RemoveAll(h.sockets))...)
}
