package replica

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/pawl-go/pawl/queue"
	"github.com/pawl-go/pawl/queue/replica/core"
)

// Overview is how a whole replica set stands with a queue: what each host says of
// itself, and the source of its sinks. It is no snapshot: each host has answered at
// a moment of its own.
type Overview struct {
	Queue    string         `json:"queue"`
	Asked    HostID         `json:"asked"`           // the host that has asked the others
	Source   HostID         `json:"source"`          // in the newest epoch, by itself or who follows it; 0: nobody says so
	Epoch    string         `json:"epoch,omitempty"` // of that source
	Need     int            `json:"need"`            // hosts that must hold an entry before it counts
	Promises int            `json:"promises"`        // hosts that must promise a take-over
	Hosts    []HostOverview `json:"hosts"`           // by id
	Warnings []string       `json:"warnings,omitempty"`
}

// HostOverview is how a host stands. What nobody who could be asked knows is nil or
// empty.
type HostOverview struct {
	Host    HostID `json:"host"`
	Name    string `json:"name"`
	Reached bool   `json:"reached"`       // it has answered; of others only the source tells
	Why     string `json:"why,omitempty"` // it has not
	// HeardMS is how many milliseconds ago the host that asks has heard of it; -1:
	// never.
	HeardMS int64    `json:"heardMs"`
	HeardBy []HostID `json:"heardBy,omitempty"` // which others are connected to one that was not reached

	Role     string `json:"role,omitempty"`
	Epoch    string `json:"epoch,omitempty"`   // promised
	Follows  HostID `json:"follows,omitempty"` // the source that it copies from; 0: none
	Locked   string `json:"locked,omitempty"`  // why a host that is to be the source may not append
	WaitsFor []int  `json:"waitsFor,omitempty"`
	Failed   string `json:"failed,omitempty"` // why its replica has ended
	Trust    string `json:"trust,omitempty"`

	State    string       `json:"state,omitempty"`    // of a sink, as the source says: see SinkStats
	Sent     *queue.Index `json:"sent,omitempty"`     // by the source
	Received *queue.Index `json:"received,omitempty"` // as acknowledged
	Appended *queue.Index `json:"appended,omitempty"` // the last entry that it holds
	Flushed  *queue.Index `json:"flushed,omitempty"`  // the last on its disk
	Applied  *queue.Index `json:"applied,omitempty"`  // the last that it knows to count: what tailers there, and a standby, have
	Gap      *uint64      `json:"gap,omitempty"`      // messages that a sink does not hold; at the source, that its crash could lose
}

// Overview asks all hosts of the queue how they stand. It waits for them until ctx
// ends: those that have not answered by then, or are not connected to this host, are
// listed with the reason.
func (q *Queue) Overview(ctx context.Context) Overview {
	own := q.Report()
	answers := make([]answer, len(own.Peers))
	var asking sync.WaitGroup
	for k, p := range own.Peers {
		c := q.host.connNow(p.Host)
		if c == nil {
			answers[k].err = errConnEnded // since the report was made
			if !p.Connected {
				answers[k].err = errors.New(p.Why)
			}
			continue
		}
		asking.Go(func() { answers[k].report, answers[k].err = c.ask(ctx, q) })
	}
	asking.Wait()
	// Who was heard of, and why not, as of now.
	return overview(q.host.peer(own.Host).Name, q.Report(), answers)
}

// Overviews tells how all queues stand, by name, as Queue.Overview does.
func (h *Host) Overviews(ctx context.Context) []Overview {
	queues := h.Queues()
	list := make([]Overview, len(queues))
	var asking sync.WaitGroup
	for k, q := range queues {
		asking.Go(func() { list[k] = q.Overview(ctx) })
	}
	asking.Wait()
	return list
}

// overview puts together what a host knows and what the others have answered, in
// the order of its peers.
func overview(name string, own Report, answers []answer) Overview {
	o := Overview{Queue: own.Queue, Asked: own.Host, Need: own.Need, Promises: own.Promises}
	told := []Report{own}
	o.Hosts = []HostOverview{{Host: own.Host, Name: name, Reached: true}}
	for k, p := range own.Peers {
		row := HostOverview{Host: p.Host, Name: p.Name, HeardMS: p.HeardMS}
		if err := answers[k].err; err != nil {
			row.Why = err.Error()
		} else {
			row.Reached = true
			told = append(told, answers[k].report)
		}
		o.Hosts = append(o.Hosts, row)
	}
	slices.SortFunc(o.Hosts, func(a, b HostOverview) int { return int(a.Host) - int(b.Host) })
	source := newestSource(told)
	for _, r := range told {
		row := o.row(r.Host)
		row.itself(&r)
		for _, p := range r.Peers {
			if other := o.row(p.Host); other != nil && p.Connected && !other.Reached {
				other.HeardBy = append(other.HeardBy, r.Host)
			}
		}
	}
	if source != nil {
		o.Source, o.Epoch = source.Source, source.Epoch
		for _, s := range source.Sinks {
			if row := o.row(s.Host); row != nil {
				row.asSink(s)
			}
		}
	}
	o.warn(told)
	return o
}

func (o *Overview) row(id HostID) *HostOverview {
	k := slices.IndexFunc(o.Hosts, func(h HostOverview) bool { return h.Host == id })
	if k < 0 {
		return nil
	}
	return &o.Hosts[k]
}

// itself fills in what the host says of itself.
func (h *HostOverview) itself(r *Report) {
	h.Role, h.Epoch, h.Failed, h.Trust = r.Role, r.Epoch, r.Failed, r.Trust
	if r.Source != r.Host {
		h.Follows = r.Source
	}
	if r.Role != core.Sink.String() || len(r.WaitsFor) > 0 {
		h.Locked, h.WaitsFor = r.Locked, r.WaitsFor
	}
	h.Appended, h.Flushed, h.Applied = new(r.Last), new(r.Flushed), new(r.Counted)
	if r.Role == core.Source.String() {
		h.Gap = new(r.Gap)
	}
}

// asSink fills in what the source knows of the host. Of one to which it does not send
// it knows nothing.
func (h *HostOverview) asSink(s SinkStats) {
	h.State = s.State
	if s.State == core.SinkDown.String() || s.State == core.SinkIdle.String() {
		return
	}
	h.Sent, h.Received, h.Gap = new(s.Sent), new(s.Received), new(s.Gap)
	if !h.Reached {
		h.Appended, h.Flushed, h.Trust = new(s.Appended), new(s.Flushed), s.Trust
	}
}

// newestSource is the report of the source in the newest epoch, or of one who follows
// it if it has not answered; nil if there is neither.
func newestSource(told []Report) *Report {
	var best *Report
	var epoch core.Epoch
	for k := range told {
		r := &told[k]
		e, err := core.ParseEpoch(r.Epoch)
		if r.Source == 0 || err != nil {
			continue
		}
		c := epoch.Compare(e)
		if best == nil || c < 0 || c == 0 && r.Source == r.Host {
			best, epoch = r, e
		}
	}
	return best
}

// warn says what an operator should look at.
func (o *Overview) warn(told []Report) {
	say := func(format string, args ...any) { o.Warnings = append(o.Warnings, fmt.Sprintf(format, args...)) }
	if o.Source == 0 {
		say("no host that could be asked is the source, or follows one")
	}
	if row := o.row(o.Source); row != nil && !row.Reached {
		say("the source, host %d, cannot be reached from host %d: what it knows of its sinks is not known here", o.Source, o.Asked)
	}
	for _, r := range told {
		switch {
		case r.Failed != "":
			say("the replica at host %d has ended: %s", r.Host, r.Failed)
		case r.Role == core.Source.String() && r.Host != o.Source:
			say("host %d takes itself for the source too, in the older epoch %s: nothing that it appends can count", r.Host, r.Epoch)
		case r.Source != 0 && r.Source != o.Source && o.Source != 0:
			say("host %d still follows host %d", r.Host, r.Source)
		}
		if r.Single != 0 && (r.Host == o.Source || o.Source == 0) {
			say("the queue is single: only host %d, or force, may take over", r.Single)
		}
	}
}
