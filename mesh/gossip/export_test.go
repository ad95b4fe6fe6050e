package gossip

import "github.com/hashicorp/memberlist"

// Over has gossip go over a transport of a test's own.
func Over(cfg Config, t memberlist.Transport) Config {
	cfg.transport = t
	return cfg
}

// ParseMeta is parseMeta, for fuzzing.
func ParseMeta(b []byte) (incarnation uint64, addr string, err error) {
	l, err := parseMeta(b)
	return l.incarnation, l.addr, err
}

// AppendMeta is appendMeta.
var AppendMeta = appendMeta
