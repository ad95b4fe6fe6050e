package local

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/internal/ports"
	"github.com/pawl-go/pawl/queue"
	"github.com/pawl-go/pawl/queue/replica"
	"github.com/pawl-go/pawl/queue/replica/config"
	"github.com/pawl-go/pawl/queue/replica/control"
	"github.com/pawl-go/pawl/queue/replica/faultnet"
)

// threeHosts are three hosts of one journal, in this process. Those with a higher id dial
// those below through proxies, all of which cut makes useless.
type threeHosts struct {
	t       *testing.T
	dir     string
	file    [4]string // the configuration, as each host sees it
	proxies [4][4]*faultnet.Proxy
}

// cutOffNever is a lease that no busy machine lets run out.
const cutOffNever = time.Minute

func newThreeHosts(t *testing.T, lease time.Duration) *threeHosts {
	t.Helper()
	dir, err := os.MkdirTemp("", "copies") //nolint:usetesting // t.TempDir may be too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	h := &threeHosts{t: t, dir: dir}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.WriteFile(filepath.Join(dir, "secret"), []byte("sixteen bytes at least"), 0o600); err != nil {
		t.Fatal(err)
	}
	addresses, err := ports.Addresses(3)
	if err != nil {
		t.Fatal(err)
	}
	for id := 1; id <= 3; id++ {
		var hosts strings.Builder
		for other := 1; other <= 3; other++ {
			addr := addresses[other-1]
			if other < id {
				p, err := faultnet.Listen(addr)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(p.Close)
				h.proxies[id][other], addr = p, p.Addr()
			}
			fmt.Fprintf(&hosts, "  h%d: { hostId: %d, connectUri: %s }\n", other, other, addr)
		}
		h.file[id] = filepath.Join(dir, fmt.Sprintf("replication%d.yaml", id))
		text := fmt.Sprintf(`context: { baseSourcePath: %[1]s, baseSinkPath: %[1]s, secretFile: %[1]s/secret, heartbeatIntervalMs: 100, heartbeatTimeoutMs: 1000, leaseTimeoutMs: %[3]d }
hosts:
%[2]sreplicaSets: { all: [ h1, h2, h3 ] }
queues: { journal: { replicaSets: [ all ], masterId: 1, acknowledge: true, strategy: majority } }
`, dir, hosts.String(), lease.Milliseconds())
		if err := os.WriteFile(h.file[id], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

func (h *threeHosts) url(id int, more string) string {
	return fmt.Sprintf("local:%s/data%d?durability=replicated&replication=%s&host=h%d&cycle=1MiB%s", h.dir, id, h.file[id], id, more)
}

// open opens the engine of a host, and brings it once it is the source.
func (h *threeHosts) open(ctx context.Context, id int) <-chan *Engine {
	opened := make(chan *Engine, 1) // of the one value
	go func() {
		defer close(opened)
		e, err := engine.Open(ctx, h.url(id, "&standby=wait"), engine.Options{App: "test", Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			if ctx.Err() == nil {
				h.t.Errorf("open host %d: %v", id, err)
			}
			return
		}
		opened <- e.(*handle).Engine
		<-ctx.Done()
		_ = e.Close()
	}()
	return opened
}

// takeOver makes a host that stands by the source.
func (h *threeHosts) takeOver(ctx context.Context, id int) { h.takeOverBy(ctx, id, false) }

func (h *threeHosts) takeOverBy(ctx context.Context, id int, force bool) {
	h.t.Helper()
	file, err := config.Load(h.file[id])
	if err != nil {
		h.t.Fatal(err)
	}
	host, _ := file.Host(fmt.Sprintf("h%d", id))
	if _, err := control.NewClient(file.ControlPath(host)).TakeOver(ctx, "journal", force, time.Minute); err != nil {
		h.t.Fatal(err)
	}
}

// cut cuts a host off from the others, or lets it through again.
func (h *threeHosts) cut(id int, off bool) {
	for from := range h.proxies {
		for to, p := range h.proxies[from] {
			if p == nil || from != id && to != id {
				continue
			}
			if off {
				p.Hold(faultnet.Forth)
				p.Hold(faultnet.Back)
			} else {
				p.Release()
			}
		}
	}
}

// TestSourceIsLost: a source that is cut off with a call in flight acknowledges nothing
// more; a standby takes over and has what was acknowledged, and the call, once; the old
// source fails cleanly, sets aside what did not count, and follows.
func TestSourceIsLost(t *testing.T) {
	h := newThreeHosts(t, cutOffNever)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	ctx1, close1 := context.WithCancel(ctx)
	one, two, three := h.open(ctx1, 1), h.open(ctx, 2), h.open(ctx, 3)
	first := <-one
	p := newProbe()
	a := engine.Component{Name: "c", Types: []engine.Type{{Name: "A"}}}
	s, err := first.Join(ctx, a, p)
	if err != nil {
		t.Fatal(err)
	}
	done, flying, lost := call(s, "A", "1"), call(s, "A", "2"), call(s, "A", "3")
	send := func(r *engine.Request) engine.Position {
		at, err := s.Send(engine.Attempt{}, &engine.Effects{Requests: []*engine.Request{r}})
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	send(done)
	if _, err := s.Finish(attempt(done, 1), &engine.Effects{Writes: []engine.Write{put("n", "1")}}, value("one")); err != nil {
		t.Fatal(err)
	}
	if err := s.Wait(ctx, send(flying)); err != nil {
		t.Fatal(err)
	}
	h.cut(1, true)
	at := send(lost)
	end, err := s.Finish(attempt(flying, 1), &engine.Effects{Writes: []engine.Write{put("n", "never")}}, value("never"))
	if err != nil {
		t.Fatal(err)
	}
	h.takeOver(ctx, 2)
	second := <-two
	s2, err := second.Join(ctx, a, p)
	if err != nil {
		t.Fatal(err)
	}
	if s.Committed(at) || s.Committed(end) {
		t.Error("a source that is cut off has acknowledged")
	}
	if v, ok, err := s2.Lookup(ctx, done.Actor, put("n", "").Key); err != nil || !ok || string(v) != "1" {
		t.Errorf("what was acknowledged: %q %v %v", v, ok, err)
	}
	if v, ok, err := s2.Lookup(ctx, flying.Actor, put("n", "").Key); err != nil || ok {
		t.Errorf("what did not count: %q %v %v", v, ok, err)
	}
	if d := p.delivery(t, flying.ID, 2); d.Attempts != 1 {
		t.Errorf("the call in flight: %+v, want its second attempt", d)
	}
	got, err := s2.Finish(engine.Attempt{ID: flying.ID, Step: 1, N: 2}, &engine.Effects{}, value("two"))
	if err == nil {
		err = s2.Wait(ctx, got)
	}
	if err != nil {
		t.Fatal(err)
	}
	h.cut(1, false)
	<-s.Fenced()
	if err := s.Wait(ctx, end); !errors.Is(err, replica.ErrTenureOver) {
		t.Errorf("the old source: %v", err)
	}
	close1()
	for range one { // it is open until it is closed
	}
	refused, err := engine.Open(ctx, h.url(1, ""), engine.Options{App: "test", Logger: slog.New(slog.DiscardHandler)})
	if !errors.Is(err, engine.ErrUnavailable) || !strings.Contains(err.Error(), "host 2 is the source") {
		t.Errorf("opened where a sink is: %v %v", refused, err)
	}
	torn, err := filepath.Glob(filepath.Join(h.dir, "data1", "journal", "torn-*"))
	if err != nil || len(torn) == 0 {
		t.Errorf("set aside: %v %v", torn, err)
	}
	cancel()
	for range two {
	}
	for range three {
	}
}

// A take-over by force goes past what a host has in its state: that host does not go on
// with it, whoever is the source then.
func TestStateOfAnotherHistoryIsRefused(t *testing.T) {
	h := newThreeHosts(t, cutOffNever)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	ctx12, close12 := context.WithCancel(ctx)
	one, two, three := h.open(ctx12, 1), h.open(ctx12, 2), h.open(ctx, 3)
	first := <-one
	h.cut(3, true)
	p := newProbe()
	a := engine.Component{Name: "c", Types: []engine.Type{{Name: "A"}}}
	s, err := first.Join(ctx, a, p)
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		at, err := s.Send(engine.Attempt{}, &engine.Effects{Requests: []*engine.Request{tell(s, "A", "1")}})
		if err == nil {
			err = s.Wait(ctx, at)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	close12()
	for range one {
	}
	for range two {
	}
	for _, p := range []*faultnet.Proxy{h.proxies[3][1], h.proxies[3][2]} {
		p.Break() // what was on its way must not arrive
	}
	h.cut(3, false)
	h.takeOverBy(ctx, 3, true)
	// The state of host 1, as of when it closed, has records that host 3 never got.
	e, err := engine.Open(ctx, h.url(1, "&standby=wait"), engine.Options{App: "test", Logger: slog.New(slog.DiscardHandler)})
	late := err != nil && strings.Contains(err.Error(), "do not belong together") // the journal was already that of host 3
	if !late && (!errors.Is(err, queue.ErrSetAside) || !errors.Is(err, engine.ErrUnavailable) || !strings.Contains(err.Error(), "is of no use")) {
		t.Errorf("opened with a state of another history: %v %v", e, err)
	}
	// And again, when the journal is already that of host 3.
	e, err = engine.Open(ctx, h.url(1, "&standby=wait"), engine.Options{App: "test", Logger: slog.New(slog.DiscardHandler)})
	if err == nil || !strings.Contains(err.Error(), "do not belong together") && !strings.Contains(err.Error(), "is of no use") {
		t.Errorf("opened again: %v %v", e, err)
	}
	cancel()
	for range three {
	}
}
