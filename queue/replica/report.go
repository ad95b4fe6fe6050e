package replica

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/pawl-go/pawl/queue/replica/core"
)

// Report is what a host says of a queue when another host asks it.
type Report struct {
	Stats
	Peers []PeerStats `json:"peers,omitempty"` // the other hosts of the queue, by id
}

// PeerStats is how a host stands with another one.
type PeerStats struct {
	Host      HostID `json:"host"`
	Name      string `json:"name"`
	Connected bool   `json:"connected"`
	// HeardMS is how many milliseconds ago something came in from it last, be it a
	// heartbeat; -1: never since this host began.
	HeardMS int64  `json:"heardMs"`
	Why     string `json:"why,omitempty"` // it is not connected
}

// Report tells how the queue stands here, and how this host stands with the others.
func (q *Queue) Report() Report {
	r := Report{Stats: q.Stats()}
	for _, id := range slices.Sorted(slices.Values(q.cfg.Replica.Hosts)) {
		if l := q.host.links[id]; l != nil {
			r.Peers = append(r.Peers, l.stats(time.Now()))
		}
	}
	return r
}

// stats tells of the connection.
func (l *link) stats(now time.Time) PeerStats {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := PeerStats{Host: l.peer.ID, Name: l.peer.Name, HeardMS: -1}
	switch c := l.mu.up; {
	case c != nil:
		p.Connected = true
		if c.heard.Load() { // since the last tick
			l.mu.heard = now
		}
	case l.mu.why != "":
		p.Why = l.mu.why
	case l.peer.ID > l.h.cfg.Self:
		p.Why = "it has not connected to this host, as the one with the higher id does"
	default:
		p.Why = "this host has not connected to it yet"
	}
	if !l.mu.heard.IsZero() {
		p.HeardMS = now.Sub(l.mu.heard).Milliseconds()
	}
	return p
}

// errReport is wrapped by the errors of reports that no host makes.
var errReport = errors.New("bad report")

// maxText bounds each text of a report, in bytes; longer ones are cut.
const maxText = 500

// decodeReport reads what a host has said of a queue. The peer has proved who it is,
// but what it says ends up on terminals: texts are printable, and numbers possible.
func decodeReport(b []byte, from HostID, queue string) (Report, error) {
	var r Report
	if err := json.Unmarshal(b, &r); err != nil {
		return Report{}, fmt.Errorf("%w of host %d: %w", errReport, from, err)
	}
	roles := []string{core.Sink.String(), core.Candidate.String(), core.Source.String()}
	_, err := core.ParseEpoch(r.Epoch)
	switch {
	case err != nil:
	case r.Host != from || r.Queue != queue:
		err = fmt.Errorf("it is of host %d and queue %.50q", r.Host, r.Queue)
	case !slices.Contains(roles, r.Role):
		err = fmt.Errorf("role %.50q", r.Role)
	case r.Source > core.MaxHosts || len(r.Sinks) > core.MaxHosts || len(r.Peers) > core.MaxHosts || len(r.WaitsFor) > core.MaxHosts:
		err = errors.New("more hosts than there can be")
	}
	if err != nil {
		return Report{}, fmt.Errorf("%w of host %d: %w", errReport, from, err)
	}
	texts := []*string{&r.Locked, &r.LastIn, &r.Trust, &r.Failed}
	for k := range r.Sinks {
		texts = append(texts, &r.Sinks[k].State, &r.Sinks[k].Trust)
	}
	for k := range r.Peers {
		texts = append(texts, &r.Peers[k].Name, &r.Peers[k].Why)
	}
	for _, text := range texts {
		*text = printable(*text)
	}
	return r, nil
}

// printable has a text do nothing to a terminal but be there.
func printable(s string) string {
	if len(s) > maxText {
		s = s[:maxText]
	}
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, s)
}
