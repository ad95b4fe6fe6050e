package spec

import (
	"maps"
	"slices"
)

// ID names an invocation. Ids are compared and nothing else: whoever sends
// chooses them, fresh for each request.
type ID string

// Actor names an actor.
type Actor string

// Value is an argument, a result or a piece of state.
type Value string

// Attempt names one run of one step of an invocation. Steps and attempts count
// from 1; the zero Attempt stands for a client outside.
type Attempt struct {
	ID   ID
	Step int
	N    int
}

// Kind says who waits for the end of an invocation.
type Kind uint8

// The kinds of requests. A chain of tail calls keeps the kind it began with.
const (
	Tell   Kind = iota // nobody waits
	Nested             // the invocation Message.Return waits
	Call               // the client Message.Return waits, outside of all methods
)

// Message is an element of the flow: a request (i, r, a.m(v)), or a response
// (i, r, v). The fields below Response belong to requests only.
type Message struct {
	ID     ID
	Kind   Kind
	Return ID      // the return address r; empty for a tell
	Sender Attempt // the attempt that made the call; zero for a client
	Once   bool    // the call was made once, by a name: its outcome is kept for a retry

	Response bool
	Value    Value // of a response: the outcome

	Actor    Actor
	Method   string
	Arg      Value
	Step     int
	Attempts int  // the highest attempt of this step that has begun
	InPlace  bool // entered by tail-self: this step holds its actor before it begins

	Decided bool  // an operator has given the outcome: it takes the place of the code's
	Verdict Value // that outcome
	Void    bool  // ended by force: it is here to lock its actor until its code has returned

	awaited ID // of the mutant WaitForOneCallee: the one callee that a retry waits for
}

// begun reports whether an attempt of the message's step has begun, or the
// step has its actor from the step before.
func (m *Message) begun() bool { return m.Attempts > 0 || m.InPlace }

// neverBegun reports whether no code of the invocation has ever run.
func (m *Message) neverBegun() bool { return m.Step == 1 && m.Attempts == 0 }

// Cell names a piece of an actor's durable state. Programs use one cell, named "".
type Cell struct {
	Actor Actor
	Name  string
}

// Write puts a value into a cell; the empty value takes it out.
type Write struct {
	Cell  Cell
	Value Value
}

// Point is where the code of an attempt stands: what the paper calls a sequel.
// It belongs to the program; no rule looks at it.
type Point struct {
	PC   int
	V    Value // the argument
	X, Y Value // local variables
	Sent int   // requests sent so far: it names the next
}

// Process is an attempt that runs: an element of the ensemble. Its slices are
// never changed, only replaced, so that copies of a state may share them.
type Process struct {
	Attempt
	Actor  Actor
	Method string
	Point  Point

	Calls  []ID // nested calls made of which no response has been read, in order
	Waits  []ID // those of Calls that it waits for now; it runs no code until all have returned
	Zombie bool // its component has failed, or it was ended by force: nothing it does counts

	Writes []Write   // made, not yet recorded
	Held   []Message // tells that leave with the next request, at Sync or with the outcome
	Last   []Message // tells that leave with the outcome
}

// Waiting reports whether the process has given its turn up.
func (p *Process) Waiting() bool { return len(p.Waits) > 0 }

// State is a runtime state F, E, S. The zero State is empty and ready to use;
// Clone copies one. Rules change it in place, or refuse and leave it as it is.
// Not safe for concurrent use.
type State struct {
	F []Message      // the flow, oldest first
	E []Process      // the ensemble, zombies among it
	S map[Cell]Value // the recorded state

	Kept    []Message // responses of calls made once, while their caller is at the step that made them
	Parked  []Message // requests given up; nobody waits for them any more
	Mutants Mutants   // rules to break on purpose; none in a right machine

	record Record // what the last rule changed
	shared bool   // S is shared with a clone
	index  index
}

// Record is what one rule has changed in F and S, in one step. Its slices are
// the state's, and good until the next rule.
type Record struct {
	Writes  []Write
	Sent    []Message // appended to F or put in a place of it, in this order
	Removed []Message // taken out of F
}

// Empty reports whether nothing was recorded.
func (r *Record) Empty() bool { return len(r.Writes)+len(r.Sent)+len(r.Removed) == 0 }

// Record gives what the last rule that was not refused has recorded.
func (s *State) Record() *Record { return &s.record }

// Clone copies the state. The copies share what neither will change.
func (s *State) Clone() *State {
	s.shared = true
	c := &State{
		F: slices.Clone(s.F), E: slices.Clone(s.E), S: s.S,
		Kept: slices.Clone(s.Kept), Parked: slices.Clone(s.Parked),
		Mutants: s.Mutants, shared: true,
	}
	return c
}

// Read gives what an attempt sees in a cell of its own actor: the recorded
// value under its own writes.
func (s *State) Read(a Attempt, name string) Value {
	p := s.Process(a)
	if p == nil {
		return ""
	}
	cell := Cell{p.Actor, name}
	for _, w := range slices.Backward(p.Writes) {
		if w.Cell == cell {
			return w.Value
		}
	}
	return s.S[cell]
}

// write records writes.
func (s *State) write(ws []Write) {
	if len(ws) == 0 {
		return
	}
	if s.S == nil || s.shared {
		s.S, s.shared = maps.Clone(s.S), false
		if s.S == nil {
			s.S = map[Cell]Value{}
		}
	}
	for _, w := range ws {
		if w.Value == "" {
			delete(s.S, w.Cell)
		} else {
			s.S[w.Cell] = w.Value
		}
	}
	s.record.Writes = append(s.record.Writes, ws...)
}

// flushWrites records what a process has written so far.
func (s *State) flushWrites(p *Process) {
	s.write(p.Writes)
	p.Writes = nil
}

// flushTells puts the tells that a process holds into the flow.
func (s *State) flushTells(p *Process) {
	for _, m := range p.Held {
		s.append(m)
	}
	p.Held = nil
}

// leave takes a process out of the ensemble.
func (s *State) leave(a Attempt) {
	s.E = slices.DeleteFunc(s.E, func(p Process) bool { return p.Attempt == a })
}
