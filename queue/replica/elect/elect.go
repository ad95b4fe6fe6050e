package elect

import (
	"errors"
	"fmt"
	"io"
	"log"
	"slices"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"

	"github.com/pawl-go/pawl/queue/replica/core"
)

// The pace, in ticks. A leader that is not heard of is replaced after ElectionTicks
// to twice as many.
const (
	ElectionTicks  = 10
	heartbeatTicks = 3
	keepEntries    = 64
)

// MinHosts is how many hosts an election needs.
const MinHosts = 3

// ErrMessage is wrapped by the errors of what no Elector has sent.
var ErrMessage = errors.New("bad message of an election")

// Elector is one host's part in the election. It belongs to one goroutine at a time.
type Elector struct {
	self    core.HostID
	hosts   []core.HostID
	storage *raft.MemoryStorage
	node    *raft.RawNode
	hard    raftpb.HardState
	applied uint64
	leader  core.HostID
}

// Message goes to another host. A message that is lost is no loss.
type Message struct {
	To   core.HostID
	Body []byte
}

// Output is what an event has led to. State, unless it is nil, replaces the state
// that is kept, on the disk, before Messages are sent.
type Output struct {
	State    []byte
	Messages []Message
}

// New makes an Elector from the state that was kept last; nil, or one that is
// damaged, is that of a new host.
func New(self core.HostID, hosts []core.HostID, state []byte) (*Elector, error) {
	if len(hosts) < MinHosts || !slices.Contains(hosts, self) {
		return nil, fmt.Errorf("elect among hosts %v: want %d or more, with host %d", hosts, MinHosts, self)
	}
	e := &Elector{self: self, hosts: slices.Clone(hosts)}
	slices.Sort(e.hosts)
	if err := e.restore(state); err != nil {
		if err = e.restore(nil); err != nil {
			return nil, fmt.Errorf("begin an election: %w", err)
		}
	}
	return e, nil
}

func (e *Elector) restore(state []byte) error {
	var err error
	if e.storage, e.hard, err = decodeState(state, e.conf()); err != nil {
		return err
	}
	snap, err := e.storage.Snapshot()
	if err != nil {
		return err
	}
	e.applied = snap.Metadata.Index
	e.node, err = raft.NewRawNode(&raft.Config{
		ID: uint64(e.self), ElectionTick: ElectionTicks, HeartbeatTick: heartbeatTicks,
		Storage: e.storage, Applied: e.applied, MaxSizePerMsg: 1 << 16, MaxInflightMsgs: 16,
		CheckQuorum: true, PreVote: true, Logger: &raft.DefaultLogger{Logger: log.New(io.Discard, "", 0)},
	})
	return err
}

// again goes back to what is kept.
func (e *Elector) again() error {
	state, err := encodeState(e.storage, e.hard)
	if err == nil {
		err = e.restore(state)
	}
	return err
}

// conf is the hosts, which the configuration says and no entry changes.
func (e *Elector) conf() raftpb.ConfState {
	var c raftpb.ConfState
	for _, id := range e.hosts {
		c.Voters = append(c.Voters, uint64(id))
	}
	return c
}

// Tick tells that time has passed.
func (e *Elector) Tick() (Output, error) {
	e.node.Tick()
	return e.output()
}

// Step takes a message of another host. The error matches ErrMessage when it is
// none; the connection is of no use then.
func (e *Elector) Step(from core.HostID, body []byte) (out Output, err error) {
	var m raftpb.Message
	if err := m.Unmarshal(body); err != nil {
		return Output{}, fmt.Errorf("%w: %w", ErrMessage, err)
	}
	if !allowed(m.Type) || m.From != uint64(from) || m.To != uint64(e.self) || !slices.Contains(e.hosts, from) {
		return Output{}, fmt.Errorf("%w: %v from %d to %d", ErrMessage, m.Type, m.From, m.To)
	}
	defer func() {
		if p := recover(); p != nil { // raft's way to say that a message contradicts what it has
			out, err = Output{}, errors.Join(fmt.Errorf("%w: %v", ErrMessage, p), e.again())
		}
	}()
	if m.Type == raftpb.MsgHeartbeat {
		// A host that has lost its state has less than the leader believes.
		last, err := e.storage.LastIndex()
		if err != nil {
			return Output{}, err
		}
		m.Commit = min(m.Commit, last)
	}
	if err := e.node.Step(m); err != nil && !errors.Is(err, raft.ErrStepPeerNotFound) && !errors.Is(err, raft.ErrProposalDropped) {
		return Output{}, fmt.Errorf("step election: %w", err)
	}
	return e.output()
}

// allowed are the messages that one host sends another here.
func allowed(t raftpb.MessageType) bool {
	switch t {
	case raftpb.MsgApp, raftpb.MsgAppResp, raftpb.MsgVote, raftpb.MsgVoteResp, raftpb.MsgPreVote, raftpb.MsgPreVoteResp,
		raftpb.MsgSnap, raftpb.MsgHeartbeat, raftpb.MsgHeartbeatResp, raftpb.MsgTimeoutNow:
		return true
	}
	return false
}

// Leader is the host that is elected, as far as this one knows; 0: none.
func (e *Elector) Leader() core.HostID { return e.leader }

// Transfer hands the office over to another host, if this one has it.
func (e *Elector) Transfer(to core.HostID) (Output, error) {
	e.node.TransferLeader(uint64(to))
	return e.output()
}

// output carries out what the node is ready for.
func (e *Elector) output() (Output, error) {
	var out Output
	changed := false
	for e.node.HasReady() {
		rd := e.node.Ready()
		if !raft.IsEmptyHardState(rd.HardState) {
			e.hard, changed = rd.HardState, true
			if err := e.storage.SetHardState(e.hard); err != nil {
				return out, err
			}
		}
		if !raft.IsEmptySnap(rd.Snapshot) {
			changed = true
			if err := e.storage.ApplySnapshot(rd.Snapshot); err != nil {
				return out, err
			}
			e.applied = rd.Snapshot.Metadata.Index
		}
		if len(rd.Entries) > 0 {
			changed = true
			if err := e.storage.Append(rd.Entries); err != nil {
				return out, err
			}
		}
		for _, m := range rd.Messages {
			body, err := m.Marshal()
			if err != nil {
				return out, err
			}
			out.Messages = append(out.Messages, Message{core.HostID(m.To), body})
		}
		for _, entry := range rd.CommittedEntries {
			e.applied = entry.Index
		}
		e.node.Advance(rd)
	}
	e.leader = core.HostID(e.node.BasicStatus().Lead)
	if !changed {
		return out, nil
	}
	var err error
	if err = e.compact(); err == nil {
		out.State, err = encodeState(e.storage, e.hard)
	}
	return out, err
}

// compact forgets old entries: they say nothing.
func (e *Elector) compact() error {
	first, err := e.storage.FirstIndex()
	if err != nil || e.applied < first+keepEntries {
		return err
	}
	conf := e.conf()
	if _, err := e.storage.CreateSnapshot(e.applied, &conf, nil); err != nil {
		return err
	}
	return e.storage.Compact(e.applied)
}
