// Package program runs random programs on the real runtime and the real local
// engine, with failures where a seed puts them, and checks what they leave.
//
//	p := program.Random(seed)
//	r := program.Run(t, p)         // r.Err says what went wrong, nil if nothing did
//	p = program.Shrink(t, p)       // the smallest program found that still fails
//
// A [Program] is a value: actors of some types, scripts for their methods,
// components that host the types, clients that call, and failures at numbered
// steps. It runs in virtual time, on a simulated disk; every goroutine stops
// before and after each step that can fail ([sim.Watch], [sim.Gates]), and the
// program's seed picks which goes on. So a run repeats exactly, and a failing
// seed can be made smaller.
//
// # What is checked
//
// Each step of a script writes who it is into its actor's log, with all it has
// told, called and been answered, as its last act. At the end, when the flow has
// drained (after one more crash, for half of the programs):
//
//   - no step of an invocation is in a log twice, and none twice over all actors;
//   - what a client was answered, in any life, is in the log of who answered,
//     and so is what each step that counts was answered by those it called;
//   - each tell and each reminder of a step that counts was run once, and so was
//     each tell that a client was told of;
//   - all writes of a step that counts are there, and none of any other;
//   - nothing is left pending, scheduled or parked.
//
// What an operator has cancelled, and whoever passes that on, may be missing.
//
// While it runs: two invocations do not run code on one actor at once, no
// attempt begins while something nested in its invocation runs, or after its
// outcome is in the log. A program that does not end within a number of
// steps and a span of virtual time is an error that says how far it got.
package program

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/queue"
)

// Program is what is run. It is a tree of scripts, so that it ends.
type Program struct {
	Seed       uint64 // of the schedule, the disk and the backoffs
	Durability queue.Durability
	// Ordered: actors call only those behind them, or their callers: there are no
	// deadlocks.
	Ordered    bool
	Types      []Type
	Components [][]int // what each hosts, by the index of the type
	Actors     []engine.Actor
	Scripts    []Script // children stand behind their parents
	Clients    [][]Request
	Failures   []Failure // by step
	LastCrash  bool      // the process dies once more when all has drained
}

// Type is an actor type.
type Type struct {
	Name   string
	Pass   bool // a retry goes to the end of the flow
	Strict bool // every begin and every return waits for the commit
}

// Script is the code of one method call.
type Script struct {
	Actor int // by index
	Acts  []Act
	End   End
	Next  int           // of a tail call: the script
	Again int           // attempts that ask for another one first
	After time.Duration // and after which time
}

// Verb is what an act does.
type Verb string

// The verbs of scripts.
const (
	Write       Verb = "write"        // an early write: kept only with the outcome, or through re-entry
	Sync        Verb = "sync"         // record what was written so far
	Call        Verb = "call"         // and wait
	Once        Verb = "once"         // call once, and wait
	Go          Verb = "go"           // call beside the method
	Wait        Verb = "wait"         // for all that were called beside
	Tell        Verb = "tell"         // held
	TellNow     Verb = "tell now"     // Immediately
	TellOutcome Verb = "tell outcome" // WithOutcome
	Remind      Verb = "remind"       // a reminder of the actor of the script, recorded with the outcome
)

// Act is one act of a script. Script is what is called, told or reminded of.
type Act struct {
	Verb   Verb
	Script int
	Pass   bool          // a failure of the callee is one of the caller
	After  time.Duration // of a reminder
}

// End is how a script ends.
type End string

// The ends of scripts.
const (
	Value   End = "value"
	Fail    End = "fail"    // an application error
	Panic   End = "panic"   //
	Tail    End = "tail"    // to Next; in place if it is the same actor
	Release End = "release" // to Next, giving the lock up although it is the same actor
)

// Request is what a client asks for, and how.
type Request struct {
	Verb   Verb // Call, Go (and wait), Tell
	Script int
	Key    string // idempotency key
}

// Trouble is a kind of failure.
type Trouble string

// The kinds of failures.
const (
	Death     Trouble = "death"     // the component whose turn it is dies at its point
	Suspicion Trouble = "suspicion" // it is declared failed, and goes on as a zombie
	Crash     Trouble = "crash"     // the process dies
	Full      Trouble = "full"      // the disk takes no record until there is room again
	Cancel    Trouble = "cancel"    // an operator cancels an invocation, any that has not ended
	Force     Trouble = "force"     // and by force
	Pause     Trouble = "pause"     // an operator pauses an actor, any, for some steps
)

// Failure happens when the schedule has made so many steps.
type Failure struct {
	Step int
	Trouble
	Notice int // steps until a death is noticed
	Back   int // steps until the component is there again, the disk has room, the actor goes on
}

// ofComponent reports whether a failure is one of the component whose turn it is.
func (f Failure) ofComponent() bool { return f.Trouble == Death || f.Trouble == Suspicion }

// fails reports whether a chain that begins with a script ends with a failure,
// if nothing but the script itself makes it.
func (p *Program) fails(script int) bool {
	s := &p.Scripts[script]
	if p.stepFails(script) {
		return true
	}
	return s.tails() && p.fails(s.Next)
}

// stepFails reports whether the script's own step ends with a failure.
func (p *Program) stepFails(script int) bool {
	s := &p.Scripts[script]
	if s.End == Fail || s.End == Panic {
		return true
	}
	return slices.ContainsFunc(s.Acts, func(a Act) bool { return a.Pass && p.fails(a.Script) })
}

func (s *Script) tails() bool { return s.End == Tail || s.End == Release }

// loose reports whether a step's own writes may be recorded ahead of its
// outcome: it is held at its end by a call that calls back to its actor.
func (p *Program) loose(script int) bool {
	s, out := &p.Scripts[script], false
	for _, a := range s.Acts {
		switch a.Verb {
		case Go:
			out = out || p.touches(a.Script, s.Actor)
		case Wait:
			out = false
		}
	}
	return out
}

// touches reports whether a script, or anything nested in it, runs on an actor.
func (p *Program) touches(script, actor int) bool {
	s := &p.Scripts[script]
	if s.Actor == actor {
		return true
	}
	for _, a := range s.Acts {
		if a.nests() && p.touches(a.Script, actor) {
			return true
		}
	}
	return s.tails() && p.touches(s.Next, actor)
}

func (a Act) nests() bool { return a.Verb == Call || a.Verb == Once || a.Verb == Go }

func (a Act) has() bool { return a.Verb != Write && a.Verb != Sync && a.Verb != Wait }

// String gives the program as text for people.
func (p *Program) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "durability %v, schedule %d\n", p.Durability, p.Seed)
	for i, hosts := range p.Components {
		fmt.Fprintf(&b, "component c%d hosts", i+1)
		for _, t := range hosts {
			fmt.Fprintf(&b, " %s", p.Types[t].text())
		}
		b.WriteString("\n")
	}
	for i, calls := range p.Clients {
		fmt.Fprintf(&b, "client %d\n", i+1)
		for _, c := range calls {
			key := ""
			if c.Key != "" {
				key = " with key " + c.Key
			}
			fmt.Fprintf(&b, "  %s%s ", c.Verb, key)
			p.write(&b, c.Script, "  ")
		}
	}
	for _, f := range p.Failures {
		fmt.Fprintf(&b, "at step %d: %s\n", f.Step, f)
	}
	if p.LastCrash {
		b.WriteString("at the end: crash\n")
	}
	return b.String()
}

func (t Type) text() string {
	switch {
	case t.Pass && t.Strict:
		return t.Name + " (strict, passes while retrying)"
	case t.Pass:
		return t.Name + " (passes while retrying)"
	case t.Strict:
		return t.Name + " (strict)"
	}
	return t.Name
}

func (p *Program) write(b *strings.Builder, script int, indent string) {
	s := &p.Scripts[script]
	fmt.Fprintf(b, "%v [%d]\n", p.Actors[s.Actor], script)
	if s.Again > 0 {
		fmt.Fprintf(b, "%s  %d times again after %v, at the end\n", indent, s.Again, s.After)
	}
	for _, a := range s.Acts {
		pass := ""
		if a.Pass {
			pass = " or fail"
		}
		if a.Verb == Remind {
			pass = fmt.Sprintf(" in %v of", a.After)
		}
		fmt.Fprintf(b, "%s  %s%s", indent, a.Verb, pass)
		if a.has() {
			b.WriteString(" ")
			p.write(b, a.Script, indent+"  ")
		} else {
			b.WriteString("\n")
		}
	}
	fmt.Fprintf(b, "%s  %s", indent, s.End)
	if s.tails() {
		b.WriteString(" ")
		p.write(b, s.Next, indent+"  ")
	} else {
		b.WriteString("\n")
	}
}

// String says what a failure is.
func (f Failure) String() string {
	switch f.Trouble {
	case Death:
		return fmt.Sprintf("death of the component whose turn it is, noticed %d steps later, back %d after that", f.Notice, f.Back)
	case Suspicion:
		return fmt.Sprintf("the component whose turn it is is declared failed and goes on as a zombie; another one in its place %d steps later", f.Back)
	case Crash:
		return "the process dies"
	}
	return string(f.Trouble)
}
