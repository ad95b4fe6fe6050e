package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/pawl-go/pawl/bench/rounds"
)

func TestSmoke(t *testing.T) {
	o := options{dir: t.TempDir(), rounds: 1, duration: 20 * time.Millisecond, json: true}
	var out bytes.Buffer
	if err := run(t.Context(), &o, &out); err != nil {
		t.Fatal(err)
	}
	var r rounds.Report
	if err := json.Unmarshal(out.Bytes(), &r); err != nil || len(r.Figures) != 2*3+3*4+2 {
		t.Errorf("%v: %s", err, out.String())
	}
}

func TestGroupSavesEachOnce(t *testing.T) {
	saved, bad := 0, errors.New("bad")
	g := newGroup(func(ms [][]byte) error {
		saved += len(ms) // one call at a time: the race detector would see it
		if len(ms[0]) == 1 {
			return bad
		}
		return nil
	})
	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() {
			for range 100 {
				if err := g.durable(nil); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if saved != 6400 {
		t.Errorf("%d saved", saved)
	}
	if err := g.durable([]byte{1}); !errors.Is(err, bad) {
		t.Error(err)
	}
}
