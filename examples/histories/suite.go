package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/pawl-go/pawl/examples/histories/history"
)

// tunings are the engine's parameters of a round: as they come, and with so
// small a journal between checkpoints that kills hit those too.
var tunings = []string{"", "checkpoint=64KiB&cycle=256KiB"}

// perKill is how many operations there are from one kill to the next, about.
const perKill = 60

func size(tuning string) string {
	if tuning != "" {
		return "small"
	}
	return "large"
}

// suite is a number of rounds.
type suite struct {
	kills, round, clients int
	seed                  uint64
	workload              string
	durability, tuning    string        // only that; "" for all
	limit                 time.Duration // of the check of a key
	tell                  func(line string)
}

// run does rounds until there were enough kills, or one has failed.
func (s *suite) run(ctx context.Context) (*result, error) {
	todo, err := s.rounds()
	if err != nil {
		return nil, err
	}
	began, sum := time.Now(), &result{}
	for n := 0; n == 0 || sum.kills < s.kills; n++ {
		if ctx.Err() != nil {
			return sum, context.Cause(ctx)
		}
		r := todo[n%len(todo)]
		r.seed = s.seed + uint64(n)
		r.kills = min(s.round, s.kills-sum.kills)
		r.operations = perKill * max(r.kills, 10)
		res, err := r.do(ctx)
		sum.add(res)
		outcome := "linearizable"
		if err != nil {
			outcome = "FAILED"
		}
		s.tell(fmt.Sprintf("%4d of %d kills  %5.0f s  %-7s %s  %d operations (%d open), %d interrupted  seed %d  %s",
			sum.kills, s.kills, time.Since(began).Seconds(), r.durability, size(r.tuning),
			sum.operations, sum.open, sum.interrupted, r.seed, outcome))
		if err != nil {
			return sum, err
		}
	}
	s.tell(fmt.Sprintf("%d kills (%d while opening), %d operations (%d left open), %d interrupted, %d asked for twice; %d keys, checked in %v\n"+
		"verdict: every history is linearizable",
		sum.kills, sum.early, sum.operations, sum.open, sum.interrupted, sum.repeated, sum.linearizable,
		sum.checking.Round(time.Millisecond)))
	return sum, nil
}

// rounds returns the kinds of rounds there are, in turn.
func (s *suite) rounds() ([]round, error) {
	if workloads[s.workload] == nil {
		return nil, fmt.Errorf("no workload %q: there are %s", s.workload,
			strings.Join(slices.Sorted(maps.Keys(workloads)), ", "))
	}
	if s.kills < 0 || s.round < 1 || s.clients < 1 || s.limit <= 0 {
		return nil, errors.New("kills must not be negative; round, clients and check-limit must be positive")
	}
	var all []round
	for _, tuning := range tunings {
		for _, durability := range []string{"process", "disk"} {
			if (s.durability == "" || s.durability == durability) && (s.tuning == "" || s.tuning == size(tuning)) {
				all = append(all, round{
					workload: s.workload, durability: durability, tuning: tuning, clients: s.clients, limit: s.limit,
				})
			}
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("no round in durability %q with %q journals", s.durability, s.tuning)
	}
	return all, nil
}

func (r *result) add(more *result) {
	if more == nil {
		return
	}
	r.operations += more.operations
	r.open += more.open
	r.interrupted += more.interrupted
	r.repeated += more.repeated
	r.kills += more.kills
	r.early += more.early
	r.linearizable += more.linearizable
	r.checking += more.checking
}

// checkFile checks a recorded history, and explains it beside the file.
func (s *suite) checkFile(ctx context.Context, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	h, err := history.Parse(f)
	_ = f.Close() // it was only read
	if err != nil {
		return fmt.Errorf("%s: %w; %d operations before that", path, err, len(h.Operations))
	}
	t, err := judge(ctx, h, s.limit, filepath.Dir(path))
	s.tell(fmt.Sprintf("%d operations; keys: %d linearizable, %d refuted, %d unknown",
		len(h.Operations), t.linearizable, t.refuted, t.unknown))
	return err
}
