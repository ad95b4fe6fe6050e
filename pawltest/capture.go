package pawltest

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
)

// capture is the part of a World that stands for a *testing.T: what the scenario
// says is kept with its run.
type capture struct {
	mu       sync.Mutex
	lines    []string
	failed   bool
	skipped  bool
	helpers  map[string]bool // functions that called Helper
	cleanups []func()
}

// keep keeps a line with the run; failed says that it fails the run.
func (c *capture) keep(line string, failed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lines = append(c.lines, strings.TrimSuffix(line, "\n"))
	c.failed = c.failed || failed
}

// Error is Log and Fail.
func (w *World) Error(args ...any) { w.say(fmt.Sprintln(args...)); w.Fail() }

// Errorf is Logf and Fail.
func (w *World) Errorf(format string, args ...any) { w.say(fmt.Sprintf(format, args...)); w.Fail() }

// Fatal is Log and FailNow.
func (w *World) Fatal(args ...any) { w.say(fmt.Sprintln(args...)); w.FailNow() }

// Fatalf is Logf and FailNow.
func (w *World) Fatalf(format string, args ...any) {
	w.say(fmt.Sprintf(format, args...))
	w.FailNow()
}

// Log keeps a line with the run: it is shown if the run fails.
func (w *World) Log(args ...any) { w.say(fmt.Sprintln(args...)) }

// Logf is Log with a format.
func (w *World) Logf(format string, args ...any) { w.say(fmt.Sprintf(format, args...)) }

// Fail says that this run has failed, and goes on.
func (w *World) Fail() {
	w.said.mu.Lock()
	defer w.said.mu.Unlock()
	w.said.failed = true
}

// FailNow says that this run has failed, and ends the scenario. It is for the
// scenario's own goroutine.
func (w *World) FailNow() {
	w.Fail()
	runtime.Goexit()
}

// Failed reports whether this run has failed.
func (w *World) Failed() bool {
	w.said.mu.Lock()
	defer w.said.mu.Unlock()
	return w.said.failed
}

// Skip is Log and SkipNow.
func (w *World) Skip(args ...any) { w.say(fmt.Sprintln(args...)); w.SkipNow() }

// Skipf is Logf and SkipNow.
func (w *World) Skipf(format string, args ...any) { w.say(fmt.Sprintf(format, args...)); w.SkipNow() }

// SkipNow ends the scenario, and skips the test.
func (w *World) SkipNow() {
	w.said.mu.Lock()
	w.said.skipped = true
	w.said.mu.Unlock()
	runtime.Goexit()
}

// Skipped reports whether the scenario was skipped.
func (w *World) Skipped() bool {
	w.said.mu.Lock()
	defer w.said.mu.Unlock()
	return w.said.skipped
}

// Helper marks the calling function as one whose callers are named instead.
func (w *World) Helper() {
	pc, _, _, ok := runtime.Caller(1)
	if !ok {
		return
	}
	w.said.mu.Lock()
	defer w.said.mu.Unlock()
	if w.said.helpers == nil {
		w.said.helpers = map[string]bool{}
	}
	w.said.helpers[runtime.FuncForPC(pc).Name()] = true
}

// Cleanup runs f when the scenario has ended, in each run.
func (w *World) Cleanup(f func()) {
	w.said.mu.Lock()
	defer w.said.mu.Unlock()
	w.said.cleanups = append(w.said.cleanups, f)
}

// Output keeps what is written with the run.
func (w *World) Output() io.Writer { return output{w} }

type output struct{ w *World }

func (o output) Write(b []byte) (int, error) {
	o.w.said.keep(string(b), false)
	return len(b), nil
}

// Context gives the context by which the scenario calls actors, as one client of
// theirs. It ends when the run does.
func (w *World) Context() context.Context { return w.client.context() }

// say keeps a line with its place in the test.
func (w *World) say(line string) {
	line = strings.TrimSuffix(line, "\n")
	w.said.mu.Lock()
	defer w.said.mu.Unlock()
	if where := w.said.caller(); where != "" {
		line = where + ": " + line
	}
	w.said.lines = append(w.said.lines, line)
}

// ownPrefix is how the names of this package's own functions begin.
var ownPrefix = func() string {
	pc, _, _, _ := runtime.Caller(0)
	name := runtime.FuncForPC(pc).Name() // "path/of/pawltest.init"
	slash := strings.LastIndexByte(name, '/')
	return name[:slash+1+strings.IndexByte(name[slash+1:], '.')+1]
}()

// caller gives the file and line of the innermost caller that is neither of this
// package nor a helper. mu is held.
func (c *capture) caller() string {
	var pcs [32]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	for {
		f, more := frames.Next()
		own := strings.HasPrefix(f.Function, ownPrefix) && !strings.HasSuffix(f.File, "_test.go")
		if !own && !c.helpers[f.Function] && f.Line > 0 {
			return fmt.Sprintf("%s:%d", filepath.Base(f.File), f.Line)
		}
		if !more {
			return ""
		}
	}
}

// cleanup runs what Cleanup was given, the last first.
func (w *World) cleanup() {
	for {
		w.said.mu.Lock()
		n := len(w.said.cleanups)
		if n == 0 {
			w.said.mu.Unlock()
			return
		}
		f := w.said.cleanups[n-1]
		w.said.cleanups = w.said.cleanups[:n-1]
		w.said.mu.Unlock()
		f()
	}
}
