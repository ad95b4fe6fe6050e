// Package enginetest is the conformance suite of engines: an engine is one
// that passes [Run]. The suite drives an engine through the real runtime, with
// actors that are scripts, and makes components fail and processes die at
// chosen moments.
//
// Each test names the rule or the timeline of the semantics it holds the
// engine to. Timelines are those of a nested call with failures:
//
//	(1) no failure                  (2) the caller fails before the call
//	(3) the callee fails            (4) the caller fails, the callee runs on
//	(5) the callee is preempted: only the loss of an unflushed tail does that
//	(6) both fail, the caller is retried and calls again
//	(7) both fail, the callee is retried first
//	(8) the caller fails after placing the call, before it begins
//
// Tests wait for events, never for time: a script says what it does
// ([World.Say]), and stops at gates that the test opens. What each test does is
// traced and held to the semantics, whatever it expects itself ([World.Allowed]).
package enginetest

import (
	"testing"

	"github.com/pawl-go/pawl/engine"
)

// Harness opens an engine and makes it fail. One Harness serves one test.
type Harness interface {
	// Open opens an engine on fresh data, with options of the test's choice.
	Open(t *testing.T, o engine.Options) engine.Engine
	// Fail declares a component failed, as if its process had died or hung,
	// while the engine lives on.
	Fail(t *testing.T, s engine.Session)
	// Crash ends all processes at once, without any warning, and opens the
	// engine again on what was recorded. The trace in Open's options is a
	// *trace.Life: Crash ends it, with Kill, at the moment of the crash, and
	// opens the engine with the next one.
	Crash(t *testing.T) engine.Engine
}

// Run runs the whole suite. New makes the harness of one test.
func Run(t *testing.T, newHarness func(t *testing.T) Harness) {
	suites := []struct {
		name  string
		tests []test
	}{
		{"Timelines", timelines},
		{"Locks", locks},
		{"Once", once},
		{"Effects", effects},
		{"Identity", identity},
		{"Retries", retries},
		{"Operator", operators},
		{"Reminders", reminders},
		{"Events", events},
	}
	for _, s := range suites {
		t.Run(s.name, func(t *testing.T) {
			for _, tc := range s.tests {
				t.Run(tc.name, func(t *testing.T) {
					var w *World
					t.Cleanup(func() { w.Allowed() }) // once all has ended
					w = NewWorld(t, newHarness(t))
					tc.run(w)
				})
			}
		})
	}
}

type test struct {
	name string
	run  func(w *World)
}
