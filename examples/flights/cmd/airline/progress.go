package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/pawl-go/pawl/examples/internal/crash"
	"github.com/pawl-go/pawl/examples/internal/hosts"
)

// style is how text is set: in colour on a terminal that wants it.
type style struct{ terminal, colour bool }

func newStyle(f *os.File) style {
	info, err := f.Stat()
	terminal := err == nil && info.Mode()&os.ModeCharDevice != 0 && os.Getenv("TERM") != "dumb"
	return style{terminal: terminal, colour: terminal && os.Getenv("NO_COLOR") == ""}
}

func (s style) paint(code, text string) string {
	if !s.colour {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (s style) red(text string) string   { return s.paint("31", text) }
func (s style) green(text string) string { return s.paint("32", text) }
func (s style) bold(text string) string  { return s.paint("1", text) }
func (s style) faint(text string) string { return s.paint("2", text) }

// progress shows a run as it goes: a bar on a terminal, a line now and then
// elsewhere.
type progress struct {
	style
	w              io.Writer
	flights, kills int
	drawn          time.Time
	told           int // kills whose line is written
}

func newProgress(f *os.File, flights, kills int) *progress {
	return &progress{style: newStyle(f), w: f, flights: flights, kills: kills}
}

func (p *progress) begin(o options) {
	if o.durability == "replicated" {
		fmt.Fprintf(p.w, "Three hosts, each a process with its own data; one works, two stand by, and one of those takes over. To watch them:\n"+
			"pawl queue replication status -c %s --host one\n", hosts.File(o.dir))
	}
	fmt.Fprintf(p.w, "%d flights, %d a second, %s durability; kill -9 %d times; seed %d\n",
		o.flights, o.rate, o.durability, o.kills, o.seed)
}

// watch is told every event of the run.
func (p *progress) watch(m crash.Moment) {
	switch {
	case p.told < len(m.Kills) && m.Kills[p.told].Recovery > 0:
		p.kill(m)
	case m.Kind == crash.Fenced:
		p.fenced(m)
	case m.Kind == crash.Killed || m.Kind == "end":
		p.draw(m)
	default:
		if time.Since(p.drawn) >= p.every() {
			p.draw(m)
		}
	}
}

func (p *progress) every() time.Duration {
	if p.terminal {
		return 50 * time.Millisecond
	}
	return 2 * time.Second
}

// kill writes the line of a kill, once it is known how the program came back.
func (p *progress) kill(m crash.Moment) {
	k := m.Kills[p.told]
	p.told++
	if p.terminal {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
	what, then := "", "back"
	if k.Host != "" {
		what, then = fmt.Sprintf("  host %-5s", k.Host), fmt.Sprintf("%-5s goes on", k.NextHost)
	}
	fmt.Fprintf(p.w, "%6.2f s  %s %2d of %d%s  %4d in flight  %s after %s\n",
		k.At.Seconds(), p.red("kill -9"), p.told, p.kills, what, k.InFlight, then, p.bold(fmt.Sprintf("%.0f ms", milliseconds(k.Recovery))))
	p.drawn = time.Time{}
	if p.terminal {
		p.draw(m)
	}
}

// fenced writes that a host has ended because another one was the source.
func (p *progress) fenced(m crash.Moment) {
	if p.terminal {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
	fmt.Fprintf(p.w, "%6.2f s  %s   host %-5s  another host had become the source; it starts anew, and stands by\n",
		m.Elapsed.Seconds(), p.red("fenced"), m.Host)
}

func (p *progress) draw(m crash.Moment) {
	p.drawn = time.Now()
	if !p.terminal {
		if m.Kind != crash.Killed {
			fmt.Fprintf(p.w, "%6.2f s  %5d of %d flights answered, %d in flight\n",
				m.Elapsed.Seconds(), m.Answered, p.flights, m.InFlight)
		}
		return
	}
	const width = 40
	full := width * m.Answered / p.flights
	bar := p.green(strings.Repeat("█", full)) + p.faint(strings.Repeat("░", width-full))
	state := fmt.Sprintf("%d in flight", m.InFlight)
	if m.Kind == crash.Killed || m.Kind == crash.Started {
		state = p.red("down")
	}
	fmt.Fprintf(p.w, "\r\x1b[K%6.2f s  %s %5d of %d  kills %d  %s",
		m.Elapsed.Seconds(), bar, m.Answered, p.flights, len(m.Kills), state)
}

func (p *progress) end() {
	if p.terminal {
		fmt.Fprintln(p.w)
	}
}
