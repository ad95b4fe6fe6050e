package replica

import (
	"context"
	"fmt"

	"github.com/pawl-go/pawl/queue"
	"github.com/pawl-go/pawl/queue/replica/core"
)

// Stats is how a replicated queue stands at this host: the gauges of it, and what
// operators look at. Indexes are cumulative: all entries up to them.
type Stats struct {
	Queue    string      `json:"queue"`
	Host     HostID      `json:"host"`
	Role     string      `json:"role"`               // source, candidate or sink
	Source   HostID      `json:"source"`             // as far as this host knows; 0: none
	Epoch    string      `json:"epoch"`              // promised, as number.host
	Locked   string      `json:"locked,omitempty"`   // why the application may not append here
	WaitsFor []int       `json:"waitsFor,omitempty"` // ids of hosts
	Last     queue.Index `json:"last"`
	LastIn   string      `json:"lastEpoch"` // the epoch of the last entry
	Counted  queue.Index `json:"counted"`   // no take-over but one by force can lose it
	Flushed  queue.Index `json:"flushed"`   // on the disk of this host
	Gap      uint64      `json:"gap"`       // messages that a crash of the source could lose
	Trust    string      `json:"trust"`     // whole: this host may promise
	Single   HostID      `json:"single"`    // only this host, or force, may take over; 0: any
	Need     int         `json:"need"`      // hosts that must hold an entry before it counts
	Promises int         `json:"promises"`  // hosts that must promise a take-over
	Sinks    []SinkStats `json:"sinks,omitempty"`
	Failed   string      `json:"failed,omitempty"` // why the replica has ended
}

// SinkStats is what the source knows of a sink.
type SinkStats struct {
	Host     HostID      `json:"host"`
	State    string      `json:"state"` // down, idle, matching, copying or live
	Trust    string      `json:"trust"`
	Sent     queue.Index `json:"sent"`
	Received queue.Index `json:"received"`
	Appended queue.Index `json:"appended"`
	Flushed  queue.Index `json:"flushed"`
	Gap      uint64      `json:"gap"` // messages that it does not hold
}

// Stats tells how the queue stands.
func (q *Queue) Stats() Stats {
	q.mu.Lock()
	defer q.mu.Unlock()
	s := q.mu.core.Status()
	st := Stats{
		Queue: q.cfg.Name, Host: s.Self, Role: s.Role.String(), Source: s.Source, Epoch: s.Epoch.String(),
		Locked: s.Why, Last: s.Last.Index, LastIn: s.Last.Epoch.String(), Counted: s.Counted,
		Flushed: s.Flushed, Gap: s.Gap, Trust: s.Trust.String(), Single: s.Single, Need: s.Need, Promises: s.Promises,
	}
	if q.mu.fail != nil {
		st.Failed = q.mu.fail.Error()
	}
	for _, id := range s.WaitsFor {
		st.WaitsFor = append(st.WaitsFor, int(id))
	}
	for _, row := range s.Table.Sinks {
		st.Sinks = append(st.Sinks, sinkStats(row))
	}
	return st
}

func sinkStats(row core.SinkRow) SinkStats {
	return SinkStats{
		Host: row.Host, State: row.State.String(), Trust: row.Trust.String(), Sent: row.Sent,
		Received: row.Received, Appended: row.Appended, Flushed: row.Flushed, Gap: row.Gap,
	}
}

// Stats tells how all queues stand, by name.
func (h *Host) Stats() []Stats {
	stats := make([]Stats, 0, len(h.queues))
	for _, q := range h.Queues() {
		stats = append(stats, q.Stats())
	}
	return stats
}

// WaitStats returns once ok says so of how the queue stands, which it asks whenever
// something has happened; or when ctx ends or the replica has ended, with the error
// of that.
func (q *Queue) WaitStats(ctx context.Context, ok func(Stats) bool) error {
	for {
		q.mu.Lock()
		more, fail := q.change(), q.mu.fail
		q.mu.Unlock()
		if ok(q.Stats()) {
			return nil
		}
		if fail != nil {
			return fmt.Errorf("wait for queue %s: %w", q.cfg.Name, fail)
		}
		select {
		case <-more:
		case <-ctx.Done():
			return fmt.Errorf("wait for queue %s: %w", q.cfg.Name, context.Cause(ctx))
		}
	}
}
