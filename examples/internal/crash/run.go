package crash

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// Run says how a job is to be hurt.
type Run struct {
	Job      Job           // From is the run's to set
	Kills    int           // how many times the child is killed
	Seed     uint64        // of the moments
	Early    float64       // share of kills that land while the program opens
	Patience time.Duration // how long a life may give no sign; default 30 s
	Watch    func(Moment)  // told after every event; may be nil

	// Next brings the life that goes on, with the job that it has to do; Start if nil.
	Next func(context.Context, Job) (*Life, error)
	// Fenced says of a life that has ended by itself whether that was because another
	// host has taken its place, so that the run goes on with the next one; never, if nil.
	Fenced func(error) bool
}

// Moment is the state of a run at an event.
type Moment struct {
	Event
	Elapsed  time.Duration
	Answered int    // units
	InFlight int    // sent by this life, not answered
	Kills    []Kill // so far; the last one's Recovery may be to come
	Host     string // of the life, if it has a name
}

// The kinds of events that the run adds to those of the child.
const (
	Killed  = "killed"  // the child is dead
	Started = "started" // a life has begun
	Fenced  = "fenced"  // a life has ended, since another host has taken its place
)

// Kill is one kill of a run.
type Kill struct {
	Life     int           `json:"life"`                // which life it ended, from 1
	Host     string        `json:"host,omitempty"`      // the name of that life
	NextHost string        `json:"next_host,omitempty"` // of the one that has given the first new answer
	At       time.Duration `json:"at_ns"`               // since the run began
	Answered int           `json:"answered"`            // units answered by then
	InFlight int           `json:"in_flight"`           // units sent by that life and not answered
	Early    bool          `json:"early"`               // it landed while the program opened
	Resumed  int           `json:"resumed"`             // attempts that the lives after it began again
	// Recovery is the time from the start of the next life to its first new
	// answer; 0 if that life was killed before.
	Recovery time.Duration `json:"recovery_ns"`
}

// Result is what a run has seen. It says nothing about the state.
type Result struct {
	Kills    []Kill        `json:"kills"`
	Fenced   int           `json:"fenced"` // lives that ended since another host had taken their place
	Answered int           `json:"answered"`
	Elapsed  time.Duration `json:"elapsed_ns"`
}

// Do runs the job to its end through all the kills. It fails when a child ends
// by itself, gives no sign for too long, or reports the end too early.
func (r Run) Do(ctx context.Context) (*Result, error) {
	if r.Patience == 0 {
		r.Patience = 30 * time.Second
	}
	if r.Next == nil {
		r.Next = Start
	}
	s := &state{
		Run:    r,
		rand:   rand.New(rand.NewPCG(r.Seed, 0x9e3779b97f4a7c15)),
		began:  time.Now(),
		known:  make([]bool, r.Job.Units),
		result: &Result{},
	}
	s.points = points(s.rand, r.Kills, r.Job.Units)
	for {
		over, err := s.live(ctx)
		s.result.Elapsed = time.Since(s.began)
		if err != nil {
			return s.result, fmt.Errorf("life %d of run with seed %d: %w", s.lives, r.Seed, err)
		}
		if over {
			return s.result, nil
		}
	}
}

// mostFenced bounds the lives of a run that may be fenced: more are a fault.
const mostFenced = 3

// state is a run under way.
type state struct {
	Run
	rand   *rand.Rand
	began  time.Time
	points []int  // units answered at which the kills are due
	known  []bool // units answered
	low    int    // the lowest unit without answer
	lives  int
	result *Result

	// Of the life that runs now.
	name    string // of its host
	started time.Time
	flying  map[int]bool
	fresh   bool // it has given a new answer
}

// live runs one life: to its kill, or to the end of all work.
func (s *state) live(ctx context.Context) (over bool, err error) {
	s.lives++
	s.flying, s.fresh, s.started = map[int]bool{}, false, time.Now()
	job := s.Job
	job.From = s.low
	life, err := s.Next(ctx, job)
	if err != nil {
		return false, err
	}
	s.name = life.Name
	s.tell(Event{Kind: Started})
	over, killed, err := s.follow(ctx, life)
	for e := range life.Events { // written before it died, so it counts
		s.take(e)
	}
	ended := life.Wait()
	switch {
	case err != nil:
		return false, errors.Join(err, ended)
	case killed && life.raced(): // its exit status cannot tell any more
		return false, errors.Join(errors.New("the race detector found something before the kill"), ended)
	case killed:
		s.tell(Event{Kind: Killed})
		return false, nil
	case over:
		return true, ended
	case s.Run.Fenced != nil && s.result.Fenced < mostFenced && s.Run.Fenced(ended):
		s.result.Fenced++
		s.tell(Event{Kind: Fenced})
		return false, nil
	default:
		return false, errors.Join(errors.New("child ended before its work"), ended)
	}
}

// follow takes the events of a life until it has ended, or is killed.
func (s *state) follow(ctx context.Context, life *Life) (over, killed bool, err error) {
	patience := time.NewTimer(s.Patience)
	defer patience.Stop()
	fuse, early := s.early()
	burnt := false
	for {
		select {
		case e, ok := <-life.Events:
			if !ok {
				return over, false, nil
			}
			patience.Reset(s.Patience)
			s.take(e)
			over = over || e.Kind == "end"
			switch {
			case burnt && s.due(), s.overdue():
				return false, true, s.kill(life, false)
			case fuse == nil && s.due():
				fuse = time.After(time.Duration(s.rand.Int64N(int64(3 * time.Millisecond))))
			}
		case <-fuse:
			if early || s.due() {
				return false, true, s.kill(life, early)
			}
			burnt = true // nothing in flight just now: at the next that is sent
		case <-patience.C:
			life.Dump(5 * time.Second)
			return false, false, fmt.Errorf("no sign of life for %v; answered %d of %d, in flight %d",
				s.Patience, s.result.Answered, s.Job.Units, len(s.flying))
		case <-ctx.Done(): // by which the child is killed
			return false, false, context.Cause(ctx)
		}
	}
}

// due reports whether the next kill may land now.
func (s *state) due() bool {
	n := len(s.result.Kills)
	return n < s.Kills && s.result.Answered >= s.points[n] && s.fresh && len(s.flying) > 0
}

// overdue reports whether the next kill must land now, or there may be nothing left to
// kill: on a busy machine a child can be far ahead of what has been read of it.
func (s *state) overdue() bool {
	n := len(s.result.Kills)
	if !s.due() {
		return false
	}
	latest := (s.points[n] + s.Job.Units) / 2
	if n+1 < len(s.points) {
		latest = s.points[n+1]
	}
	return s.result.Answered >= latest
}

// early draws whether this life is killed while it opens, and when.
func (s *state) early() (<-chan time.Time, bool) {
	n := len(s.result.Kills)
	if n == 0 || n >= s.Kills || s.result.Kills[n-1].Early || s.rand.Float64() >= s.Early {
		return nil, false
	}
	return time.After(time.Duration(s.rand.Int64N(int64(60 * time.Millisecond)))), true
}

func (s *state) kill(life *Life, early bool) error {
	s.result.Kills = append(s.result.Kills, Kill{
		Life: s.lives, Host: s.name, At: time.Since(s.began), Answered: s.result.Answered, InFlight: len(s.flying), Early: early,
	})
	return life.Kill()
}

// take notes an event.
func (s *state) take(e Event) {
	if e.Unit < 0 || e.Unit >= len(s.known) {
		return
	}
	switch e.Kind {
	case "sent":
		s.flying[e.Unit] = true
	case "again":
		if n := len(s.result.Kills); n > 0 {
			s.result.Kills[n-1].Resumed++
		}
	case "answered":
		s.answered(e.Unit)
	}
	s.tell(e)
}

func (s *state) answered(unit int) {
	delete(s.flying, unit)
	if s.known[unit] {
		return
	}
	s.known[unit] = true
	s.result.Answered++
	for s.low < len(s.known) && s.known[s.low] {
		s.low++
	}
	if n := len(s.result.Kills); !s.fresh && n > 0 && s.result.Kills[n-1].Life == s.lives-1 {
		s.result.Kills[n-1].Recovery, s.result.Kills[n-1].NextHost = time.Since(s.started), s.name
	}
	s.fresh = true
}

func (s *state) tell(e Event) {
	if s.Watch != nil {
		s.Watch(Moment{
			Event: e, Elapsed: time.Since(s.began), Answered: s.result.Answered,
			InFlight: len(s.flying), Kills: s.result.Kills, Host: s.name,
		})
	}
}

// points draws the numbers of answered units at which the kills are due: one at
// random in each of as many equal parts of the work, its last twentieth left
// out, so that there is work in flight at each.
func points(r *rand.Rand, kills, units int) []int {
	if kills == 0 {
		return nil
	}
	points := make([]int, kills)
	part := float64(units) * 0.95 / float64(kills)
	for i := range points {
		points[i] = int((float64(i) + r.Float64()) * part)
	}
	return points
}
