package main

import (
	"path/filepath"

	"github.com/hashicorp/raft"
	raftwal "github.com/hashicorp/raft-wal"
	tidwal "github.com/tidwall/wal"
	etcdwal "go.etcd.io/etcd/server/v3/storage/wal"
	"go.etcd.io/raft/v3/raftpb"

	"github.com/pawl-go/pawl/bench/journals"
)

// tidwall is github.com/tidwall/wal.
func tidwall() journals.System {
	return journals.System{Name: "tidwall/wal", Open: func(dir string, _ bool) (*journals.Journal, error) {
		l, err := tidwal.Open(filepath.Join(dir, "wal"), &tidwal.Options{NoSync: true})
		if err != nil {
			return nil, err
		}
		var last uint64
		return &journals.Journal{
			Append: func(m []byte) error {
				last++
				return l.Write(last, m)
			},
			Close: l.Close,
		}, nil
	}}
}

// raftWAL is github.com/hashicorp/raft-wal.
func raftWAL() journals.System {
	return journals.System{Name: "hashicorp/raft-wal", Open: func(dir string, _ bool) (*journals.Journal, error) {
		w, err := raftwal.Open(dir)
		if err != nil {
			return nil, err
		}
		var last uint64
		g := newGroup(func(ms [][]byte) error {
			logs := make([]*raft.Log, len(ms))
			for i, m := range ms {
				last++
				logs[i] = &raft.Log{Index: last, Term: 1, Data: m}
			}
			return w.StoreLogs(logs)
		})
		return &journals.Journal{Durable: g.durable, Close: w.Close}, nil
	}}
}

// etcd is the wal of go.etcd.io/etcd/server/v3.
func etcd() journals.System {
	return journals.System{Name: "etcd wal", Open: func(dir string, _ bool) (*journals.Journal, error) {
		w, err := etcdwal.Create(nil, filepath.Join(dir, "wal"), nil)
		if err != nil {
			return nil, err
		}
		var last uint64
		g := newGroup(func(ms [][]byte) error {
			entries := make([]raftpb.Entry, len(ms))
			for i, m := range ms {
				last++
				entries[i] = raftpb.Entry{Index: last, Term: 1, Data: m}
			}
			return w.Save(raftpb.HardState{Term: 1}, entries)
		})
		return &journals.Journal{Durable: g.durable, Close: w.Close}, nil
	}}
}
