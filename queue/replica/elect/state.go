package elect

import (
	"encoding/json"
	"fmt"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"
)

// state is what is kept: who drives the Elector sees to a check of it.
type state struct {
	Index   uint64   `json:"index"` // behind which the log begins
	Term    uint64   `json:"term"`  // of that entry
	Hard    []byte   `json:"hard"`
	Entries [][]byte `json:"entries"`
}

func encodeState(s *raft.MemoryStorage, hard raftpb.HardState) ([]byte, error) {
	snap, err := s.Snapshot()
	if err != nil {
		return nil, err
	}
	st := state{Index: snap.Metadata.Index, Term: snap.Metadata.Term}
	if st.Hard, err = hard.Marshal(); err != nil {
		return nil, err
	}
	first, _ := s.FirstIndex() // a MemoryStorage has no errors to tell
	last, _ := s.LastIndex()
	if first <= last {
		entries, err := s.Entries(first, last+1, 1<<30)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			b, err := e.Marshal()
			if err != nil {
				return nil, err
			}
			st.Entries = append(st.Entries, b)
		}
	}
	return json.Marshal(st)
}

// decodeState makes the log. That of a new host begins, at all hosts alike, behind
// entry 1 of term 1, where the hosts were named.
func decodeState(b []byte, conf raftpb.ConfState) (*raft.MemoryStorage, raftpb.HardState, error) {
	st := state{Index: 1, Term: 1}
	hard := raftpb.HardState{Term: 1, Commit: 1}
	fail := func(err error) (*raft.MemoryStorage, raftpb.HardState, error) {
		return nil, hard, fmt.Errorf("read state of an election: %w", err)
	}
	if b != nil {
		if err := json.Unmarshal(b, &st); err != nil {
			return fail(err)
		}
		if err := hard.Unmarshal(st.Hard); err != nil {
			return fail(err)
		}
	}
	s := raft.NewMemoryStorage()
	snap := raftpb.Snapshot{Metadata: raftpb.SnapshotMetadata{ConfState: conf, Index: st.Index, Term: st.Term}}
	if err := s.ApplySnapshot(snap); err != nil {
		return fail(err)
	}
	var entries []raftpb.Entry
	term := st.Term
	for k, b := range st.Entries {
		var e raftpb.Entry
		if err := e.Unmarshal(b); err != nil {
			return fail(err)
		}
		if e.Index != st.Index+uint64(k)+1 || e.Term < term {
			return fail(fmt.Errorf("entry %d of term %d is not the next", e.Index, e.Term))
		}
		term = e.Term
		entries = append(entries, e)
	}
	if last := st.Index + uint64(len(entries)); hard.Commit < st.Index || hard.Commit > last || hard.Term < term {
		return fail(fmt.Errorf("entries up to %d are committed, those from %d to %d are there", hard.Commit, st.Index, last))
	}
	if err := s.Append(entries); err != nil {
		return fail(err)
	}
	return s, hard, s.SetHardState(hard)
}
