package soak

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/pawl-go/pawl/queue"
	"github.com/pawl-go/pawl/queue/replica"
	"github.com/pawl-go/pawl/queue/replica/faultnet"
)

// host is a child as its parent sees it.
type host struct {
	s       *soak
	orders  orders
	proxies []*faultnet.Proxy // in front of it
	cmd     *exec.Cmd         // nil: it is down
	in      io.WriteCloser
	log     *os.File
	done    chan struct{} // closed when the process is gone and all it said is read
	stopped bool
	// attributes are those of its process, and started is told of one; nil: none.
	attributes *syscall.SysProcAttr
	started    func(pid int) error
	mu         struct {
		sync.Mutex
		have  queue.Index // that it said it has
		rests bool        // it appends no more
		stats string
		fails []string
	}
}

// start starts the process.
func (h *host) start() error {
	h.orders.Life++
	b, err := json.Marshal(h.orders)
	if err != nil {
		return err
	}
	h.cmd = exec.CommandContext(context.Background(), h.s.o.Program, h.s.o.Args...)
	h.cmd.Env = append(os.Environ(), variable+"="+string(b))
	h.cmd.Stderr, h.cmd.SysProcAttr = h.log, h.attributes
	out, err := h.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if h.in, err = h.cmd.StdinPipe(); err != nil {
		return err
	}
	if err := h.cmd.Start(); err != nil {
		return err
	}
	h.done = make(chan struct{})
	go h.listen(out, h.cmd, h.done)
	if h.started != nil {
		return h.started(h.cmd.Process.Pid)
	}
	return nil
}

// listen reads what the process says, until it is gone.
func (h *host) listen(out io.Reader, cmd *exec.Cmd, done chan struct{}) {
	defer close(done)
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		h.hear(lines.Text())
	}
	_ = cmd.Wait() // killed, as a rule
	h.s.happened()
}

func (h *host) hear(line string) {
	verb, rest, _ := strings.Cut(line, " ")
	switch verb {
	case "ack":
		index, text, _ := strings.Cut(rest, " ")
		n, err := strconv.ParseUint(index, 10, 64)
		if err != nil {
			return // the line was cut by the death of the process
		}
		h.s.acknowledged(h.orders.Self, queue.Index(n), text)
	case "up":
		for _, p := range h.proxies {
			p.SetTarget(rest)
		}
	case "have":
		n, _ := strconv.ParseUint(rest, 10, 64)
		h.mu.Lock()
		h.mu.have = queue.Index(n)
		h.mu.Unlock()
	case "resting":
		h.mu.Lock()
		h.mu.rests = true
		h.mu.Unlock()
	case "stats":
		h.mu.Lock()
		h.mu.stats = rest
		h.mu.Unlock()
	case "error":
		h.mu.Lock()
		h.mu.fails = append(h.mu.fails[max(0, len(h.mu.fails)-4):], rest)
		h.mu.Unlock()
	}
	h.s.happened()
}

// tell gives the process a command; one that is dead does not hear it.
func (h *host) tell(format string, args ...any) {
	if h.cmd != nil {
		_, _ = fmt.Fprintf(h.in, format+"\n", args...)
	}
}

// kill ends the process with -9, and waits for all that it said.
func (h *host) kill() {
	if h.cmd == nil {
		return
	}
	_ = h.cmd.Process.Kill()
	<-h.done
	h.cmd, h.stopped = nil, false
}

// gone says whether the process has ended by itself.
func (h *host) gone() bool {
	select {
	case <-h.done:
		return true
	default:
		return false
	}
}

// freeze stops the process, as a long pause of its machine would.
func (h *host) freeze() {
	if h.cmd != nil && h.cmd.Process.Signal(syscall.SIGSTOP) == nil {
		h.stopped = true
	}
}

// thaw lets it go on.
func (h *host) thaw() {
	if h.cmd != nil && h.stopped {
		_ = h.cmd.Process.Signal(syscall.SIGCONT)
		h.stopped = false
	}
}

func (h *host) id() replica.HostID { return h.orders.Self }

func (h *host) rests() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.mu.rests
}

func (h *host) has() queue.Index {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.mu.have
}

func (h *host) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return fmt.Sprintf("host %d, life %d: up %t, stopped %t, %s, errors %q", h.id(), h.orders.Life, h.cmd != nil, h.stopped, h.mu.stats, h.mu.fails)
}
