package sidecar_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/pawl-go/pawl/sidecar"
)

// outcomes is an application whose methods answer with what they are given, so
// that a test writes the outcomes.
func outcomes() {
	mux := http.NewServeMux()
	mux.HandleFunc("/kar/impl/v1/actor/{type}", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("/kar/impl/v1/actor/{type}/{id}", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("POST /kar/impl/v1/actor/{type}/{id}/answer", func(w http.ResponseWriter, r *http.Request) {
		var args []json.RawMessage
		b, _ := io.ReadAll(r.Body)
		_ = json.Unmarshal(b, &args)
		_, _ = w.Write(args[0])
	})
	// Writes with its outcome, and dies at its first attempt instead of answering.
	mux.HandleFunc("POST /kar/impl/v1/actor/{type}/{id}/dieonce", func(w http.ResponseWriter, _ *http.Request) {
		if _, err := os.Stat(os.Getenv("DIED")); err != nil {
			_ = os.WriteFile(os.Getenv("DIED"), nil, 0o600)
			os.Exit(7)
		}
		_, _ = io.WriteString(w, `{"value": "alive", "state": {"died": true}}`)
	})
	fmt.Fprintln(os.Stdout, os.Getenv("KAR_RUNTIME_PORT"))
	fmt.Fprintln(os.Stderr, http.ListenAndServe("127.0.0.1:"+os.Getenv("KAR_APP_PORT"), mux)) //nolint:gosec // a test
	os.Exit(9)
}

func answering(t *testing.T, change func(*sidecar.Config)) *running {
	t.Helper()
	return start(t, func(c *sidecar.Config) {
		c.Service = ""
		c.Command = []string{"/usr/bin/env", "PAWL_TEST_ROLE=outcomes", os.Args[0]}
		if change != nil {
			change(c)
		}
	})
}

// TestOutcomesThatCarryState: what an answer writes is recorded with its value or
// its tail call, in one step, and not with an error.
func TestOutcomesThatCarryState(t *testing.T) {
	p := answering(t, nil)
	// steps of one actor: an answer, what its caller gets, and the state after it.
	long := strings.Repeat("k", 1025)
	for i, step := range []struct{ answer, want, state string }{
		{`{"value": 1, "state": {"n": 1, "gone": 2}}`, `{"value":1}`, `{"gone":2,"n":1}`},
		{`{"value": 2, "state": {"n": {"deep": [1, null]}, "gone": null}}`, `{"value":2}`, `{"n":{"deep":[1,null]}}`},
		{`{"state": {"n": 3}, "maps": {"m": {"a": 1, "b": 2}, "o": {"x": 1}}}`, ``, `{"m":{"a":1,"b":2},"n":3,"o":{"x":1}}`},
		{`{"value": 4, "maps": {"m": {"a": null}, "o": null}}`, `{"value":4}`, `{"m":{"b":2},"n":3}`},
		{`{"error": true, "message": "no", "state": {"n": 5}}`, `{"error":true,"message":"no"`, `{"m":{"b":2},"n":3}`},
		{`{"value": 6, "state": [1]}`, `json: cannot unmarshal array`, `{"m":{"b":2},"n":3}`},
		{`{"value": 7, "state": {"` + long + `": 1}}`, `a state key of 1025 bytes, the limit is 1024`, `{"m":{"b":2},"n":3}`},
		{`{"value": 8, "maps": {"m": {"` + long + `": 1}}}`, `a state key of 1025 bytes`, `{"m":{"b":2},"n":3}`},
		{`{"value": 10}`, `{"value":10}`, `{"m":{"b":2},"n":3}`},
	} {
		_, got := p.do("POST", "/kar/v1/actor/Thing/a/call/answer", "["+step.answer+"]")
		if !strings.Contains(got, step.want) {
			t.Errorf("%d: answered %s, want %s", i, got, step.want)
		}
		if _, state := p.do("GET", "/kar/v1/actor/Thing/a/state", ""); strings.TrimSpace(state) != step.state {
			t.Errorf("%d: the state is %s, want %s", i, state, step.state)
		}
	}
	// One record: the engine tells of the write and of the outcome together.
	_, stream := p.do("GET", "/v1/events?follow=false&after=0&type=Thing&id=a&event=write,outcome", "")
	if !strings.Contains(stream, ".0\nevent: write\n") || !strings.Contains(stream, ".1\nevent: outcome\n") {
		t.Errorf("told %s", stream)
	}
}

// TestTailCallsThatCarryState: from one actor to another, and what each has
// written is there.
func TestTailCallsThatCarryState(t *testing.T) {
	p := answering(t, nil)
	last, _ := json.Marshal(`[{"value": "moved", "state": {"balance": 5}}]`)
	tail := `[{"tailCall": true, "state": {"balance": -5}, "value": {"actorType": "Thing", "actorId": "b", "path": "/answer", "payload": ` + string(last) + `}}]`
	if _, got := p.do("POST", "/kar/v1/actor/Thing/a/call/answer", tail); !strings.Contains(got, `"moved"`) {
		t.Errorf("answered %s", got)
	}
	for id, want := range map[string]string{"a": `{"balance":-5}`, "b": `{"balance":5}`} {
		if _, state := p.do("GET", "/kar/v1/actor/Thing/"+id+"/state", ""); strings.TrimSpace(state) != want {
			t.Errorf("the state of %s is %s, want %s", id, state, want)
		}
	}
}

// TestStateOfAnAttemptThatDied: the attempt that answers writes, once.
func TestStateOfAnAttemptThatDied(t *testing.T) {
	dir := t.TempDir()
	engine := func(c *sidecar.Config) {
		c.Engine = "local:" + dir + "/data"
		c.Command = append([]string{c.Command[0], "DIED=" + dir + "/died"}, c.Command[1:]...)
	}
	first := answering(t, engine)
	// The pair ends with the application: the answer may be cut, the request is not.
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, first.base+"/kar/v1/actor/Thing/a/call/dieonce", strings.NewReader("[]"))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Pragma", "async")
	if resp, err := first.scratch.Do(r); err == nil {
		resp.Body.Close()
	}
	<-first.ended
	second := answering(t, engine)
	// In its order behind the one that is retried.
	if _, got := second.do("POST", "/kar/v1/actor/Thing/a/call/answer", `[{"value": "next"}]`); !strings.Contains(got, "next") {
		t.Errorf("answered %s", got)
	}
	if _, state := second.do("GET", "/kar/v1/actor/Thing/a/state", ""); strings.TrimSpace(state) != `{"died":true}` {
		t.Errorf("the state is %s", state)
	}
}
