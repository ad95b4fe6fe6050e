package program

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pawl-go/pawl/engine"
)

// What is checked at the end, on what is recorded.

// checker has read all logs.
type checker struct {
	*world
	stamps map[string]*stamp // by key
	where  map[string]engine.Actor
	fired  map[string]int // firings, by cause and script
	errs   []error
}

func (w *world) check() error {
	if err := w.nothingLeft(); err != nil {
		return err
	}
	c := &checker{world: w, stamps: map[string]*stamp{}, where: map[string]engine.Actor{}, fired: map[string]int{}}
	for _, a := range w.p.Actors {
		if err := c.read(a); err != nil {
			return fmt.Errorf("read %v: %w", a, err)
		}
	}
	for who, a := range w.answers {
		c.answered(who, a.script, a.value, a.failed)
	}
	for _, t := range w.told {
		c.ran("a client", t)
	}
	for key, s := range c.stamps {
		c.step(key, s)
	}
	slices.SortFunc(c.errs, func(x, y error) int { return strings.Compare(x.Error(), y.Error()) })
	return errors.Join(c.errs...)
}

func (c *checker) wrong(format string, args ...any) {
	c.errs = append(c.errs, fmt.Errorf(format, args...))
}

// nothingLeft: the flow has drained, and nothing was given up.
func (w *world) nothingLeft() error {
	st, err := w.life.checker.Operator().Stats(context.Background())
	if err != nil {
		return err
	}
	if st.Pending+st.Scheduled+st.Reminders > 0 || st.Parked > 0 && w.p.Ordered {
		return fmt.Errorf("left: %d pending, %d scheduled, %d parked, %d reminders: %s",
			st.Pending, st.Scheduled, st.Parked, st.Reminders, w.life.pending())
	}
	return nil
}

// read reads the state of an actor: all that a step has written is there or
// nothing.
func (c *checker) read(a engine.Actor) error {
	ctx := context.Background()
	cells, err := c.life.checker.Load(ctx, a)
	if err != nil {
		return err
	}
	state := map[string]string{}
	for _, x := range cells {
		state[x.Cell] = string(x.Value)
	}
	lines := strings.Split(state[cellLog], "\n")
	lines = lines[:len(lines)-1]
	if n, _ := strconv.Atoi(state[cellCount]); n != len(lines) {
		c.wrong("%v: the log has %d lines, the count is %d", a, len(lines), n)
	}
	marks, err := c.life.checker.Scan(ctx, a, cellMarks, "", 1<<20)
	if err != nil {
		return err
	}
	for _, line := range lines {
		s := &stamp{}
		if err := json.Unmarshal([]byte(line), s); err != nil {
			return err
		}
		c.stamp(a, s, state[cellEarly])
		if !slices.ContainsFunc(marks, func(m engine.Cell) bool { return m.Entry == s.Key }) {
			c.wrong("%v: step %s has no mark", a, s.Key)
		}
	}
	for _, m := range marks {
		if s := c.stamps[m.Entry]; s == nil || c.where[m.Entry] != a {
			c.wrong("%v: a mark of step %s, which is not in the log", a, m.Entry)
		}
	}
	return nil
}

// stamp takes a line of a log: no step is there twice.
func (c *checker) stamp(a engine.Actor, s *stamp, early string) {
	if at, twice := c.where[s.Key]; twice && !c.p.loose(s.Script) {
		c.wrong("step %s (script %d) counts twice: on %v and on %v", s.Key, s.Script, at, a)
	}
	c.stamps[s.Key], c.where[s.Key] = s, a
	if want := c.actorOf(s.Script); want != a {
		c.wrong("step %s of script %d is on %v, not on %v", s.Key, s.Script, a, want)
	}
	got := 0
	for line := range strings.Lines(early) {
		if line == fmt.Sprintf("%s#%d\n", s.Key, s.Attempt) {
			got++
		}
	}
	if got != s.Early {
		c.wrong("step %s on %v: %d early writes of the attempt that counts, %d are there", s.Key, a, s.Early, got)
	}
	if s.Cause != "" {
		c.fired[s.Cause+" "+strconv.Itoa(s.Script)]++
	}
}

// answered checks an answer against what is recorded.
func (c *checker) answered(who string, script int, value, failure string) {
	switch s := c.stamps[value]; {
	case failure != "":
		if key, ok := strings.CutPrefix(failure, "failed "); ok && c.stamps[key] != nil {
			c.wrong("%s was answered %q, and that step is recorded", who, failure)
		}
	case c.p.fails(script):
		c.wrong("%s was answered %q, and script %d fails", who, value, script)
	case s == nil:
		c.wrong("%s was answered by step %q of script %d, of which nothing is recorded", who, value, script)
	case s.Script != c.p.last(script):
		c.wrong("%s asked for script %d and was answered by step %s of script %d, not of %d", who, script, value, s.Script, c.p.last(script))
	}
}

// last is the script that answers for one, at the end of its tail calls.
func (p *Program) last(script int) int {
	for p.Scripts[script].tails() {
		script = p.Scripts[script].Next
	}
	return script
}

// ran checks that what was told has run.
func (c *checker) ran(who string, t told) {
	if !c.p.Ordered {
		return // it may have ended with a deadlock
	}
	there := c.stamps[t.ID+"/1"] != nil
	if fails := c.p.stepFails(t.Script); there == fails && (there || !c.canceled) {
		c.wrong("%s told %s (script %d): it is recorded: %v, it fails: %v", who, t.ID, t.Script, there, fails)
	}
}

// step checks what a step that counts says of others, and of the next step.
func (c *checker) step(key string, s *stamp) {
	who := "step " + key
	for _, x := range s.Calls {
		c.answered(who, x.Script, x.Value, x.Failed)
	}
	for _, t := range s.Told {
		c.ran(who, t)
	}
	for _, script := range s.Set {
		// A Sync may have recorded it in earlier attempts too.
		least, most := 1, 1
		if slices.ContainsFunc(c.p.Scripts[s.Script].Acts, func(a Act) bool { return a.Verb == Sync }) {
			most = s.Attempt
		}
		if c.p.stepFails(script) {
			least, most = 0, 0
		}
		if c.canceled {
			least = 0
		}
		if got := c.fired[key+" "+strconv.Itoa(script)]; (got < least || got > most) && c.p.Ordered {
			c.wrong("%s set a reminder of script %d, which was run %d times, want %d to %d", who, script, got, least, most)
		}
	}
	if sc := &c.p.Scripts[s.Script]; sc.tails() && c.p.Ordered {
		id, step, _ := strings.Cut(key, "/")
		n, _ := strconv.Atoi(step)
		next := c.stamps[fmt.Sprintf("%s/%d", id, n+1)]
		if fails := c.p.stepFails(sc.Next); (next != nil) == fails && (next != nil || !c.canceled) {
			c.wrong("%s ends with a tail call to script %d: it is recorded: %v, it fails: %v", who, sc.Next, next != nil, fails)
		}
	}
}
