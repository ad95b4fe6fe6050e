package pawltest

import (
	"cmp"
	"runtime"
	"slices"
	"testing/synctest"
	"time"

	"github.com/pawl-go/pawl/engine"
)

// visit is a moment at which a failure can be tried.
type visit struct {
	at    string
	alone bool // the component could have failed alone
}

// ready is a goroutine held at a place, until it is its turn.
type ready struct {
	place place
	on    *session
	alone bool
	wake  chan struct{}
}

// answer is an outcome on its way to who waits for it.
type answer struct {
	to   *session // nil: the client
	resp engine.Response
}

// ask is something to be done while nothing runs; idle: while nothing is ready
// either.
type ask struct {
	do   func()
	idle bool
	done chan struct{}
}

// Limits of one run, beyond which it is taken for one that does not end.
const (
	maxMoves = 50_000         // steps of all actors together, while the scenario waits
	maxIdle  = 24 * time.Hour // of virtual time in which nothing happens, while an answer is waited for
	maxDays  = 400            // times maxIdle, while none is
)

// schedule lets the world go on, one move at a time, until the scenario has
// ended. A move is made when nothing runs: one held goroutine goes on, or dies
// with its process, or one answer arrives. So there is one order of all that
// happens, and it depends on nothing but the seed and the failures.
func (w *World) schedule() {
	for {
		synctest.Wait()
		select {
		case <-w.done:
			return
		default:
		}
		if w.tooLong() {
			return
		}
		if !w.move() && !w.rest() {
			return
		}
	}
}

// rest lets virtual time pass until something is ready.
func (w *World) rest() bool {
	idle := time.NewTimer(maxIdle)
	defer idle.Stop()
	select {
	case <-w.news:
		w.days = 0
		return true
	case <-w.done:
		return true
	case <-idle.C:
		if w.days++; w.days < maxDays && !w.client.waits() {
			return true // it sleeps
		}
		w.giveUp("nothing has happened for %v of virtual time, and the scenario has not ended", time.Duration(w.days)*maxIdle)
		return false
	}
}

func (w *World) tooLong() bool {
	w.mu.Lock()
	w.mu.moves++
	moves := w.mu.moves
	w.mu.Unlock()
	if moves <= maxMoves {
		return false
	}
	w.giveUp("the scenario has waited for %d steps of its actors, and there is no end: does a method call itself, or ask for another attempt, for ever?", maxMoves)
	return true
}

func (w *World) scenarioGoesOn() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mu.moves = 0
}

// giveUp fails a run whose scenario cannot be waited for.
func (w *World) giveUp(format string, args ...any) {
	w.Errorf(format, args...)
	w.client.cancel()
}

// move makes one move; false if there is none.
func (w *World) move() bool {
	if do, ok := w.takeAsk(false); ok {
		do()
		return true
	}
	w.mu.Lock()
	moves := w.moves()
	if len(moves) > 1 {
		w.mu.choice = true
	}
	w.mu.Unlock()
	if len(moves) == 0 {
		do, ok := w.takeAsk(true)
		if ok {
			do()
		}
		return ok
	}
	m := moves[0]
	if len(moves) > 1 {
		m = moves[w.rng.IntN(len(moves))]
	}
	m()
	return true
}

func (w *World) takeAsk(idle bool) (do func(), ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	i := slices.IndexFunc(w.mu.asks, func(a *ask) bool { return a.idle == idle })
	if i < 0 {
		return nil, false
	}
	a := w.mu.asks[i]
	w.mu.moves = 0
	w.mu.asks = slices.Delete(w.mu.asks, i, i+1)
	return func() { a.do(); close(a.done) }, true
}

// ask has something done while nothing runs, and waits for it.
func (w *World) ask(idle bool, do func()) {
	a := &ask{do: do, idle: idle, done: make(chan struct{})}
	w.mu.Lock()
	w.mu.asks = append(w.mu.asks, a)
	w.mu.Unlock()
	w.tell()
	select {
	case <-a.done:
	case <-w.over:
		runtime.Goexit() // the world has given up
	}
}

// tell says that something has become ready.
func (w *World) tell() {
	select {
	case w.news <- struct{}{}:
	default:
	}
}

// moves gives what can be done now, in an order that does not depend on which
// goroutine was faster. mu is held.
func (w *World) moves() []func() {
	slices.SortStableFunc(w.mu.answers, func(a, b *answer) int {
		return cmp.Or(cmp.Compare(a.rank(), b.rank()), a.resp.ID.Compare(b.resp.ID))
	})
	slices.SortStableFunc(w.mu.ready, func(a, b *ready) int {
		return cmp.Or(cmp.Compare(a.on.c.rank, b.on.c.rank), a.place.compare(&b.place))
	})
	for _, r := range w.mu.ready {
		if r.place.step == AfterOutcome && !r.on.c.paused {
			return []func(){func() { w.goOn(r) }} // no code of anybody follows: no choice
		}
	}
	var moves []func()
	for _, a := range w.mu.answers {
		if a.to == nil || !a.to.c.paused {
			moves = append(moves, func() { w.arrive(a) })
		}
	}
	for _, r := range w.mu.ready {
		if !r.on.c.paused {
			moves = append(moves, func() { w.goOn(r) })
		}
	}
	return moves
}

// rank orders answers by who waits, the client first.
func (a *answer) rank() int {
	if a.to == nil {
		return -1
	}
	return a.to.c.rank
}

// arrive brings an answer to who waits for it.
func (w *World) arrive(a *answer) {
	w.mu.Lock()
	i := slices.Index(w.mu.answers, a)
	w.mu.answers = slices.Delete(w.mu.answers, i, i+1)
	w.mu.Unlock()
	if a.to == nil {
		w.scenarioGoesOn()
		w.client.respond(a.resp)
		return
	}
	a.to.handler.Respond(a.resp)
}

// goOn lets a held goroutine go on, unless this is where something is to fail.
func (w *World) goOn(r *ready) {
	w.mu.Lock()
	p := &r.place
	name := p.name()
	w.mu.ordinals[name]++
	if p.ordinal = w.mu.ordinals[name]; p.ordinal > 1 {
		name = p.name()
	}
	w.mu.visited = append(w.mu.visited, visit{name, r.alone})
	fails, alone := w.failsAt(p, name)
	if !fails {
		w.mu.ready = slices.DeleteFunc(w.mu.ready, func(x *ready) bool { return x == r })
	}
	w.mu.Unlock()
	switch {
	case fails && alone:
		w.killComponent(r.on.c, p)
		w.restart(r.on.c)
	case fails:
		w.crash(p)
	default:
		close(r.wake)
	}
}

// failsAt reports whether a failure is due at a place. mu is held.
func (w *World) failsAt(p *place, name string) (fails, alone bool) {
	if w.mu.next < len(w.plan.failures) && w.plan.failures[w.mu.next].at == name {
		alone = w.plan.failures[w.mu.next].alone
		w.mu.next++
		w.mu.behind = len(w.mu.visited)
		return true, alone
	}
	i := slices.IndexFunc(w.mu.once, func(f nextFailure) bool { return f.fits(p) })
	if i < 0 {
		return false, false
	}
	w.mu.once = slices.Delete(w.mu.once, i, i+1)
	return true, false
}

// hold keeps the calling goroutine at a place until it is its turn. If its
// component dies meanwhile, it never goes on: at the end of the world it ends,
// as code of a dead process does, without another line of it being run.
func (w *World) hold(on *session, p place) {
	if !w.held(on, p) {
		runtime.Goexit()
	}
}

// held is hold for a goroutine that ends by itself: it reports whether its
// component lives.
func (w *World) held(on *session, p place) bool {
	r := &ready{place: p, on: on, wake: make(chan struct{})}
	w.mu.Lock()
	dead := on.dead.Load() || w.mu.ending
	if !dead {
		r.alone = len(w.mu.components) > 1
		w.mu.ready = append(w.mu.ready, r)
	}
	w.mu.Unlock()
	w.tell()
	select {
	case <-r.wake:
		return true
	case <-w.over:
		return false
	}
}

// bury holds the calling goroutine, of a dead component, for good.
func (w *World) bury() {
	<-w.over
	runtime.Goexit()
}
