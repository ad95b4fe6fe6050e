package queuecmd

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/pawl-go/pawl/queue"
	"github.com/pawl-go/pawl/queue/replica"
	"github.com/pawl-go/pawl/queue/replica/config"
	"github.com/pawl-go/pawl/queue/replica/control"
	"github.com/spf13/cobra"
)

type serveFlags struct {
	*flags
	where
	listen     string
	insecure   bool
	cycleBytes int64
	metrics    string
}

func (f *flags) serve() *cobra.Command {
	s := serveFlags{flags: f}
	c := &cobra.Command{
		Use:   "serve -c FILE --host HOST",
		Short: "Be a host: keep copies of queues, and take over when told to",
		Long: "Be a host of the file: open its replicated queues, copy them from and to the other hosts, and\n" +
			"answer `pawl queue replication` on a socket beside them. An interrupt closes them in good order.\n" +
			"An application that appends opens its host itself (package queue/replica), instead of this.",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return s.run(c) },
	}
	s.add(c)
	fl := c.Flags()
	fl.StringVar(&s.listen, "listen", "", "address to accept other hosts at (the host's connectUri)")
	fl.BoolVar(&s.insecure, "insecure", false, "connect without secretFile and tls: whoever reaches the port can change the queues")
	fl.Int64Var(&s.cycleBytes, "cycle-bytes", 0, "size of the files that are made (0: 64 MiB); the same at all hosts")
	fl.StringVar(&s.metrics, "metrics", "", "address to serve gauges at, for Prometheus, under /metrics (none)")
	return c
}

func (s *serveFlags) run(c *cobra.Command) (err error) {
	file, self, err := s.load()
	if err != nil {
		return err
	}
	cfg, err := s.hostConfig(file, self, c.ErrOrStderr())
	if err != nil {
		return err
	}
	socket := s.path(file, self)
	if err := os.MkdirAll(filepath.Dir(socket), 0o755); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(c.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ln, err := control.Listen(ctx, socket)
	if err != nil {
		return err
	}
	host, err := replica.Open(cfg)
	if err != nil {
		return errors.Join(err, ln.Close())
	}
	where := ""
	if s.metrics != "" {
		at, end, err := serveMetrics(ctx, s.metrics, host)
		if err != nil {
			return errors.Join(err, ln.Close(), host.Close())
		}
		defer end()
		where = fmt.Sprintf("; metrics http://%v/metrics", at)
	}
	_, err = fmt.Fprintf(c.OutOrStdout(), "host %s (%d) serves %d queues; control socket %s%s\n", self.Name, self.ID, len(cfg.Queues), socket, where)
	if err == nil {
		err = control.Serve(ctx, ln, host)
	}
	return errors.Join(err, host.Close())
}

// hostConfig makes the configuration of a host from the file.
func (s *serveFlags) hostConfig(file *config.File, self config.Host, log io.Writer) (replica.Config, error) {
	cfg, err := file.HostConfig(self)
	if err != nil {
		return cfg, err
	}
	cfg.Listen, cfg.Insecure = s.listen, s.insecure
	cfg.Logger = slog.New(slog.NewTextHandler(log, nil))
	for _, q := range file.QueuesOf(self.ID) {
		if len(q.Hosts) == 0 {
			continue // who appends to it opens it
		}
		qc := replica.QueueConfig{Name: q.Name, Dir: file.Dir(q, self.ID), Replica: file.Replica(q, self.ID), Queue: s.config(), Automatic: q.Automatic}
		qc.Queue.CycleBytes = s.cycleBytes
		qc.Queue.Durability = queue.Disk
		qc.Queue.Retain, qc.HoldForSinks = q.Retain, q.HoldForSinks
		cfg.Queues = append(cfg.Queues, qc)
	}
	if len(cfg.Queues) == 0 {
		return cfg, fmt.Errorf("host %s has no replicated queue in %s", self.Name, s.file)
	}
	return cfg, nil
}

// where says which host of which file is meant, or which socket.
type where struct {
	file, host, socket string
}

func (w *where) add(c *cobra.Command) {
	fl := c.Flags()
	fl.StringVarP(&w.file, "config", "c", "", "file with the hosts, replica sets and queues")
	fl.StringVar(&w.host, "host", "", "name or id of the host in the file")
	fl.StringVar(&w.socket, "socket", "", "control socket (host<id>.sock below baseSinkPath)")
}

// load reads the file and finds the host.
func (w *where) load() (*config.File, config.Host, error) {
	if w.file == "" || w.host == "" {
		return nil, config.Host{}, usagef("say which file (-c FILE), and which of its hosts this is (--host NAME)")
	}
	file, err := config.Load(w.file)
	if err != nil {
		return nil, config.Host{}, err
	}
	h, ok := file.Host(w.host)
	if !ok {
		return nil, h, usagef("%s has no host %q; it has %s", w.file, w.host, hostNames(file))
	}
	return file, h, nil
}

// hostNames are the hosts of a file, for a message.
func hostNames(file *config.File) string {
	var names []string
	for _, h := range file.Hosts {
		names = append(names, h.Name)
	}
	return strings.Join(names, ", ")
}

// path is that of the control socket.
func (w *where) path(file *config.File, h config.Host) string {
	if w.socket != "" {
		return w.socket
	}
	return file.ControlPath(h)
}

// client is one for the host that is meant.
func (w *where) client() (*control.Client, error) {
	if w.socket != "" {
		return control.NewClient(w.socket), nil
	}
	file, h, err := w.load()
	if err != nil {
		return nil, fmt.Errorf("%w; or give its --socket", err)
	}
	return control.NewClient(w.path(file, h)), nil
}
