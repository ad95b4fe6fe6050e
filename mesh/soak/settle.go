package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pawl-go/pawl/mesh"
)

// isDown reports whether a message did not leave because the link is down.
func isDown(err error) bool {
	return errors.Is(err, mesh.SendUnreachable) || errors.Is(err, mesh.SendNotAMember)
}

// patience is for the other side to end, and for what is under way to be counted.
const patience = 5 * time.Minute

// settle waits until the other side has sent all, and until all is counted. No
// connection is killed any more.
func (s *side) settle(ctx context.Context) (result, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	other := mesh.At(s.node, mesh.Address[report]{Node: "b", Name: "report"})
	var theirs report
	err := until(ctx, func() (bool, error) {
		var err error
		// A lane may still be dialled again: what is sent to it meanwhile has no answer.
		theirs, err = mesh.Call[report](ctx, other, report{}, mesh.Timeout(time.Second))
		if err != nil && !isDown(err) && !mesh.OutcomeUnknown(err) {
			return false, fmt.Errorf("ask the other side: %w", err)
		}
		return err == nil && theirs.Ended, nil
	})
	if err != nil {
		return result{}, err
	}
	var r result
	err = until(ctx, func() (bool, error) {
		info, err := s.node.Inspect(ctx, "b", "")
		if err != nil {
			return false, fmt.Errorf("ask the other node: %w", err)
		}
		r = result{}
		r.add(info.Counters)
		r.add(s.node.Counters())
		return r.sent == r.handled+r.refused+r.dropped, nil
	})
	if errors.Is(err, context.DeadlineExceeded) {
		err = nil // the verdict says what is missing
	}
	// Once more, now that all of it has been handled.
	if theirs, callErr := mesh.Call[report](context.WithoutCancel(ctx), other, report{}); callErr == nil {
		r.wrongs = append(s.report().Wrongs, theirs.Wrongs...)
	} else {
		err = errors.Join(err, callErr)
	}
	return r, err
}

func (r *result) add(k mesh.Counters) {
	r.sent += k.Sent
	r.handled += k.Handled
	for _, n := range k.Refused {
		r.refused += n
	}
	for _, n := range k.Dropped {
		r.dropped += n
	}
}

// until asks again and again until it is so.
func until(ctx context.Context, so func() (bool, error)) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if ok, err := so(); ok || err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
