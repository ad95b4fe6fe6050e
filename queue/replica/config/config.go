package config

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/pawl-go/pawl/queue"
	"github.com/pawl-go/pawl/queue/replica/core"
)

// File is a configuration that has been read and found right. It is not changed
// any more, and may be used concurrently.
type File struct {
	Context     Context
	Hosts       []Host // by id
	ReplicaSets []ReplicaSet
	Queues      []Queue // in the order of the file
	// Services are there in the form with services only; nothing of them has
	// been looked at but that each has a name of its own.
	Services []Service
}

// Context is what all queues share.
type Context struct {
	BaseSourcePath    string // with $hostId as it stands in the file; see Dir
	BaseSinkPath      string
	HeartbeatInterval time.Duration
	HeartbeatTimeout  time.Duration
	LeaseTimeout      time.Duration
	SecretFile        string // empty: no shared secret
	TLS               TLS
}

// TLS names the files for TLS between hosts. All are set, or none.
type TLS struct {
	CertFile, KeyFile, CAFile string
}

// Host is a host of the cluster.
type Host struct {
	Name    string
	ID      core.HostID
	Address string // host:port
}

// ReplicaSet is a group of hosts.
type ReplicaSet struct {
	Name  string
	Hosts []core.HostID
}

// Queue is a queue, replicated or not.
type Queue struct {
	Name         string
	Path         string // below the base directory
	SourceID     int    // 0: none
	ReplicaSets  []string
	Hosts        []core.HostID // of all its replica sets, by id; empty: not replicated
	Master       core.HostID   // 0: none
	Acknowledge  bool
	AllowLoss    bool
	Strategy     core.Strategy
	CountFlushed bool
	Automatic    bool // take-over
	Retain       queue.Retention
	HoldForSinks bool // retention waits for sinks that are away
}

// Service is a service over queues, as it stands in the file.
type Service struct {
	Name string
	Line int
	Body *yaml.Node // a mapping, or a null
}

// Load reads the file at path. Mistakes in it are a *MistakesError.
func Load(path string) (*File, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read replication configuration: %w", err)
	}
	return Parse(path, text)
}

// Host finds a host by its name or its id.
func (f *File) Host(nameOrID string) (Host, bool) {
	id, err := strconv.Atoi(nameOrID)
	for _, h := range f.Hosts {
		if h.Name == nameOrID || err == nil && int(h.ID) == id {
			return h, true
		}
	}
	return Host{}, false
}

// Queue finds a queue by its name.
func (f *File) Queue(name string) (Queue, bool) {
	k := slices.IndexFunc(f.Queues, func(q Queue) bool { return q.Name == name })
	if k < 0 {
		return Queue{}, false
	}
	return f.Queues[k], true
}

// QueuesOf lists the queues that a host has: those of its replica sets, and
// those that are not replicated.
func (f *File) QueuesOf(host core.HostID) []Queue {
	var qs []Queue
	for _, q := range f.Queues {
		if len(q.Hosts) == 0 || slices.Contains(q.Hosts, host) {
			qs = append(qs, q)
		}
	}
	return qs
}

// Dir is the directory of a queue at a host: below baseSourcePath at its master,
// and for a queue that is not replicated, below baseSinkPath elsewhere. It stays
// where it is when the source moves.
func (f *File) Dir(q Queue, host core.HostID) string {
	base := f.Context.BaseSinkPath
	if q.Master == host || len(q.Hosts) == 0 {
		base = f.Context.BaseSourcePath
	}
	id := strconv.Itoa(int(host))
	return filepath.Join(strings.ReplaceAll(base, hostIDVariable, id), strings.ReplaceAll(q.Path, hostIDVariable, id))
}

// Replica is the configuration of a replicated queue at one of its hosts.
func (f *File) Replica(q Queue, host core.HostID) core.Config {
	return core.Config{
		Self: host, Hosts: slices.Clone(q.Hosts), Master: q.Master,
		Acknowledge: q.Acknowledge, Strategy: q.Strategy, FlushToCount: q.CountFlushed, AllowLoss: q.AllowLoss,
		HeartbeatInterval: f.Context.HeartbeatInterval, HeartbeatTimeout: f.Context.HeartbeatTimeout,
		LeaseTimeout: f.Context.LeaseTimeout,
	}
}

// hostIDVariable in a path stands for the id of the host.
const hostIDVariable = "$hostId"

// Mistake is something wrong in a file.
type Mistake struct {
	Line int // from 1; 0: the file as a whole
	Text string
}

// MistakesError lists all mistakes of a file, by line.
type MistakesError struct {
	File     string
	Mistakes []Mistake
}

func (e *MistakesError) Error() string {
	lines := make([]string, len(e.Mistakes))
	for k, m := range e.Mistakes {
		lines[k] = fmt.Sprintf("%s:%d: %s", e.File, m.Line, m.Text)
	}
	return strings.Join(lines, "\n")
}
