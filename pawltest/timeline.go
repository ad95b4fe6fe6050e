package pawltest

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/pawl-go/pawl/engine"
)

// kind says what an event was.
type kind int

const (
	sent     kind = iota // by sent calls or tells, or recorded what it wrote so far
	begins               // by begins
	ended                // the outcome of by is recorded
	answered             // the client gets the outcome of by
	parked               // by was given up
	marked               // by has passed MayFail
	died                 // a component, or the process, has died
	started              // and has started again
)

// event is something that has happened in a run, in the order in which it did.
type event struct {
	when    time.Duration // virtual, since the run began
	kind    kind
	by      *attempt // nil: the client, or the world
	at      *place   // of a death, nil if the scenario asked for it
	effects engine.Effects
	outcome *engine.Outcome
	text    string
	again   bool // an earlier attempt had begun; set for the timeline
}

// note keeps an event.
func (w *World) note(e event) {
	e.when = w.now()
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.mu.ending {
		w.mu.events = append(w.mu.events, e)
	}
}

// noteEffects keeps what an attempt, or the client, has sent.
func (w *World) noteEffects(by engine.Attempt, e *engine.Effects) {
	w.note(event{kind: sent, by: w.attempt(by), effects: engine.Effects{
		Writes:    append([]engine.Write(nil), e.Writes...),
		Reminders: append([]engine.ReminderChange(nil), e.Reminders...),
		Requests:  append([]*engine.Request(nil), e.Requests...),
	}})
}

// Timeline tells what has happened so far, a line each.
func (w *World) Timeline() string {
	w.mu.Lock()
	events := w.mu.events
	w.mu.Unlock()
	return timeline(events)
}

// line is one of a timeline: who, and what.
type line struct {
	when      time.Duration
	who, what string
}

// timeline writes events as text: who on the left, and what they did.
func timeline(events []event) string {
	var lines []line
	begun := map[stepOf]bool{}
	for _, e := range events {
		if e.kind == begins {
			k := stepOf{e.by.ID, e.by.Step}
			e.again, begun[k] = begun[k], true
		}
		for _, l := range e.lines() {
			l.when = e.when
			lines = append(lines, l)
		}
	}
	width := 0
	for _, l := range lines {
		width = max(width, utf8.RuneCountInString(l.who))
	}
	width = min(width, 40)
	var b strings.Builder
	last := time.Duration(0)
	for _, l := range lines {
		if l.when != last {
			fmt.Fprintf(&b, "    ... %v later\n", (l.when - last).Round(time.Millisecond))
			last = l.when
		}
		if l.who == "" {
			fmt.Fprintf(&b, "    ------ %s\n", l.what)
			continue
		}
		fmt.Fprintf(&b, "    %-*s  %s\n", width, l.who, l.what)
	}
	return b.String()
}

// lines says an event in words.
func (e *event) lines() []line {
	who := "client"
	if e.by != nil {
		who = fmt.Sprintf("%s.%s", e.by.Actor, e.by.Method)
	}
	switch e.kind {
	case sent:
		return e.sentLines(who)
	case begins:
		return []line{{who: who, what: e.beginning()}}
	case ended:
		return e.endLines(who)
	case answered:
		return []line{{who: "client", what: "gets " + result(e.outcome)}}
	case parked:
		return []line{{who: who, what: "is parked: " + e.text}}
	case marked:
		return []line{{who: who, what: "is past " + e.text}}
	case died:
		if e.at == nil {
			return []line{{what: e.text}}
		}
		return []line{{what: e.text + ", " + e.at.String()}}
	case started:
		return []line{{what: e.text}}
	}
	return nil
}

// beginning tells a later attempt from the first: one that is counted from a
// failure before it had begun is not told.
func (e *event) beginning() string {
	if e.again {
		return fmt.Sprintf("begins again (attempt %d)%s", e.by.n, argument(e.by.Payload))
	}
	return "begins" + argument(e.by.Payload)
}

func (e *event) sentLines(who string) []line {
	var lines []line
	if w := writes(e.effects.Writes); w != "" {
		lines = append(lines, line{who: who, what: "records" + w})
	}
	for _, r := range e.effects.Requests {
		lines = append(lines, line{who: who, what: sends(r)})
	}
	return append(lines, reminders(who, e.effects.Reminders)...)
}

func (e *event) endLines(who string) []line {
	var lines []line
	for _, r := range e.effects.Requests {
		lines = append(lines, line{who: who, what: sends(r)})
	}
	lines = append(lines, reminders(who, e.effects.Reminders)...)
	what := "returns " + result(e.outcome)
	if t := e.outcome.Tail; t != nil {
		what = "ends as " + call(t)
	}
	if w := writes(e.effects.Writes); w != "" {
		what += ", and records" + w
	}
	return append(lines, line{who: who, what: what})
}

func reminders(who string, changes []engine.ReminderChange) []line {
	var lines []line
	for _, c := range changes {
		verb := "sets"
		if c.Remove {
			verb = "removes"
		}
		lines = append(lines, line{who: who, what: fmt.Sprintf("%s the reminder %q of %v", verb, c.Name, c.Actor)})
	}
	return lines
}

// sends says that a request was sent.
func sends(r *engine.Request) string {
	verb := "calls "
	if r.Kind == engine.KindTell {
		verb = "tells "
	}
	if r.Once {
		return verb + "once " + call(r)
	}
	return verb + call(r)
}

func call(r *engine.Request) string {
	return fmt.Sprintf("%s.%s(%s)", r.Actor, r.Method, value(r.Payload))
}

func argument(payload []byte) string {
	if len(payload) == 0 {
		return ""
	}
	return " with " + value(payload)
}

func result(o *engine.Outcome) string {
	switch {
	case o.Failure != nil:
		return fmt.Sprintf("the error %q", cut(failureText(o.Failure)))
	case len(o.Value) == 0:
		return "nothing"
	}
	return value(o.Value)
}

func failureText(f *engine.Failure) string {
	if f.Message == "" {
		return f.Code
	}
	return f.Message
}

func writes(ws []engine.Write) string {
	var b strings.Builder
	for i, w := range ws {
		if i > 0 {
			b.WriteByte(',')
		}
		key := w.Cell
		if w.InMap {
			key = fmt.Sprintf("%s[%s]", w.Cell, cut(w.Entry))
		}
		switch w.Op {
		case engine.Put:
			fmt.Fprintf(&b, " %s = %s", key, value(w.Value))
		case engine.Delete:
			fmt.Fprintf(&b, " no %s", key)
		case engine.Clear:
			fmt.Fprintf(&b, " an empty %s", w.Cell)
		}
	}
	return b.String()
}

// value shows an encoded value, cut if it is long.
func value(b []byte) string {
	if !utf8.Valid(b) {
		return fmt.Sprintf("%d bytes", len(b))
	}
	return cut(string(b))
}

func cut(s string) string {
	const most = 60
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most]) + "..."
}
