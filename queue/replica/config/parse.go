package config

import (
	"cmp"
	"errors"
	"net"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/pawl-go/pawl/queue/replica/core"
)

// The tags of the two forms.
const (
	tagQueues   = "!ChronicleQueueReplicationCfg"
	tagServices = "!ChronicleServicesCfg"
)

// parser reads one file. Sections are read in an order in which what they refer
// to has been read, whatever their order in the file.
type parser struct {
	reader
	file  File
	hosts map[string]core.HostID
	sets  map[string][]core.HostID
	lines map[string]int // of what must be there once, by what it is
}

// Parse reads a configuration. The name is for errors only. Mistakes are a
// *MistakesError that has all of them.
func Parse(name string, text []byte) (*File, error) {
	p := &parser{hosts: map[string]core.HostID{}, sets: map[string][]core.HostID{}, lines: map[string]int{}}
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		p.mistakes = []Mistake{syntax(err)}
	} else {
		p.document(&doc)
	}
	if len(p.mistakes) > 0 {
		slices.SortStableFunc(p.mistakes, func(a, b Mistake) int { return cmp.Compare(a.Line, b.Line) })
		return nil, &MistakesError{name, p.mistakes}
	}
	return &p.file, nil
}

var yamlLine = regexp.MustCompile(`^yaml: line (\d+): (.*)`)

// syntax finds the line in an error of the YAML parser.
func syntax(err error) Mistake {
	var typed *yaml.TypeError
	text := err.Error()
	if errors.As(err, &typed) && len(typed.Errors) > 0 {
		text = typed.Errors[0]
	}
	if m := yamlLine.FindStringSubmatch(text); m != nil {
		line, _ := strconv.Atoi(m[1]) // digits
		return Mistake{line, "no YAML: " + m[2]}
	}
	return Mistake{1, "no YAML: " + strings.TrimPrefix(text, "yaml: ")}
}

func (p *parser) document(doc *yaml.Node) {
	if len(doc.Content) == 0 {
		p.mistakes = append(p.mistakes, Mistake{1, "the file is empty"})
		return
	}
	root := doc.Content[0]
	p.noAliases(root)
	sections := map[string]*yaml.Node{}
	known := map[string]func(*yaml.Node){}
	for _, name := range []string{"context", "hosts", "replicaSets", "queues", "services"} {
		known[name] = func(n *yaml.Node) { sections[name] = n }
	}
	switch root.Tag {
	case tagServices, "!!map":
	case tagQueues:
		delete(known, "services")
	default:
		p.mistake(root, "the file has the tag %s; it must be %s or %s", root.Tag, tagQueues, tagServices)
		return
	}
	p.fields(root, "the file", known)
	p.context(sections["context"])
	for _, s := range []struct {
		name string
		read func(key, value *yaml.Node)
	}{{"hosts", p.host}, {"replicaSets", p.replicaSet}, {"queues", p.queue}, {"services", p.service}} {
		if n := sections[s.name]; n != nil {
			p.each(n, s.name, s.read)
		}
	}
	if sections["queues"] == nil {
		p.mistake(root, "the file has no queues")
	}
	slices.SortFunc(p.file.Hosts, func(a, b Host) int { return cmp.Compare(a.ID, b.ID) })
}

// noAliases refuses what would make a line mean something that stands elsewhere.
func (p *parser) noAliases(n *yaml.Node) {
	if n.Kind == yaml.AliasNode {
		p.mistake(n, "aliases (*%s) are not taken: write it out", n.Value)
		return
	}
	for _, c := range n.Content {
		p.noAliases(c)
	}
}

// once notes that a value is used, and complains when it is for the second time.
func (p *parser) once(n *yaml.Node, what, value string) bool {
	key := what + " " + value
	if line, used := p.lines[key]; used {
		p.mistake(n, "%s %s is used twice; the first time in line %d", what, value, line)
		return false
	}
	p.lines[key] = n.Line
	return true
}

func (p *parser) context(n *yaml.Node) {
	c := &p.file.Context
	c.HeartbeatInterval, c.HeartbeatTimeout = core.DefaultHeartbeatInterval, core.DefaultHeartbeatTimeout
	c.LeaseTimeout = core.DefaultLeaseTimeout
	c.BaseSourcePath, c.BaseSinkPath = "replica/source", "replica/sink"
	if n == nil {
		return
	}
	beat := n
	p.fields(n, "context", map[string]func(*yaml.Node){
		"baseSourcePath": func(n *yaml.Node) { c.BaseSourcePath = p.path(n, "baseSourcePath") },
		"baseSinkPath":   func(n *yaml.Node) { c.BaseSinkPath = p.path(n, "baseSinkPath") },
		"heartbeatIntervalMs": func(n *yaml.Node) {
			beat = n
			c.HeartbeatInterval = p.millis(n, "heartbeatIntervalMs")
		},
		"heartbeatTimeoutMs": func(n *yaml.Node) {
			beat = n
			c.HeartbeatTimeout = p.millis(n, "heartbeatTimeoutMs")
		},
		"leaseTimeoutMs": func(n *yaml.Node) { c.LeaseTimeout = p.millis(n, "leaseTimeoutMs") },
		"secretFile":     func(n *yaml.Node) { c.SecretFile = p.word(n, "secretFile") },
		"tls":            p.tls,
	})
	if c.HeartbeatInterval > 0 && c.HeartbeatTimeout > 0 && c.HeartbeatTimeout <= c.HeartbeatInterval {
		p.mistake(beat, "heartbeatTimeoutMs is %d; it must be longer than heartbeatIntervalMs, %d",
			c.HeartbeatTimeout.Milliseconds(), c.HeartbeatInterval.Milliseconds())
	}
}

func (p *parser) tls(n *yaml.Node) {
	t := &p.file.Context.TLS
	before := len(p.mistakes)
	p.fields(n, "tls", map[string]func(*yaml.Node){
		"certFile": func(n *yaml.Node) { t.CertFile = p.word(n, "certFile") },
		"keyFile":  func(n *yaml.Node) { t.KeyFile = p.word(n, "keyFile") },
		"caFile":   func(n *yaml.Node) { t.CAFile = p.word(n, "caFile") },
	})
	if len(p.mistakes) == before && (t.CertFile == "" || t.KeyFile == "" || t.CAFile == "") {
		p.mistake(n, "tls needs certFile, keyFile and caFile")
	}
}

var variable = regexp.MustCompile(`\$\w*`)

// path reads a path in which $hostId may stand.
func (p *parser) path(n *yaml.Node, what string) string {
	s := p.word(n, what)
	for _, v := range variable.FindAllString(s, -1) {
		if v != hostIDVariable {
			p.mistake(n, "%s has the variable %s; there is only %s", what, v, hostIDVariable)
		}
	}
	return s
}

// millis reads a time in milliseconds, up to a day.
func (p *parser) millis(n *yaml.Node, what string) time.Duration {
	return time.Duration(p.number(n, what, 86_400_000)) * time.Millisecond
}

func (p *parser) host(key, n *yaml.Node) {
	h := Host{Name: key.Value}
	before := len(p.mistakes)
	p.fields(n, "host "+h.Name, map[string]func(*yaml.Node){
		"hostId": func(n *yaml.Node) {
			h.ID = core.HostID(p.number(n, "hostId", core.MaxHosts))
			if h.ID != 0 {
				p.once(n, "hostId", n.Value)
			}
		},
		"connectUri": func(n *yaml.Node) { h.Address = p.address(n) },
	})
	p.hosts[h.Name] = h.ID
	if len(p.mistakes) > before {
		return
	}
	if h.ID == 0 || h.Address == "" {
		p.mistake(key, "host %s needs hostId and connectUri", h.Name)
		return
	}
	p.file.Hosts = append(p.file.Hosts, h)
}

// address reads a connectUri.
func (p *parser) address(n *yaml.Node) string {
	s := p.word(n, "connectUri")
	if s == "" {
		return ""
	}
	address := strings.TrimPrefix(s, "tcp://")
	host, port, err := net.SplitHostPort(address)
	number, perr := strconv.ParseUint(port, 10, 16)
	if err != nil || host == "" || perr != nil || number == 0 || strings.ContainsAny(host, "/ ") {
		p.mistake(n, "connectUri is %q; it must be host:port", s)
		return ""
	}
	if !p.once(n, "connectUri", address) {
		return ""
	}
	return address
}

func (p *parser) replicaSet(key, n *yaml.Node) {
	set := ReplicaSet{Name: key.Value}
	words := p.list(n, "replica set "+set.Name)
	for _, w := range words {
		id, ok := p.hosts[w.Value]
		switch {
		case !ok:
			p.mistake(w, "replica set %s has the host %q, which is not among the hosts", set.Name, w.Value)
		case id != 0 && slices.Contains(set.Hosts, id):
			p.mistake(w, "replica set %s has the host %s twice", set.Name, w.Value)
		case id != 0:
			set.Hosts = append(set.Hosts, id)
		}
	}
	if n.Kind == yaml.SequenceNode && len(n.Content) == 0 {
		p.mistake(key, "replica set %s has no hosts", set.Name)
	}
	p.sets[set.Name] = set.Hosts
	p.file.ReplicaSets = append(p.file.ReplicaSets, set)
}

// service keeps a service for its reader. A key of dots stands for services that
// are left out, as in the reference.
func (p *parser) service(key, n *yaml.Node) {
	switch {
	case key.Value == "..." && n.ShortTag() == "!!null":
		return
	case n.Kind != yaml.MappingNode && n.ShortTag() != "!!null":
		p.mistake(n, "service %s must be a mapping { key: value }, not %s", key.Value, kindOf(n))
		return
	}
	p.file.Services = append(p.file.Services, Service{Name: key.Value, Line: key.Line, Body: n})
}

// local reads a path that stays below its base.
func (p *parser) local(n *yaml.Node, what string) string {
	s := p.path(n, what)
	if s != "" && !filepath.IsLocal(s) {
		p.mistake(n, "%s is %q; it must be a path below the base directory", what, s)
		return ""
	}
	return s
}
