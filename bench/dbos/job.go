package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/dbos-inc/dbos-transact-golang/dbos"
)

type input struct {
	Key   string
	Depth int
}

// job is the workflow and what it writes to.
type job struct {
	source *dbos.DataSource
	store  *store
}

const table = `CREATE TABLE IF NOT EXISTS counters (key TEXT PRIMARY KEY, n BIGINT NOT NULL)`

func newJob(c dbos.Context, s *store) (*job, error) {
	j := &job{store: s}
	var err error
	if s.pool != nil {
		if _, err = s.pool.Exec(context.Background(), table); err == nil {
			j.source, err = dbos.NewDataSource(c, s.pool)
		}
	} else {
		if _, err = s.sqlite.Exec(table); err == nil {
			j.source, err = dbos.NewDataSource(c, s.sqlite)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("make counters: %w", err)
	}
	dbos.RegisterWorkflow(c, j.add)
	return j, nil
}

// add is the workflow: with depth 1 it adds to its counter, else it first runs
// a child workflow on another counter.
func (j *job) add(c dbos.Context, in input) (int64, error) {
	if in.Depth > 1 {
		h, err := dbos.RunWorkflow(c, j.add, input{Key: in.Key + "/" + strconv.Itoa(in.Depth), Depth: in.Depth - 1})
		if err != nil {
			return 0, err
		}
		if _, err := h.GetResult(); err != nil {
			return 0, err
		}
	}
	return dbos.RunAsTransaction(c, j.source, func(ctx context.Context, tx dbos.Tx) (n int64, err error) {
		err = tx.QueryRow(ctx, upsert, in.Key).Scan(&n)
		return n, err
	})
}

const upsert = `INSERT INTO counters (key, n) VALUES ($1, 1) ON CONFLICT (key) DO UPDATE SET n = counters.n + 1 RETURNING n`
