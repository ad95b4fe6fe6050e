package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
	"time"
)

// application is the paired application of the benchmark over HTTP: counters, as
// pawl run asks for them. The same counters answer bare requests, without a
// runtime and from memory.
type application struct {
	runtime string // of the runtime's API
	port    string
	client  http.Client

	mu       sync.Mutex
	counters map[string]*int64 // what has been activated; a runtime calls each one at a time

	held chan struct{} // closed when hold runs
	hold sync.Once
}

// serveApplication serves until the process is killed.
func serveApplication(out io.Writer) error {
	a := &application{
		runtime:  "http://127.0.0.1:" + os.Getenv("KAR_RUNTIME_PORT") + "/kar/v1/actor/Counter/",
		port:     os.Getenv("KAR_APP_PORT"),
		client:   http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: maxClients}},
		counters: map[string]*int64{},
		held:     make(chan struct{}),
	}
	mux := http.NewServeMux()
	const actor = "/kar/impl/v1/actor/Counter"
	mux.HandleFunc("HEAD "+actor, func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET "+actor+"/{id}", a.activate)
	mux.HandleFunc("DELETE "+actor+"/{id}", a.deactivate)
	mux.HandleFunc("POST "+actor+"/{id}/{method}", a.invoke)
	mux.HandleFunc("POST /bare/{id}/{method}", a.bare)
	mux.HandleFunc("GET /held", func(http.ResponseWriter, *http.Request) { <-a.held })
	server := http.Server{Addr: "127.0.0.1:" + a.port, Handler: mux, ReadHeaderTimeout: time.Minute}
	fmt.Fprintf(out, "ready {\"pid\":%d,\"app\":%s,\"runtime\":%s}\n", os.Getpid(), a.port, os.Getenv("KAR_RUNTIME_PORT"))
	return server.ListenAndServe()
}

// activate reads the counter from the state of the actor.
func (a *application) activate(w http.ResponseWriter, r *http.Request) {
	b, err := a.ask(r.Context(), r.PathValue("id")+"/state/n?nilOnAbsent=true")
	n := new(int64)
	if err == nil {
		err = json.Unmarshal(b, n) // null leaves it
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	a.mu.Lock()
	a.counters[r.PathValue("id")] = n
	a.mu.Unlock()
	w.WriteHeader(http.StatusCreated)
}

func (a *application) deactivate(_ http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	delete(a.counters, r.PathValue("id"))
	a.mu.Unlock()
}

// invoke runs a method: its argument is an array of one number.
func (a *application) invoke(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	a.mu.Lock()
	n := a.counters[id]
	a.mu.Unlock()
	var args [1]int64
	err := read(r, &args)
	if n == nil {
		err = errors.New("counter " + id + " was not activated")
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	out := args[0]
	switch r.PathValue("method") {
	case "add": // the state is recorded with the outcome
		*n += args[0]
		fmt.Fprintf(w, `{"value":%d,"state":{"updates":{"n":%d}}}`, *n, *n)
		return
	case "hold": // until it is killed, if the argument is its process id
		if int(args[0]) == os.Getpid() {
			a.hold.Do(func() { close(a.held) })
			select {}
		}
		out = int64(os.Getpid())
	case "pid":
		out = int64(os.Getpid())
	}
	fmt.Fprintf(w, `{"value":%d}`, out)
}

// bare is the job of invoke without a runtime.
func (a *application) bare(w http.ResponseWriter, r *http.Request) {
	var in int64
	if err := read(r, &in); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	out := in
	if r.PathValue("method") == "add" {
		id := "bare " + r.PathValue("id")
		a.mu.Lock()
		n := a.counters[id]
		if n == nil {
			n = new(int64)
			a.counters[id] = n
		}
		*n += in
		out = *n
		a.mu.Unlock()
	}
	fmt.Fprint(w, out)
}

func read(r *http.Request, v any) error {
	b, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	return json.Unmarshal(b, v)
}

// ask asks the runtime.
func (a *application) ask(ctx context.Context, path string) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, a.runtime+path, http.NoBody)
	if err != nil {
		return nil, err
	}
	resp, err := a.client.Do(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode >= http.StatusMultipleChoices {
		err = fmt.Errorf("get %s: %s: %s", path, resp.Status, b)
	}
	return b, err
}
