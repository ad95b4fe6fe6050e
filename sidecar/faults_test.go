package sidecar_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/pawl-go/pawl/sidecar"
)

// An application that starts slowly gets what was asked of it meanwhile.
func TestLateApplication(t *testing.T) {
	p := start(t, func(c *sidecar.Config) {
		c.Command = []string{"/usr/bin/env", "PAWL_TEST_ROLE=app", "LATE=1", os.Args[0]}
	})
	var ids []string
	for i := range 10 {
		s, id := p.do("POST", fmt.Sprintf("%sl%d/call/echo", thing, i%3), fmt.Sprint(i), "Pragma", "promise")
		if s != 202 {
			t.Fatalf("promise: %d %q", s, id)
		}
		ids = append(ids, id)
	}
	p.want("PUT", thing+"late/state/go", `true`, 201, ``)
	for i, id := range ids {
		p.want("POST", "/kar/v1/await", id, 200, fmt.Sprintf(`{"value":[%d]}`, i))
	}
}

// One that never listens is said to, when the patience with it has ended.
func TestApplicationThatNeverListens(t *testing.T) {
	p := start(t, func(c *sidecar.Config) {
		c.Command = []string{"/usr/bin/env", "PAWL_TEST_ROLE=app", "LATE=1", os.Args[0]}
		c.MissingTimeout = 100 * time.Millisecond
	})
	if s, b := p.do("POST", thing+"a/call/self", ``); s != 503 || !strings.Contains(b, "does not listen at 127.0.0.1:") {
		t.Errorf("a call: %d %q", s, b)
	}
	if s, b := p.do("GET", "/kar/v1/service/echo/call/x", ``); s != 503 || !strings.Contains(b, "does not listen at 127.0.0.1:") {
		t.Errorf("a service: %d %q", s, b)
	}
	p.want("GET", "/kar/v1/system/health", ``, 200, `Peachy Keen!`)
}

// A type, or a service, that nobody hosts is answered by a timer, and a tell waits on.
func TestMissingType(t *testing.T) {
	url := "local:" + t.TempDir()
	p := start(t, func(c *sidecar.Config) { c.Engine, c.Actors, c.MissingTimeout = url, nil, 100*time.Millisecond })
	p.want("POST", thing+"a/call/keep", `["told"]`, 202, `OK`, "Pragma", "async")
	for _, path := range []string{thing + "a/call/self", "/kar/v1/service/nobody/call/x"} {
		if s, b := p.do("POST", path, ``); s != 404 || !strings.Contains(b, "no component has hosted") {
			t.Errorf("%s: %d %q", path, s, b)
		}
	}
	p.stop()
	<-p.ended
	again := start(t, func(c *sidecar.Config) { c.Engine = url })
	again.until("GET", thing+"a/state/kept", `"told"`)
}

// What waits for its type is kept for as long as it takes, though all that has ended is
// forgotten at once.
func TestPendingOutlivesRetention(t *testing.T) {
	url := "local:" + t.TempDir() + "?durability=process&retain=0s&retain_bytes=0&cycle=64KiB&checkpoint=64KiB"
	p := start(t, func(c *sidecar.Config) { c.Engine, c.Actors = url, nil })
	p.want("POST", thing+"a/call/keep", `["told"]`, 202, `OK`, "Pragma", "async")
	s, id := p.do("POST", thing+"a/call/self", ``, "Pragma", "promise")
	if s != 202 {
		t.Fatalf("promise: %d %q", s, id)
	}
	large := `"` + strings.Repeat("x", 32<<10) + `"`
	for i := range 40 { // many cycles of the journal go by
		p.want("PUT", fmt.Sprintf("%sother/state/k%d", thing, i), large, 201, ``)
	}
	p.stop()
	<-p.ended
	again := start(t, func(c *sidecar.Config) { c.Engine = url })
	again.until("GET", thing+"a/state/kept", `"told"`)
	again.want("POST", "/kar/v1/await", id, 200, `{"value":"a"}`)
}

// The death of the application in the middle of its answer is a failure, not half an
// answer.
func TestDiesInTheMiddleOfAnAnswer(t *testing.T) {
	url := "local:" + t.TempDir()
	same := func(c *sidecar.Config) { c.Engine = url }
	first := start(t, same)
	s, id := first.do("POST", thing+"a/call/dieanswering", ``, "Pragma", "promise")
	if s != 202 {
		t.Fatalf("promise: %d %q", s, id)
	}
	first.ends(7)
	second := start(t, same)
	second.want("POST", "/kar/v1/await", id, 200, `{"value":"whole"}`)
}

// An application that is stopped cannot hold up the end of the pair.
func TestStoppedApplicationIsEnded(t *testing.T) {
	p := start(t, func(c *sidecar.Config) { c.Grace = 100 * time.Millisecond })
	p.want("POST", thing+"idle/call/self", ``, 200, `{"value":"idle"}`) // it would be told to let it go
	p.want("POST", thing+"a/call/stop", ``, 202, `OK`, "Pragma", "async")
	p.want("GET", "/kar/v1/system/health", ``, 200, `Peachy Keen!`)
	p.stop()
	<-p.ended
	if p.code != 128+9 || p.err != nil {
		t.Errorf("exit code %d, %v; want that of kill -9", p.code, p.err)
	}
}

// Every id, key and name arrives as it was written, in both directions.
func TestNames(t *testing.T) {
	p := start(t)
	ids := []string{
		"a/b", "/", "//", "a b", " ", "a_b", "_", "a__b", ".", "..", "../x", "a%2Fb", "%", "+", "a+b", "a&b=c", "?", "#", ";", ":", "@", "*",
		"\x00", "\n", "\x7f", "é", "e\u0301", "日本", "🐾", "\u202e", "\"", "\\", "'", "<b>", "{}", "null", strings.Repeat("long", 100),
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for range 20 {
		s := []rune{}
		for range 1 + r.IntN(12) {
			s = append(s, rune(1+r.IntN(0xd7ff)))
		}
		ids = append(ids, string(s))
	}
	for i, id := range ids {
		at := thing + url.PathEscape(id)
		quoted := jsonOf(id)
		p.want("POST", at+"/call/self", ``, 200, `{"value":`+quoted+`}`)
		p.want("PUT", at+"/state/"+url.PathEscape(id), quoted, 201, ``)
		p.want("PUT", at+"/state/"+url.PathEscape(id)+"/"+url.PathEscape(id), `2`, 201, ``)
		p.want("GET", at+"/state/"+url.PathEscape(id), ``, 200, quoted)
		p.want("GET", at+"/state/"+url.PathEscape(id)+"/"+url.PathEscape(id), ``, 200, `2`)
		p.want("PUT", at+"/reminders/"+url.PathEscape(id), `{"path":"/self","targetTime":"2100-01-01T00:00:00Z"}`, 204, ``)
		p.want("DELETE", at+"/reminders/"+url.PathEscape(id), ``, 200, `1`)
		p.want("POST", at+"/state", `{"removals":[`+quoted+`]}`, 200, `{"added":0,"removed":1}`)
		p.want("GET", at+"/state", ``, 200, `{`+quoted+`:{`+quoted+`:2}}`)
		p.want("POST", thing+fmt.Sprint("caller", i)+"/call/reenter", `[`+jsonOf(url.PathEscape(id))+`]`, 200,
			`{"value":`+jsonOf(fmt.Sprintf("caller%[1]d/%[2]s/caller%[1]d", i, id))+`}`)
		p.want("DELETE", at, ``, 202, `OK`)
	}
	for _, path := range []string{"/call/self", "/state/k", ""} {
		if s, b := p.do("POST", thing+path, ``); s != 400 || !strings.Contains(b, "empty") {
			t.Errorf("an empty id, %q: %d %q", path, s, b)
		}
	}
	if s, _ := p.do("GET", thing+strings.Repeat("x", 1<<20)+"/state", ``); s != 431 {
		t.Errorf("a path of 1 MiB: %d", s)
	}
}

func jsonOf(s string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string
	return strings.TrimSuffix(b.String(), "\n")
}

// A periodic reminder keeps to its schedule, however late one of its firings was.
func TestReminderKeepsItsSchedule(t *testing.T) {
	p := start(t)
	begin := time.Now().Add(-time.Hour).Truncate(time.Millisecond) //nolint:forbidigo // a due time
	const period = 70 * time.Millisecond
	p.want("PUT", thing+"r/reminders/often", fmt.Sprintf(`{"path":"/count","targetTime":%q,"period":%q}`, begin.Format(time.RFC3339Nano), period), 204, ``)
	p.until("GET", thing+"r/state/n", `5`)
	_, b := p.do("GET", thing+"r/reminders/often", ``)
	var text string
	if _, err := fmt.Sscanf(b[strings.Index(b, "targetTime"):], `targetTime":%q`, &text); err != nil {
		t.Fatalf("%s: %v", b, err)
	}
	next, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		t.Fatal(err)
	}
	if off := next.Sub(begin) % period; off != 0 {
		t.Errorf("the next firing is %v off the schedule", off)
	}
}
