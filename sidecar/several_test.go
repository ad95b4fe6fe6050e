package sidecar_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pawl-go/pawl/sidecar"
)

// two starts two pairs on one engine: the first hosts the actors and is the
// service, the second hosts nothing.
func two(t *testing.T) (host, other *running) {
	t.Helper()
	url := "local:" + t.TempDir()
	host = start(t, func(c *sidecar.Config) { c.Engine = url })
	other = start(t, func(c *sidecar.Config) { c.Engine, c.Actors, c.Service = url, nil, "" })
	return host, other
}

// until makes a request until it is answered with a text.
func (p *running) until(verb, path, want string) {
	p.t.Helper()
	for end := time.After(time.Minute); ; {
		s, b := p.do(verb, path, "")
		if s == 200 && strings.Contains(b, want) {
			return
		}
		select {
		case <-end:
			p.t.Fatalf("%s %s: %d %q, want %q", verb, path, s, b, want)
		case <-time.After(2 * time.Millisecond): // nobody tells
		}
	}
}

// A promise is an invocation, and any component may wait for it: also for one that a
// method has made, which waits itself.
func TestPromiseIsAwaitedElsewhere(t *testing.T) {
	host, other := two(t)
	for _, x := range []struct{ made, awaited *running }{{host, other}, {other, host}} {
		s, id := x.made.do("POST", thing+"a/call/self", ``, "Pragma", "promise")
		if s != 202 {
			t.Fatalf("promise: %d %q", s, id)
		}
		x.awaited.want("POST", "/kar/v1/await", id, 200, `{"value":"a"}`)
		x.made.want("POST", "/kar/v1/await", id, 200, `{"value":"a"}`)
	}
	s, outer := host.do("POST", thing+"m/call/promiseheld", ``, "Pragma", "promise")
	if s != 202 {
		t.Fatalf("promise: %d %q", s, outer)
	}
	host.until("GET", thing+"m/state/promise", `"`)
	_, quoted := other.do("GET", thing+"m/state/promise", ``)
	var id string
	if err := json.Unmarshal([]byte(quoted), &id); err != nil {
		t.Fatalf("%q: %v", quoted, err)
	}
	elsewhere := make(chan string, 1)
	go func() {
		_, b := other.do("POST", "/kar/v1/await", id)
		elsewhere <- b
	}()
	host.want("POST", thing+"b/call/release", ``, 204, ``)
	if got := <-elsewhere; got != `{"value":"released"}` {
		t.Errorf("awaited elsewhere: %q", got)
	}
	other.want("POST", "/kar/v1/await", outer, 200, `{"value":"released"}`)
	other.want("POST", "/kar/v1/await", id, 200, `{"value":"released"}`)
}

// An actor is deleted where it is, whoever is asked.
func TestDeleteElsewhere(t *testing.T) {
	host, other := two(t)
	other.want("POST", thing+"d/call/count", ``, 200, `{"value":1}`)
	other.want("POST", thing+"d/call/count", ``, 200, `{"value":2}`)
	other.want("DELETE", thing+"d", ``, 202, `OK`)
	host.want("GET", thing+"d/state", ``, 200, `{}`)
	host.want("POST", thing+"x/call/deactivated", ``, 200, `{"value":1}`)
	other.want("POST", thing+"d/call/count", ``, 200, `{"value":1}`)
}

// Every actor that is in memory is listed, with state or without, wherever it is; and
// those with state that are in nobody's memory.
func TestActorsAreListed(t *testing.T) {
	host, other := two(t)
	host.want("GET", "/kar/v1/system/information/sidecar_actors", ``, 200, `{}`)
	other.want("POST", thing+"b/call/self", ``, 200, `{"value":"b"}`)
	other.want("PUT", thing+"a/state/k", `1`, 201, ``)
	other.want("POST", "/kar/v1/service/echo/call/x", ``, 203, `POST /x? `) // no actor of anybody's
	for _, p := range []*running{host, other} {
		p.want("GET", "/kar/v1/system/information/actors", ``, 200, `{"Thing":["a","b"]}`)
	}
	host.want("GET", "/kar/v1/system/information/sidecar_actors", ``, 200, `{"Thing":["b"]}`)
	other.want("GET", "/kar/v1/system/information/sidecar_actors", ``, 200, `{}`)
	if s, b := other.do("GET", "/kar/v1/system/information/sidecars", ``); s != 200 || strings.Contains(b, "pawl.") {
		t.Errorf("sidecars: %d %s", s, b)
	}
}

// An idle actor is let go, and comes back when it is called; one that is called while
// it goes is not missed.
func TestIdleActorsAreLetGo(t *testing.T) {
	p := start(t, func(c *sidecar.Config) { c.IdleAfter = 5 * time.Millisecond })
	gone := func() (n int) {
		_, b := p.do("POST", thing+"counter/call/deactivated", ``)
		if _, err := fmt.Sscanf(b, `{"value":%d}`, &n); err != nil {
			t.Fatalf("%q: %v", b, err)
		}
		return n
	}
	done := make(chan struct{})
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-done:
					return
				default:
				}
				id := fmt.Sprintf("i%d-%d", i, n%4)
				p.want("POST", thing+id+"/call/self", ``, 200, `{"value":"`+id+`"}`)
			}
		})
	}
	for gone() < 300 && !t.Failed() {
	}
	close(done)
	wg.Wait()
}

// What waits for an actor that is busy for too long is answered; what was told is not
// lost by that.
func TestBusyActor(t *testing.T) {
	p := start(t, func(c *sidecar.Config) { c.BusyTimeout = 100 * time.Millisecond })
	s, held := p.do("POST", thing+"a/call/hold", ``, "Pragma", "promise")
	if s != 202 {
		t.Fatalf("promise: %d %q", s, held)
	}
	p.want("POST", thing+"a/call/keep", `["told"]`, 202, `OK`, "Pragma", "async")
	if s, b := p.do("POST", thing+"a/call/self", ``); s != 500 || !strings.HasPrefix(b, "Possible deadlock: ") {
		t.Errorf("%d %q, want 500 and a possible deadlock", s, b)
	}
	p.want("POST", thing+"b/call/release", ``, 204, ``)
	p.want("POST", "/kar/v1/await", held, 200, `{"value":"released"}`)
	p.until("GET", thing+"a/state/kept", `"told"`)
}

func TestMetrics(t *testing.T) {
	p := start(t)
	p.want("POST", thing+"a/call/echo", `[1]`, 200, `{"value":[1]}`)
	p.want("POST", thing+"a/call/missing", ``, 404, `no method missing`)
	p.want("GET", "/kar/v1/service/echo/call/x/y?q=1", ``, 203, `GET /x/y?q=1 `)
	if s, b := p.do("POST", thing+"a/call/cut", ``); s != 200 {
		t.Errorf("cut: %d %q", s, b)
	}
	s, b := p.do("GET", "/metrics", ``)
	if s != 200 {
		t.Fatalf("%d %s", s, b)
	}
	const took = "kar_user_code_invocation_durations_histogram_seconds"
	for _, want := range []string{
		"# TYPE " + took + " histogram",
		took + `_count{path="Thing:/echo"} 1`,
		took + `_bucket{path="Thing:/echo",le="+Inf"} 1`,
		took + `_count{path="Thing:(other)"} 1`,
		took + `_count{path="echo:/x/y"} 1`,
		"pawl_sidecar_broken_answers_total 1", "pawl_sidecar_running 0",
		"pawl_pending 0", "pawl_components 1", "pawl_reminders 0", "go_goroutines ",
	} {
		if !strings.Contains(b, "\n"+want) {
			t.Errorf("/metrics does not say %s", want)
		}
	}
	if t.Failed() {
		t.Log(b)
	}
}
