package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// server is a private PostgreSQL server.
type server struct {
	socket string // the directory of its socket
	cmd    *exec.Cmd
	log    bytes.Buffer
}

// startServer makes a cluster in dir and starts its server, which only listens
// on a socket there. As root it runs as the user postgres.
func startServer(ctx context.Context, dir string) (*server, error) {
	data := filepath.Join(dir, "pg")
	as, err := credential(dir)
	if err != nil {
		return nil, err
	}
	initdb, err := program("initdb")
	if err != nil {
		return nil, err
	}
	init := exec.CommandContext(ctx, initdb, "--pgdata", data, "--username", "postgres", "--auth", "trust", "--encoding", "UTF8", "--no-locale")
	init.SysProcAttr, init.Dir = as, dir
	if out, err := init.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("run initdb: %w\n%s", err, out)
	}
	postgres, err := program("postgres")
	if err != nil {
		return nil, err
	}
	s := &server{socket: dir}
	s.cmd = exec.Command(postgres, "-D", data, "-k", dir, "-c", "listen_addresses=", "-c", "max_connections=100")
	s.cmd.SysProcAttr, s.cmd.Dir, s.cmd.Stdout, s.cmd.Stderr = as, dir, &s.log, &s.log
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start postgres: %w", err)
	}
	return s, nil
}

// program finds a program of PostgreSQL, where Debian hides it too.
func program(name string) (string, error) {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	if len(found) > 0 {
		return found[len(found)-1], nil
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("%w: install PostgreSQL (Debian: apt-get install postgresql), or use --store sqlite", err)
	}
	return path, nil
}

func credential(dir string) (*syscall.SysProcAttr, error) {
	if os.Getuid() != 0 {
		return &syscall.SysProcAttr{}, nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		return nil, fmt.Errorf("postgres does not run as root: %w", err)
	}
	uid, _ := strconv.Atoi(u.Uid)
	gid, _ := strconv.Atoi(u.Gid)
	if err := os.Chown(dir, uid, gid); err != nil {
		return nil, err
	}
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}, nil
}

func (s *server) await(ctx context.Context, pool *pgxpool.Pool) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for {
		err := pool.Ping(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(err, ctx.Err())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func (s *server) stop() {
	_ = s.cmd.Process.Signal(syscall.SIGINT) // a fast shutdown
	_ = s.cmd.Wait()
}

// cpu is the processor time of the server and its living and ended children,
// to the hundredth of a second that the system counts in.
func (s *server) cpu() time.Duration {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	var ticks int64
	for _, name := range stats {
		b, err := os.ReadFile(name)
		if err != nil {
			continue // it has ended
		}
		text := string(b)
		f := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
		pid, _, _ := strings.Cut(text, " ")
		if len(f) < 15 || pid != strconv.Itoa(s.cmd.Process.Pid) && f[1] != strconv.Itoa(s.cmd.Process.Pid) {
			continue
		}
		for _, field := range f[11:15] { // utime, stime, and those of ended children
			n, _ := strconv.ParseInt(field, 10, 64)
			ticks += n
		}
	}
	return time.Duration(ticks) * time.Second / 100
}
