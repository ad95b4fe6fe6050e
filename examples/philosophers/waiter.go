package philosophers

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"
)

// meal is what a philosopher tells the waiter of.
type meal struct {
	Who   string   `json:"who"`
	Forks []string `json:"forks"`
	Meal  int      `json:"meal"` // 1 is the first
}

// waiter sees who eats with which forks, from outside of all that is killed. What
// a process tells that is killed may come late, or twice: a meal that has ended has
// ended, and nothing that is told of it later counts.
type waiter struct {
	mu    sync.Mutex
	hands map[string]string // who eats with a fork, by fork
	ended map[string]int    // the last meal that has ended, by philosopher
	again int               // meals that began again, after a crash
	wrong []string          // what must not be
	news  chan struct{}     // closed and replaced with each meal that ends
	meals int               // that have ended
}

func newWaiter() *waiter {
	return &waiter{hands: map[string]string{}, ended: map[string]int{}, news: make(chan struct{})}
}

// ServeHTTP takes POST /begins and POST /ends.
func (w *waiter) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	var m meal
	if err := json.NewDecoder(r.Body).Decode(&m); err != nil {
		http.Error(out, err.Error(), http.StatusBadRequest) // the teller was killed while it told
		return
	}
	switch r.URL.Path {
	case "/begins":
		w.begins(m)
	case "/ends":
		w.ends(m)
	default:
		http.NotFound(out, r)
	}
}

func (w *waiter) begins(m meal) {
	w.mu.Lock()
	defer w.mu.Unlock()
	last := w.ended[m.Who]
	switch {
	case m.Meal <= last:
		w.again++
		return
	case m.Meal > last+1:
		w.wrong = append(w.wrong, fmt.Sprintf("%s begins meal %d after meal %d", m.Who, m.Meal, last))
	}
	if len(m.Forks) > 0 && w.hands[m.Forks[0]] == m.Who {
		w.again++
	}
	for _, f := range m.Forks {
		if holder := w.hands[f]; holder != "" && holder != m.Who {
			w.wrong = append(w.wrong, fmt.Sprintf("%s eats with fork %s, with which %s eats", m.Who, f, holder))
			continue
		}
		w.hands[f] = m.Who
	}
}

func (w *waiter) ends(m meal) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if m.Meal <= w.ended[m.Who] {
		return
	}
	w.ended[m.Who] = m.Meal
	for _, f := range m.Forks {
		if w.hands[f] == m.Who {
			delete(w.hands, f)
		}
	}
	w.meals++
	close(w.news)
	w.news = make(chan struct{})
}

// served is how many meals have ended, and what is closed when the next one has.
func (w *waiter) served() (meals int, next <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.meals, w.news
}

// repeats is how many meals began again.
func (w *waiter) repeats() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.again
}

// complaints are what was wrong, and who has not ended all their meals.
func (w *waiter) complaints(guests []string, meals int) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := slices.Clone(w.wrong)
	for _, g := range guests {
		if w.ended[g] != meals {
			all = append(all, fmt.Sprintf("the waiter saw %s eat %d meals, not %d", g, w.ended[g], meals))
		}
	}
	return all
}
