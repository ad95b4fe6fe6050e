package sidecar_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"
)

// app is an application as an SDK would be: the test program in another role.
type app struct {
	runtime string
	mu      sync.Mutex
	live    map[string]bool
	grown   map[string]int // in memory of actors
	gone    int            // deactivations
	holds   chan struct{}  // closed when hold runs
	held    sync.Once
	release chan struct{} // hold runs until it is closed
	once    sync.Once
}

// application serves until it is killed. It prints the runtime's port when it
// listens.
func application() {
	a := &app{
		runtime: "http://127.0.0.1:" + os.Getenv("KAR_RUNTIME_PORT"),
		live:    map[string]bool{}, grown: map[string]int{}, release: make(chan struct{}), holds: make(chan struct{}),
	}
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	s := http.Server{Addr: "127.0.0.1:" + os.Getenv("KAR_APP_PORT"), Handler: a, Protocols: &protocols} //nolint:gosec // a test
	fmt.Fprintln(os.Stdout, os.Getenv("KAR_RUNTIME_PORT"))
	if os.Getenv("LATE") != "" {
		a.listenLate()
	}
	fmt.Fprintln(os.Stderr, s.ListenAndServe())
	os.Exit(9)
}

// ServeHTTP routes by the segments as they were written: a ServeMux would clean the
// path, and so change ids.
func (a *app) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rest, ok := strings.CutPrefix(r.URL.EscapedPath(), "/kar/impl/v1/actor/")
	seg := strings.Split(rest, "/")
	for i, name := range []string{"type", "id", "method"}[:min(len(seg), 3)] {
		value, err := url.PathUnescape(seg[i])
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		r.SetPathValue(name, value)
	}
	switch {
	case !ok:
		echo(w, r)
	case r.Method == http.MethodHead && len(seg) == 1: // it hosts every type
	case r.Method == http.MethodGet && len(seg) == 2:
		a.activate(w, r)
	case r.Method == http.MethodDelete && len(seg) == 2:
		a.deactivate(w, r)
	case r.Method == http.MethodPost && len(seg) == 3:
		a.invoke(w, r)
	default:
		w.WriteHeader(http.StatusBadRequest)
	}
}

// listenLate returns when the test lets it, by a state of an actor.
func (a *app) listenLate() {
	for {
		if _, err := a.request("GET", "/kar/v1/actor/Thing/late/state/go", "", ""); err == nil {
			return
		}
		<-time.After(5 * time.Millisecond) // nobody tells of a state
	}
}

// echo is the service.
func echo(w http.ResponseWriter, r *http.Request) {
	b, _ := io.ReadAll(r.Body)
	w.Header().Set("X-Echo", r.Header.Get("X-Mine"))
	w.WriteHeader(http.StatusNonAuthoritativeInfo)
	fmt.Fprintf(w, "%s %s?%s %s", r.Method, r.URL.EscapedPath(), r.URL.RawQuery, b)
}

func (a *app) activate(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	if id == "refused" {
		w.WriteHeader(http.StatusConflict)
		_, _ = io.WriteString(w, "not activated")
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.live[id] {
		a.live[id] = true
		delete(a.grown, id)
		w.WriteHeader(http.StatusCreated)
	}
}

func (a *app) deactivate(_ http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.live, r.PathValue("id"))
	a.gone++
}

func (a *app) has(id string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.live[id]
}

// call calls a method from one that runs.
func (a *app) call(session, id, method, pragma string, args ...any) (string, error) {
	b, _ := json.Marshal(args)
	return a.request("POST", "/kar/v1/actor/Thing/"+id+"/call/"+method+"?session="+session, string(b), pragma)
}

func (a *app) request(verb, path, body, pragma string) (string, error) {
	r, err := http.NewRequest(verb, a.runtime+path, strings.NewReader(body)) //nolint:noctx // a test
	if err != nil {
		return "", err
	}
	r.Header.Set("Pragma", pragma)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode >= 300 {
		err = fmt.Errorf("%d %s", resp.StatusCode, b)
	}
	var v struct{ Value any }
	if json.Unmarshal(b, &v) == nil && v.Value != nil {
		return fmt.Sprint(v.Value), err
	}
	return string(b), err
}

func (a *app) invoke(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var args []any
	_ = json.Unmarshal(body, &args)
	id, session := r.PathValue("id"), r.URL.Query().Get("session")
	if !a.has(id) { // as kar-sdk answers
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, "no actor with id "+id)
		return
	}
	value := func(v any, err error) {
		w.Header().Set("Content-Type", "application/kar+json")
		e := json.NewEncoder(w)
		e.SetEscapeHTML(false)
		if err != nil {
			_ = e.Encode(map[string]any{"error": true, "message": err.Error()})
			return
		}
		_ = e.Encode(map[string]any{"value": v})
	}
	tail := func(t map[string]any) {
		_ = json.NewEncoder(w).Encode(map[string]any{"tailCall": true, "value": t})
	}
	state := "/kar/v1/actor/Thing/" + id + "/state/"
	switch r.PathValue("method") {
	case "echo":
		value(args, nil)
	case "self":
		value(id, nil)
	case "session":
		value(session, nil)
	case "nothing":
		w.WriteHeader(http.StatusNoContent)
	case "throw":
		_, _ = io.WriteString(w, `{"error":true,"message":"thrown","stack":"at x"}`)
	case "refuse":
		w.WriteHeader(http.StatusTeapot)
		_, _ = io.WriteString(w, "teapot")
	case "rubbish":
		_, _ = io.WriteString(w, "<html>")
	case "badtail":
		tail(map[string]any{"path": "/x"})
	case "cut":
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, `{"val`)
		panic(http.ErrAbortHandler)
	case "reenter":
		v, err := a.call(session, args[0].(string), "back", "", id)
		value(id+"/"+v, err)
	case "back":
		v, err := a.call(session, args[0].(string), "self", "")
		value(id+"/"+v, err)
	case "parallel":
		value(a.parallel(session, id, int(args[0].(float64))))
	case "promised":
		p, err := a.call(session, "b", "self", "promise")
		if err != nil {
			value(nil, err)
			return
		}
		value(a.request("POST", "/kar/v1/await", p, ""))
	case "promiseheld": // what it waits for is told by its state
		p, err := a.call(session, "held", "hold", "promise")
		if err == nil {
			_, err = a.request("PUT", state+"promise", `"`+p+`"`, "")
		}
		if err != nil {
			value(nil, err)
			return
		}
		value(a.request("POST", "/kar/v1/await", p, ""))
	case "first":
		value(a.first(session))
	case "holding":
		<-a.holds
		value(os.Getenv("KAR_APP_PORT"), nil)
	case "hold":
		a.held.Do(func() { close(a.holds) })
		<-a.release
		value("released", nil)
	case "holdandcount":
		a.held.Do(func() { close(a.holds) })
		<-a.release
		value(a.count(state))
	case "holdandkeep":
		a.held.Do(func() { close(a.holds) })
		<-a.release
		_, err := a.request("PUT", state+"kept", `"released"`, "")
		value(nil, err)
	case "release":
		a.once.Do(func() { close(a.release) })
		w.WriteHeader(http.StatusNoContent)
	case "keep":
		b, _ := json.Marshal(args[0])
		_, err := a.request("PUT", state+"kept", string(b), "")
		value(nil, err)
	case "around": // calls itself, which changes state with its own outcome
		if _, err := a.call(session, id, "with", "", "value"); err != nil {
			value(nil, err)
			return
		}
		_, _ = io.WriteString(w, `{"value":"around","state":{"updates":{"around":1}}}`)
	case "with": // counts in the state of its outcome, in a value and in a submap, and ends as it is told
		n := 0
		if v, err := a.request("GET", state+"w?nilOnAbsent=true", "", ""); err == nil {
			_ = json.Unmarshal([]byte(v), &n)
		}
		outcome := map[string]any{"state": map[string]any{
			"updates": map[string]int{"w": n + 1}, "submapupdates": map[string]any{"s": map[string]int{"w": n + 1}}, "removals": []string{"gone"},
		}}
		switch args[0] {
		case "value":
			outcome["value"] = n + 1
		case "tail":
			outcome["tailCall"] = true
			outcome["value"] = map[string]any{"actorType": "Thing", "actorId": "z", "path": "/aftertail", "payload": "[]"}
		case "error":
			outcome["error"], outcome["message"] = true, "thrown"
		case "rubbish":
			outcome["tailCall"] = true
		}
		_ = json.NewEncoder(w).Encode(outcome)
	case "grow": // counts in memory, too, and answers with state of the size it is told
		n, err := a.grow(id, state)
		if err != nil {
			value(nil, err)
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"value": n, "state": map[string]any{"updates": map[string]any{
			"grown": n, "big": strings.Repeat("x", int(args[0].(float64))),
		}}})
	case "count":
		value(a.count(state))
	case "tailself", "tailrelease":
		t := map[string]any{"actorType": "Thing", "actorId": id, "path": "/aftertail", "payload": "[]"}
		if r.PathValue("method") == "tailrelease" {
			t["releaseLock"] = "true"
		}
		tail(t)
	case "tailother":
		tail(map[string]any{"actorType": "Thing", "actorId": "z", "path": "/aftertail", "payload": "[]"})
	case "tailservice":
		tail(map[string]any{"serviceName": "echo", "path": "/there/x", "payload": map[string]int{"n": 1}, "method": "POST"})
	case "aftertail":
		value(id+" after tail", nil)
	case "die":
		os.Exit(7)
	case "dieonce":
		if _, err := a.request("GET", state+"died", "", ""); err != nil { // 404
			_, _ = a.request("PUT", state+"died", "true", "")
			os.Exit(7)
		}
		value("alive", nil)
	case "dieanswering":
		if _, err := a.request("GET", state+"died", "", ""); err == nil {
			value("whole", nil)
			return
		}
		_, _ = a.request("PUT", state+"died", "true", "")
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, `{"value":"half`)
		_ = http.NewResponseController(w).Flush()
		os.Exit(7)
	case "stop": // until somebody wakes it
		_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
	case "deactivated":
		a.mu.Lock()
		n := a.gone
		a.mu.Unlock()
		value(n, nil)
	case "pid":
		value(os.Getpid(), nil)
	default:
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, "no method "+r.PathValue("method"))
	}
}

// parallel has n calls out at once, each of which comes back.
func (a *app) parallel(session, id string, n int) (any, error) {
	var wg sync.WaitGroup
	errs := make([]error, n)
	for i := range n {
		wg.Go(func() {
			var v string
			if v, errs[i] = a.call(session, fmt.Sprint("p", i), "back", "", id); errs[i] == nil && v != fmt.Sprintf("p%d/%s", i, id) {
				errs[i] = fmt.Errorf("call %d: %q", i, v)
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return n, nil
}

// first has two calls out, of which the first ends only after the answer to
// the second was used.
func (a *app) first(session string) (any, error) {
	slow := make(chan error)
	go func() {
		_, err := a.call(session, "slow", "hold", "")
		slow <- err
	}()
	if _, err := a.call(session, "fast", "self", ""); err != nil {
		return nil, err
	}
	a.once.Do(func() { close(a.release) })
	return "fast before slow", <-slow
}

// grow adds one to what is in memory of an actor, read from its state when it is new.
func (a *app) grow(id, state string) (int, error) {
	a.mu.Lock()
	n, known := a.grown[id]
	a.mu.Unlock()
	if !known {
		v, err := a.request("GET", state+"grown?nilOnAbsent=true", "", "")
		if err == nil {
			err = json.Unmarshal([]byte(v), &n)
		}
		if err != nil {
			return 0, err
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.grown[id] = n + 1
	return n + 1, nil
}

// count adds one to the state of its actor.
func (a *app) count(state string) (any, error) {
	n := 0
	v, err := a.request("GET", state+"n?nilOnAbsent=true", "", "")
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal([]byte(v), &n); err != nil {
		return nil, err
	}
	n++
	_, err = a.request("PUT", state+"n", fmt.Sprint(n), "")
	return n, err
}
