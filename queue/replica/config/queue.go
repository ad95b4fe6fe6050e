package config

import (
	"math"
	"slices"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/pawl-go/pawl/queue"
	"github.com/pawl-go/pawl/queue/replica/core"
)

// settings is what stands in a queue about its strategy, with the place of each.
type settings struct {
	strategy, whenOver string
	limit              core.Limit
	counting           int
	patience           time.Duration
	places             map[string]*yaml.Node
}

func (p *parser) queue(key, n *yaml.Node) {
	q := Queue{Name: key.Value, Path: key.Value}
	s := settings{places: map[string]*yaml.Node{}}
	before := len(p.mistakes)
	pathAt := key
	known := map[string]func(*yaml.Node){
		"path":              func(n *yaml.Node) { pathAt, q.Path = n, p.local(n, "path") },
		"sourceId":          func(n *yaml.Node) { q.SourceID = p.sourceID(n) },
		"replicaSets":       func(n *yaml.Node) { p.setsOf(&q, n) },
		"masterId":          func(*yaml.Node) {},
		"master":            func(*yaml.Node) {},
		"acknowledge":       func(n *yaml.Node) { q.Acknowledge = p.boolean(n, "acknowledge") },
		"allowLoss":         func(n *yaml.Node) { q.AllowLoss = p.boolean(n, "allowLoss") },
		"countFlushed":      func(n *yaml.Node) { q.CountFlushed = p.boolean(n, "countFlushed") },
		"automaticTakeOver": func(n *yaml.Node) { q.Automatic = p.boolean(n, "automaticTakeOver") },
		"strategy": func(n *yaml.Node) {
			s.strategy = p.choice(n, "strategy", "any", "majority", "all", "unbounded", "maxGap")
		},
		"retain":       func(n *yaml.Node) { q.Retain = p.retention(n) },
		"holdForSinks": func(n *yaml.Node) { q.HoldForSinks = p.boolean(n, "holdForSinks") },
		"maxGap":       func(n *yaml.Node) { s.limit = p.limit(n) },
		"counting":     func(n *yaml.Node) { s.counting = int(p.number(n, "counting", core.MaxHosts)) },
		"whenOver":     func(n *yaml.Node) { s.whenOver = p.choice(n, "whenOver", "wait", "fail", "flush") },
		"patienceMs":   func(n *yaml.Node) { s.patience = p.millis(n, "patienceMs") },
	}
	for name, read := range known {
		known[name] = func(n *yaml.Node) {
			s.places[name] = n
			read(n)
		}
	}
	p.fields(n, "queue "+q.Name, known)
	if q.Path != "" && !p.once(pathAt, "path", q.Path) {
		return
	}
	p.master(&q, &s)
	if len(p.mistakes) == before {
		p.strategy(key, &q, &s)
	}
	p.file.Queues = append(p.file.Queues, q)
}

func (p *parser) sourceID(n *yaml.Node) int {
	id := p.number(n, "sourceId", math.MaxInt32)
	if id != 0 {
		p.once(n, "sourceId", n.Value)
	}
	return int(id)
}

// setsOf finds the hosts of a queue.
func (p *parser) setsOf(q *Queue, n *yaml.Node) {
	for _, w := range p.list(n, "replicaSets") {
		hosts, ok := p.sets[w.Value]
		if !ok {
			p.mistake(w, "queue %s has the replica set %q, which is not among the replica sets", q.Name, w.Value)
			continue
		}
		if slices.Contains(q.ReplicaSets, w.Value) {
			p.mistake(w, "queue %s has the replica set %s twice", q.Name, w.Value)
			continue
		}
		q.ReplicaSets = append(q.ReplicaSets, w.Value)
		q.Hosts = append(q.Hosts, hosts...)
	}
	slices.Sort(q.Hosts)
	q.Hosts = slices.Compact(q.Hosts)
}

// master finds the host that is the source at first.
func (p *parser) master(q *Queue, s *settings) {
	n := s.places["master"]
	if n != nil {
		name := p.word(n, "master")
		id, ok := p.hosts[name]
		if name != "" && !ok {
			p.mistake(n, "queue %s has the master %q, which is not among the hosts", q.Name, name)
		}
		q.Master = id
	}
	if at := s.places["masterId"]; at != nil {
		n = at
		id := core.HostID(p.number(at, "masterId", core.MaxHosts))
		if q.Master != 0 && id != 0 && q.Master != id {
			p.mistake(at, "queue %s has master and masterId, and they are different hosts", q.Name)
		}
		q.Master = id
	}
	if q.Master != 0 && len(q.ReplicaSets) > 0 && !slices.Contains(q.Hosts, q.Master) {
		p.mistake(n, "queue %s has the master %s, which is in none of its replica sets", q.Name, n.Value)
	}
}

// limit reads the limits of strategy maxGap.
func (p *parser) limit(n *yaml.Node) core.Limit {
	var l core.Limit
	p.fields(n, "maxGap", map[string]func(*yaml.Node){
		"messages": func(n *yaml.Node) { l.Messages = uint64(p.number(n, "messages", math.MaxInt64)) },
		"bytes":    func(n *yaml.Node) { l.Bytes = uint64(p.number(n, "bytes", math.MaxInt64)) },
		"ageMs":    func(n *yaml.Node) { l.Age = p.millis(n, "ageMs") },
	})
	return l
}

// longestAge is the longest age of retention, some hundred years: a duration holds it.
const longestAge = math.MaxInt64 / int64(time.Millisecond)

// retention reads what every host of the queue keeps, each by itself.
func (p *parser) retention(n *yaml.Node) queue.Retention {
	var r queue.Retention
	p.fields(n, "retain", map[string]func(*yaml.Node){
		"ageMs":   func(n *yaml.Node) { r.Age = time.Duration(p.number(n, "ageMs", longestAge)) * time.Millisecond },
		"bytes":   func(n *yaml.Node) { r.Bytes = p.number(n, "bytes", math.MaxInt64) },
		"entries": func(n *yaml.Node) { r.Entries = p.number(n, "entries", math.MaxInt64) },
	})
	return r
}

// needs notes settings that mean nothing without others.
func (p *parser) needs(s *settings, missing string, names ...string) {
	for _, name := range names {
		if n := s.places[name]; n != nil {
			p.mistake(n, "%s means nothing without %s", name, missing)
		}
	}
}

// strategy puts the strategy together, and lets the core look at the whole.
func (p *parser) strategy(key *yaml.Node, q *Queue, s *settings) {
	before := len(p.mistakes)
	if len(q.Hosts) == 0 {
		p.needs(s, "replicaSets", "masterId", "master", "acknowledge", "allowLoss", "automaticTakeOver")
	}
	if !q.Acknowledge {
		p.needs(s, "acknowledge: true", "strategy", "maxGap", "counting", "whenOver", "patienceMs", "countFlushed")
	}
	if s.strategy != "maxGap" {
		p.needs(s, "strategy: maxGap", "maxGap")
		if s.strategy != "unbounded" && s.strategy != "" {
			p.needs(s, "strategy: maxGap or unbounded", "counting")
		}
	}
	if s.whenOver == "" || s.whenOver == "wait" {
		p.needs(s, "whenOver: fail or flush", "patienceMs")
	}
	if len(p.mistakes) > before || len(q.Hosts) == 0 {
		return
	}
	q.Strategy = s.build()
	at := key
	if n := s.places["strategy"]; n != nil {
		at = n
	}
	cfg := p.file.Replica(*q, q.Hosts[0])
	if err := cfg.Check(); err != nil {
		p.mistake(at, "queue %s: %v", q.Name, err)
	} else if err := cfg.CheckAutomatic(); q.Automatic && err != nil {
		p.mistake(s.places["automaticTakeOver"], "queue %s: %v", q.Name, err)
	}
}

func (s *settings) build() core.Strategy {
	strategies := map[string]core.Strategy{
		"": core.Unbounded(), "unbounded": core.Unbounded(), "any": core.Any(), "majority": core.Majority(),
		"all": core.All(), "maxGap": core.MaxGap(s.limit),
	}
	st := strategies[s.strategy].Counting(s.counting)
	switch s.whenOver {
	case "fail":
		return st.OrFail(s.patience)
	case "flush":
		return st.OrFlush(s.patience)
	}
	return st
}
