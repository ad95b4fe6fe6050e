package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/pawl-go/pawl/bench/measure"
	"github.com/pawl-go/pawl/internal/stage"
)

// site is the processes of one durability: a pair with the engine in it, and a
// server with a pair.
type site struct {
	pawl, dir, durability string
	heartbeat             time.Duration // of a server; 0: its own
	processes             []*stage.Process
	alone, served, bare   *target
}

// open starts the processes.
func (s *site) open(ctx context.Context) error {
	base := filepath.Join(s.dir, s.durability)
	alone, app, err := s.pair(ctx, "local:"+escape(base)+"?durability="+s.durability)
	if err != nil {
		return err
	}
	s.alone = newTarget(runtimePath(app), alone.PID(), app.PID)
	s.bare = newTarget(app.URL()+"/bare/%d/%s", app.PID)
	data := base + "-served"
	server, err := s.serve(ctx, data)
	if err != nil {
		return err
	}
	served, app, err := s.pair(ctx, "pawl:"+escape(data))
	if err != nil {
		return err
	}
	s.served = newTarget(runtimePath(app), served.PID(), app.PID, server.PID())
	return nil
}

// serve starts a server and waits until it answers.
func (s *site) serve(ctx context.Context, data string) (*stage.Process, error) {
	args := []string{"serve", "--app", "bench", "--data", data, "--listen", "", "--durability", s.durability}
	if s.heartbeat > 0 {
		args = append(args, "--heartbeat-timeout", s.heartbeat.String())
	}
	p, err := s.start("pawl serve", args...)
	if err != nil {
		return nil, err
	}
	_, err = p.Line(ctx, "msg=serving")
	return p, err
}

// pair starts a runtime with its application and waits until that is ready.
func (s *site) pair(ctx context.Context, engine string) (*stage.Process, stage.App, error) {
	work, err := json.Marshal(job{Do: "application"})
	if err != nil {
		return nil, stage.App{}, err
	}
	p, err := s.start("pawl run", "run", "--app", "bench", "--actors", "Counter", "--engine", engine,
		"--", s.pawl, "bench", "child", string(work))
	if err != nil {
		return nil, stage.App{}, err
	}
	app, err := p.Ready(ctx)
	return p, app, err
}

func (s *site) start(name string, args ...string) (*stage.Process, error) {
	p, err := stage.Start(name, nil, s.pawl, args...)
	if err == nil {
		s.processes = append(s.processes, p)
	}
	return p, err
}

// close ends the processes, the last one first.
func (s *site) close() {
	for _, p := range slices.Backward(s.processes) {
		p.Stop()
	}
}

func escape(path string) string { return (&url.URL{Path: path}).EscapedPath() }

func runtimePath(a stage.App) string {
	return fmt.Sprintf("http://127.0.0.1:%d/v1/actors/Counter/%%d/call/%%s", a.Runtime)
}

// target is where calls go, and who works for them.
type target struct {
	path   string // of a method, with %d for the actor and %s for its name
	client *http.Client
	pids   []int
}

// maxClients is the most connections that a target keeps.
const maxClients = 1024

func newTarget(path string, pids ...int) *target {
	return &target{path: path, pids: pids, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: maxClients}}}
}

// cpu is the processor time of the other processes.
func (t *target) cpu() (sum time.Duration) {
	for _, pid := range t.pids {
		sum += measure.CPUOf(pid)
	}
	return sum
}

// call calls a method with one number, and returns another one.
func (t *target) call(ctx context.Context, actor int, method string, in int64) (out int64, err error) {
	body := strconv.AppendInt(nil, in, 10)
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, fmt.Sprintf(t.path, actor, method), bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	resp, err := t.client.Do(r)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err
	}
	if resp.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("call %s of counter %d: %s: %s", method, actor, resp.Status, b)
	}
	return out, json.Unmarshal(b, &out)
}
