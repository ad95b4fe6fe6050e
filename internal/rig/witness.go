package rig

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"
	"time"
)

// Witness is a server inside the test that applications tell what happens. It
// stands outside of all that is tested and killed, so what it was told stays told.
//
//	POST /note/NAME          body: JSON, what happened
//	GET  /notes/NAME?count=3 waits for three notes of that name, answers all there are
//	POST /gate/NAME          answers when the test opens the gate
type Witness struct {
	t      testing.TB
	server *httptest.Server

	mu    sync.Mutex
	notes map[string][]json.RawMessage
	news  chan struct{}
	gates map[string]chan struct{}
}

// NewWitness starts one that lives as long as the test.
func NewWitness(t testing.TB) *Witness {
	w := &Witness{
		t: t, notes: map[string][]json.RawMessage{}, news: make(chan struct{}), gates: map[string]chan struct{}{},
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /note/{name}", w.note)
	mux.HandleFunc("GET /notes/{name}", w.list)
	mux.HandleFunc("POST /gate/{name}", w.pass)
	w.server = httptest.NewServer(mux)
	t.Cleanup(func() {
		w.server.CloseClientConnections()
		w.server.Close()
	})
	return w
}

// Env tells an application where the witness is.
func (w *Witness) Env() string { return "WITNESS=" + w.server.URL }

func (w *Witness) note(_ http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the teller was killed while it told
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	name := r.PathValue("name")
	w.notes[name] = append(w.notes[name], body)
	close(w.news)
	w.news = make(chan struct{})
}

func (w *Witness) list(out http.ResponseWriter, r *http.Request) {
	count, err := strconv.Atoi(r.FormValue("count"))
	if err != nil {
		http.Error(out, "count: "+err.Error(), http.StatusBadRequest)
		return
	}
	notes, ok := w.wait(r.PathValue("name"), count, r.Context().Done())
	if !ok {
		http.Error(out, "only "+strconv.Itoa(len(notes))+" notes", http.StatusGatewayTimeout)
		return
	}
	_ = json.NewEncoder(out).Encode(notes) // to a client that may be gone
}

func (w *Witness) pass(_ http.ResponseWriter, r *http.Request) {
	select {
	case <-w.gate(r.PathValue("name")):
	case <-r.Context().Done():
	}
}

func (w *Witness) gate(name string) chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.gates[name] == nil {
		w.gates[name] = make(chan struct{})
	}
	return w.gates[name]
}

// Open lets all through the gate, those who come later too.
func (w *Witness) Open(name string) { close(w.gate(name)) }

// Notes waits for at least count notes of a name and returns all of them.
func (w *Witness) Notes(name string, count int) []json.RawMessage {
	w.t.Helper()
	notes, ok := w.wait(name, count, nil)
	if !ok {
		w.t.Fatalf("witness: %d notes of %s after %v, want %d", len(notes), name, Patience, count)
	}
	return notes
}

// Count is how many notes of a name there are now.
func (w *Witness) Count(name string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.notes[name])
}

func (w *Witness) wait(name string, count int, stop <-chan struct{}) ([]json.RawMessage, bool) {
	over := time.NewTimer(Patience)
	defer over.Stop()
	for {
		w.mu.Lock()
		notes, news := w.notes[name], w.news
		w.mu.Unlock()
		if len(notes) >= count {
			return notes, true
		}
		select {
		case <-news:
		case <-over.C:
			return notes, false
		case <-stop:
			return notes, false
		}
	}
}
