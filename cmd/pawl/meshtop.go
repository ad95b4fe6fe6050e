package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/pawl-go/pawl/mesh"
)

func (m *meshCLI) topCommand() *cobra.Command {
	t := top{meshCLI: m}
	cmd := &cobra.Command{
		Use: "top [NODE]", Short: "Show the busiest actors of a node, again and again", Args: args(0, 1),
	}
	f := cmd.Flags()
	f.IntVar(&t.count, "count", 0, "how often; 0: until interrupted")
	f.DurationVar(&t.every, "every", time.Second, "how often it is asked")
	f.IntVar(&t.lines, "lines", 20, "of how many actors")
	f.StringVar(&t.prefix, "actors", "", "only actors whose name begins so")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if t.count < 0 || t.every <= 0 || t.lines < 1 {
			return usagef("--count, --every and --lines are positive")
		}
		return m.with(cmd.Context(), func(n *mesh.Node) error { return t.run(cmd.Context(), n, first(args)) })
	}
	return cmd
}

// top asks a node again and again.
type top struct {
	*meshCLI
	count  int
	every  time.Duration
	lines  int
	prefix string
}

// sight is what a node was seen to do at a moment, and since the one before.
type sight struct {
	At      time.Time   `json:"at"`
	Node    string      `json:"node"`
	Sent    float64     `json:"sent_per_s"`
	Handled float64     `json:"handled_per_s"`
	Dropped float64     `json:"dropped_per_s"` // and refused
	Pending int         `json:"pending"`
	Actors  []busyActor `json:"actors"` // the busiest first
	info    mesh.NodeInfo
	before  map[string]uint64
	since   time.Duration
}

type busyActor struct {
	mesh.ActorInfo
	PerSecond float64 `json:"per_s"`
}

func (t *top) run(ctx context.Context, n *mesh.Node, node string) error {
	tick := time.NewTicker(t.every)
	defer tick.Stop()
	var last *sight
	for shown := 0; t.count == 0 || shown < t.count; {
		info, err := t.inspect(ctx, n, node, t.prefix)
		if ctx.Err() != nil { // the way to end it
			return nil
		}
		if err != nil {
			return err
		}
		now := look(info, last)
		if last != nil { // the first has nothing to compare with
			shown++
			if err := t.print(now); err != nil {
				return err
			}
		}
		if last = now; t.count > 0 && shown == t.count {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
	return nil
}

// look compares what a node says with what it said before.
func look(info mesh.NodeInfo, last *sight) *sight {
	s := &sight{At: time.Now(), Node: info.ID, Pending: info.Counters.Pending, info: info, before: map[string]uint64{}}
	if last != nil {
		s.since = s.At.Sub(last.At)
		for _, a := range last.info.Actors {
			s.before[a.Name] = a.Taken
		}
		if last.info.Incarnation == info.Incarnation {
			was, is := last.info.Counters, info.Counters
			s.Sent = rate(was.Sent, is.Sent, s.since)
			s.Handled = rate(was.Handled, is.Handled, s.since)
			s.Dropped = rate(total(was), total(is), s.since)
		}
	}
	for _, a := range info.Actors {
		s.Actors = append(s.Actors, busyActor{a, perSecond(s.before, a, s.since)})
	}
	slices.SortStableFunc(s.Actors, func(a, b busyActor) int {
		return cmp.Or(cmp.Compare(b.Waiting, a.Waiting), cmp.Compare(b.PerSecond, a.PerSecond))
	})
	return s
}

func rate(before, now uint64, since time.Duration) float64 {
	if now < before || since <= 0 {
		return 0
	}
	return float64(now-before) / since.Seconds()
}

// total is what a node has refused and dropped.
func total(k mesh.Counters) (n uint64) {
	for _, by := range []map[mesh.Reason]uint64{k.Refused, k.Dropped} {
		for _, count := range by {
			n += count
		}
	}
	return n
}

func (t *top) print(s *sight) error {
	s.Actors = s.Actors[:min(len(s.Actors), t.lines)]
	switch t.format {
	case "json", "jsonl":
		return t.json(s, "")
	}
	info := s.info
	info.Actors = nil
	for _, a := range s.Actors {
		info.Actors = append(info.Actors, a.ActorInfo)
	}
	l := actorList(info, s.before, s.since)
	l.note = fmt.Sprintf("%s: %d actors; a second: %.0f sent, %.0f handled, %.0f refused or dropped; %d calls pending",
		s.Node, info.Matching, s.Sent, s.Handled, s.Dropped, s.Pending)
	if t.format != "" {
		return t.show(l)
	}
	t.again(l)
	return nil
}
