package main

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"time"

	_ "github.com/dbos-inc/dbos-transact-golang/dbos/driver/sqlite" // DBOS on SQLite
	"github.com/jackc/pgx/v5/pgxpool"
)

// store is the database that DBOS stands on: one of pool and sqlite is set.
type store struct {
	pool   *pgxpool.Pool
	sqlite *sql.DB
	cpu    func() time.Duration // of the server's processes; nil: there is none
	close  func()
}

func openStore(ctx context.Context, name, dir string, clients int) (*store, error) {
	switch name {
	case "sqlite":
		return openSQLite(dir)
	case "postgres":
		return openPostgres(ctx, dir, clients)
	}
	return nil, fmt.Errorf("--store %s: it is postgres or sqlite", name)
}

// openSQLite opens a database that flushes each commit (synchronous FULL),
// unlike DBOS's own default, which may lose the last ones in a power cut.
// SQLite has one writer at a time: more connections would only retry.
func openSQLite(dir string) (*store, error) {
	dsn := "file:" + filepath.Join(dir, "dbos.db") +
		"?_pragma=busy_timeout(30000)&_pragma=foreign_keys(ON)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_txlock=immediate"
	db, err := sql.Open("sqlite", dsn)
	if err != nil {
		return nil, fmt.Errorf("open sqlite: %w", err)
	}
	db.SetMaxOpenConns(8)
	return &store{sqlite: db, close: func() { _ = db.Close() }}, nil
}

// openPostgres starts a private server with its standard settings, flushes
// included, and connects to it over a Unix socket.
func openPostgres(ctx context.Context, dir string, clients int) (*store, error) {
	s, err := startServer(ctx, dir)
	if err != nil {
		return nil, err
	}
	cfg, err := pgxpool.ParseConfig(fmt.Sprintf("host=%s port=5432 user=postgres dbname=postgres sslmode=disable", s.socket))
	if err != nil {
		s.stop()
		return nil, fmt.Errorf("connect to postgres: %w", err)
	}
	cfg.MaxConns = int32(min(max(clients, 4), 64) + 4)
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err == nil {
		err = s.await(ctx, pool)
	}
	if err != nil {
		s.stop()
		return nil, fmt.Errorf("connect to postgres: %w\n%s", err, s.log.String())
	}
	return &store{pool: pool, cpu: s.cpu, close: func() { pool.Close(); s.stop() }}, nil
}
