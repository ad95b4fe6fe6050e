package soak

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/pawl-go/pawl/queue"
	"github.com/pawl-go/pawl/queue/replica"
	"github.com/pawl-go/pawl/queue/replica/faultnet"
)

// Options are the settings of Run.
type Options struct {
	Kills    int
	Seed     uint64
	Dir      string   // for the queues and the logs of the hosts; it must exist
	Program  string   // that calls Child when IsChild
	Args     []string // of it
	Progress func(done, total, acked int)
	// Trace, when set, is told of everything that is done to the hosts.
	Trace io.Writer
}

// Report is what came of it.
type Report struct {
	Kills   int
	Faults  int // of the network
	Acked   int // appends that returned
	Entries int // in the queue at the end
	Sources int // how often another host acknowledged than before
	Cycles  int
}

// hosts of the set. More would only need more memory.
const hosts = 3

// stall is how long nothing may be acknowledged before the soak helps: all hosts
// are up, all is connected, and one is told to take over. After a few times of
// that the run has failed.
const (
	stall     = 5 * time.Second
	maxStalls = 12
)

type soak struct {
	o       Options
	r       *rand.Rand
	hosts   []*host
	proxies []*faultnet.Proxy
	report  Report
	mu      struct {
		sync.Mutex
		acked  map[string]queue.Index
		source replica.HostID
		by     [hosts + 1]int // acknowledgements by host
		last   queue.Index    // highest that was acknowledged
		moved  chan struct{}
	}
}

// Run kills hosts until there were enough, and checks what they hold. The error
// says what is wrong.
func Run(ctx context.Context, o Options) (Report, error) {
	s := newSoak(o)
	defer s.cleanUp()
	if err := s.begin(); err != nil {
		return s.report, fmt.Errorf("begin: %w", err)
	}
	for s.report.Kills < o.Kills {
		if err := s.round(ctx); err != nil {
			return s.report, fmt.Errorf("after %d kills: %w", s.report.Kills, err)
		}
		if o.Progress != nil {
			o.Progress(s.report.Kills, o.Kills, s.count())
		}
	}
	if err := s.settle(ctx); err != nil {
		return s.report, fmt.Errorf("settle: %w", err)
	}
	return s.report, s.check()
}

func newSoak(o Options) *soak {
	s := &soak{o: o, r: rand.New(rand.NewPCG(o.Seed, 0))}
	s.mu.acked = map[string]queue.Index{}
	s.mu.moved = make(chan struct{})
	return s
}

// begin starts all hosts, each pair with a proxy between.
func (s *soak) begin() error {
	for id := replica.HostID(1); id <= hosts; id++ {
		dir := filepath.Join(s.o.Dir, fmt.Sprintf("host%d", id))
		log, err := os.Create(dir + ".log")
		if err != nil {
			return err
		}
		h := &host{s: s, log: log, orders: orders{Self: id, Dir: dir, Writers: 2}}
		s.hosts = append(s.hosts, h)
		for other := replica.HostID(1); other <= hosts; other++ {
			p := replica.Peer{ID: other}
			if other < id {
				proxy, err := faultnet.Listen("")
				if err != nil {
					return err
				}
				s.proxies = append(s.proxies, proxy)
				behind := s.hosts[other-1]
				behind.proxies = append(behind.proxies, proxy)
				p.Addr = proxy.Addr()
			}
			h.orders.Peers = append(h.orders.Peers, p)
		}
	}
	for _, h := range s.hosts {
		if err := h.start(); err != nil {
			return err
		}
	}
	return nil
}

func (s *soak) cleanUp() {
	for _, h := range s.hosts {
		h.kill()
		_ = h.log.Close()
	}
	for _, p := range s.proxies {
		p.Close()
	}
}

// acknowledged notes an append that has returned.
func (s *soak) acknowledged(by replica.HostID, i queue.Index, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.acked[text] = i
	s.mu.last = max(s.mu.last, i)
	s.mu.by[by]++
	if s.mu.source != by {
		s.mu.source = by
		s.report.Sources++
	}
}

// ackedBy is how many appends have returned at a host.
func (s *soak) ackedBy(h *host) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.by[h.id()]
}

func (s *soak) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.mu.acked)
}

// happened wakes the parent.
func (s *soak) happened() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.mu.moved)
	s.mu.moved = make(chan struct{})
}

// until waits until ok, for no longer than d; it says whether it is.
func (s *soak) until(ctx context.Context, d time.Duration, ok func() bool) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	for {
		s.mu.Lock()
		moved := s.mu.moved
		s.mu.Unlock()
		if ok() {
			return true
		}
		select {
		case <-moved:
		case <-t.C:
			return false
		case <-ctx.Done():
			return false
		}
	}
}

// acks waits for so many more appends to return; short of that it goes on after d.
func (s *soak) acks(ctx context.Context, n int, d time.Duration) bool {
	from := s.count()
	return s.until(ctx, d, func() bool { return s.count() >= from+n })
}

func (s *soak) trace(format string, args ...any) {
	if s.o.Trace != nil {
		fmt.Fprintf(s.o.Trace, "%s "+format+"\n", append([]any{time.Now().Format("15:04:05.000")}, args...)...)
	}
}

func (s *soak) sourceHost() *host {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hosts[max(s.mu.source, 1)-1]
}

// errStuck is the end of a run in which nothing goes on.
var errStuck = errors.New("nothing is acknowledged any more")

// progress waits until appends return again, and helps if they do not.
func (s *soak) progress(ctx context.Context) error {
	for n := range maxStalls {
		if s.acks(ctx, 1+s.r.IntN(20), stall) {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := s.heal(); err != nil {
			return err
		}
		h := s.hosts[n%hosts]
		s.trace("nothing happens: host %d takes over", h.id())
		h.tell("takeover")
	}
	return fmt.Errorf("%w:%s", errStuck, s.states(ctx))
}

// states asks all hosts how they stand.
func (s *soak) states(ctx context.Context) string {
	for _, h := range s.hosts {
		h.tell("stats")
	}
	s.acks(ctx, 1, time.Second)
	var text strings.Builder
	for _, h := range s.hosts {
		text.WriteString("\n" + h.String())
	}
	return text.String()
}

// heal ends all faults, and starts what is down.
func (s *soak) heal() error {
	for _, p := range s.proxies {
		p.Release()
		p.Break()
	}
	for _, h := range s.hosts {
		h.thaw()
		if h.cmd != nil && h.gone() {
			h.cmd = nil
		}
		if h.cmd == nil {
			if err := h.start(); err != nil {
				return err
			}
		}
	}
	return nil
}
