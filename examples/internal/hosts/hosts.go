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

// on is a job as a host does it.
func (h *Hosts) on(host int, job crash.Job) crash.Job {
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
	h.source = (h.source + 1) % len(names)
	if !first { // and before the one that was the source is there again: it would go on
		if err := h.takeOver(ctx); err != nil {
			return nil, err
		}
	}
	for host := range names {
		if h.standbys[host] != nil {
			continue
		}
		started, err := crash.Start(ctx, h.on(host, job))
		if err != nil {
			return nil, fmt.Errorf("host %s: %w", names[host], err)
		}
		started.Name, h.standbys[host] = names[host], started
	}
	life := h.standbys[h.source]
	if err := life.Begin(job.From); err != nil {
		return nil, err
	}
	h.standbys[h.source] = nil
	return life, nil
}

// takeOver asks the host that is to be the source. One that was started a moment ago
// may have no socket yet, and nothing tells when it has.
func (h *Hosts) takeOver(ctx context.Context) error {
	name, life := names[h.source], h.standbys[h.source]
	host, _ := h.file.Host(name)
	client := control.NewClient(h.file.ControlPath(host))
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	late := time.NewTimer(patience)
	defer late.Stop()
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
		case _, ok := <-life.Events: // a standby says nothing
			if !ok {
				h.standbys[h.source] = nil
				return fmt.Errorf("host %s ended while it stood by: %w", name, life.Wait())
			}
			return fmt.Errorf("host %s works, and nobody has asked it to", name)
		}
	}
}

// Job is the job of the run as the last source has it, once the run is over: who opens
// its engine is the source again, since the other two go on.
func (h *Hosts) Job(job crash.Job) crash.Job { return h.on(h.source, job) }

// Close kills the hosts that stand by, and waits for them. The data stay.
func (h *Hosts) Close() error {
	var errs []error
	for host, life := range h.standbys {
		if life == nil {
			continue
		}
		h.standbys[host] = nil
		errs = append(errs, life.Kill())
		for range life.Events { // to its end, as Wait asks
		}
		_ = life.Wait() // says that it was killed
	}
	return errors.Join(append(errs, os.RemoveAll(h.sockets))...)
}
