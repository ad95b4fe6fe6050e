package walk

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pawl-go/pawl/spec"
	"github.com/pawl-go/pawl/spec/journal"
)

// timeline tells the path to a node, and a last choice if there is one. It
// walks the path again.
func (w *walker) timeline(at int32, last *choice) []Line {
	var path []edge
	for e := w.tree[at]; e.from >= 0; e = w.tree[e.from] {
		path = append(path, e)
	}
	n := w.root()
	var lines []Line
	for _, e := range slices.Backward(path) {
		cs := w.choices(n)
		cs = append(cs, failures(nil, n)...)
		c := &cs[e.choice]
		before := n.clone()
		err := n.take(c)
		if _, refused := errors.AsType[*spec.Refusal](err); refused {
			tried := c.event
			n = gone(n, c)
			lines = append(lines, tell(before, &tried, " (refused: it is a zombie)")...)
			continue
		}
		lines = append(lines, tell(before, &c.event, "")...)
	}
	if last != nil {
		lines = append(lines, tell(n, &last.event, "")...)
	}
	return lines
}

// tell tells an event that happens at a node.
func tell(n *node, e *spec.Event, note string) []Line {
	if e.Rule == spec.RuleFailure {
		var lines []Line
		for _, a := range e.Actors {
			lines = append(lines, Line{a, "✗ FAILS", true})
		}
		return lines
	}
	switch e.Rule {
	case journal.RuleCommit:
		return []Line{{"", "(a record more counts)", false}}
	case journal.RuleCrash:
		return []Line{{"", fmt.Sprintf("✗ CRASH, %d of %d records cut", n.log.Uncommitted()-e.By.N, n.log.Uncommitted()), true}}
	}
	actor, zombie := spec.Actor(""), ""
	s := n.world.State
	if p := s.Process(e.By); p != nil {
		actor = p.Actor
		if p.Zombie {
			zombie = "zombie "
		}
	} else if q := s.Request(e.By.ID); q != nil {
		actor = q.Actor
	} else if q := s.Request(e.ID); q != nil {
		actor = q.Actor
	}
	text := words(s, e)
	if text == "" {
		return nil
	}
	return []Line{{actor, zombie + text + note, false}}
}

// words tells an event in few words; "" for one that is not worth a line.
func words(s *spec.State, e *spec.Event) string {
	i := e.By.ID
	to := fmt.Sprintf("%s.%s(%s)", e.Msg.Actor, e.Msg.Method, e.Msg.Arg)
	switch e.Rule {
	case spec.RuleSend:
		return fmt.Sprintf("%s → %s", e.Msg.ID, to)
	case spec.RuleBegin:
		return begins(s, e.By)
	case spec.RuleStep:
		if len(e.Writes) == 0 {
			return ""
		}
		return fmt.Sprintf("%s writes %q", i, e.Writes[0].Value)
	case spec.RuleSync:
		return fmt.Sprintf("%s syncs", i)
	case spec.RuleCall:
		return fmt.Sprintf("%s calls %s %s", i, e.Msg.ID, to)
	case spec.RuleCallOnce:
		return fmt.Sprintf("%s calls once %s %s", i, e.Msg.ID, to)
	case spec.RuleTell:
		return fmt.Sprintf("%s tells %s %s", i, e.Msg.ID, to)
	case spec.RuleWait:
		return fmt.Sprintf("%s waits", i)
	case spec.RuleReturn:
		return fmt.Sprintf("%s gets %s = %q", i, e.ID, s.Response(e.ID).Value)
	case spec.RuleGoOn:
		return fmt.Sprintf("%s: its deadline ends the wait", i)
	case spec.RuleEnd:
		return fmt.Sprintf("%s ends %q", i, e.Value)
	case spec.RuleTailOther:
		return fmt.Sprintf("%s tail-calls %s", i, to)
	case spec.RuleTailSelf:
		return fmt.Sprintf("%s tail-calls itself .%s(%s)", i, e.Msg.Method, e.Msg.Arg)
	case spec.RuleRelease:
		return fmt.Sprintf("%s is answered %q", e.ID, s.Response(e.ID).Value)
	case spec.RulePark, spec.RuleAnswer, spec.RuleRefuse, spec.RuleOverrule, spec.RuleForce:
		return fmt.Sprintf("%s: %s %q", e.ID, e.Rule, e.Value)
	}
	return fmt.Sprintf("%s: %s", e.Of(), e.Rule)
}

func begins(s *spec.State, a spec.Attempt) string {
	text := fmt.Sprintf("%s begins", a.ID)
	if q := s.Request(a.ID); q != nil {
		text += " " + q.Method
	}
	if a.N > 1 {
		text += fmt.Sprintf(", attempt %d", a.N)
	}
	return text
}

// Format writes a timeline: one line an event, one column an actor. The first
// column is the clients'.
func Format(lines []Line) string {
	columns := []spec.Actor{""}
	width := map[spec.Actor]int{"": len("outside")}
	for _, l := range lines {
		if !slices.Contains(columns, l.Actor) {
			columns = append(columns, l.Actor)
		}
		width[l.Actor] = max(width[l.Actor], utf8.RuneCountInString(l.Text), len(l.Actor))
	}
	slices.Sort(columns)
	var b strings.Builder
	row := func(number string, text func(spec.Actor) string) {
		cells := []string{fmt.Sprintf("%4s", number)}
		for _, c := range columns {
			cells = append(cells, text(c)+strings.Repeat(" ", width[c]-utf8.RuneCountInString(text(c))))
		}
		b.WriteString(strings.TrimRight(strings.Join(cells, "  "), " ") + "\n")
	}
	row("", func(a spec.Actor) string {
		if a == "" {
			return "outside"
		}
		return string(a)
	})
	for at, l := range lines {
		row(digits(at+1), func(a spec.Actor) string {
			if a == l.Actor {
				return l.Text
			}
			return ""
		})
	}
	return b.String()
}
