package local

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/engine/trace"
)

// TestATakeOverContinuesTheTrace: who takes over adds the last record, if its predecessor
// had no time to trace it; a file that lacks more, of another trace, is refused.
func TestATakeOverContinuesTheTrace(t *testing.T) {
	record := func(at uint64) trace.Event {
		return trace.Event{Kind: trace.Due, At: at, Attempt: trace.Attempt{ID: "1-1"}}
	}
	for name, c := range map[string]struct {
		traced  uint64   // the last record in the file
		marker  uint64   // of the checkpoint that the standby began with
		applied []uint64 // by the standby
		seen    uint64   // in the file that goes on
		refused string
	}{
		"all is there":                    {traced: 7, applied: []uint64{5, 6, 7}, seen: 7},
		"the file has what did not count": {traced: 9, applied: []uint64{5, 6, 7}, seen: 9},
		"the last is missing":             {traced: 6, applied: []uint64{5, 6, 7}, seen: 7},
		"two are missing":                 {traced: 5, applied: []uint64{5, 6, 7}, seen: 5, refused: "hosts with copies share one file"},
		"nothing was applied":             {traced: 7, marker: 7, seen: 7},
		"the checkpoint is ahead":         {traced: 4, marker: 6, applied: []uint64{7}, seen: 4, refused: "share one file"},
		"the first record of all":         {applied: []uint64{1}, seen: 1},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "trace")
			w, err := trace.Create(file)
			if err != nil {
				t.Fatal(err)
			}
			for at := uint64(1); at <= c.traced; at++ {
				w.Record(record(at))
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			s := &settings{traceFile: file}
			s.copies.on = true
			e := &Engine{set: s}
			if e.trace, err = openTrace(s); err != nil {
				t.Fatal(err)
			}
			last := c.marker
			for _, at := range c.applied {
				if at > e.trace.Seen() {
					e.trace.Record(record(at))
				}
				last = at
			}
			if err := e.continueTrace(engine.Position(c.marker)); err != nil {
				t.Fatal(err)
			}
			defer e.trace.close()
			if seen := e.trace.Seen(); seen != c.seen {
				t.Errorf("the file ends at %d, want %d", seen, c.seen)
			}
			err = e.trace.traceable(engine.Position(last))
			if c.refused == "" && err != nil || c.refused != "" && (err == nil || !strings.Contains(err.Error(), c.refused)) {
				t.Errorf("%v, want %q", err, c.refused)
			}
		})
	}
}
