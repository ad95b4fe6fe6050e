package service

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"slices"
	"strconv"
	"strings"
)

const snapshotSuffix = ".snapshot"

// snapshots are the files of one service.
type snapshots struct {
	cfg   Snapshots
	name  string
	log   *slog.Logger
	since int // inputs since the last one
}

// fileName has the number in so many digits that names sort.
func (ss *snapshots) fileName(n int) string {
	return fmt.Sprintf("%s-%012d%s", ss.name, n, snapshotSuffix)
}

// numbers lists those that are there, in order.
func (ss *snapshots) numbers(names []string) []int {
	var ns []int
	for _, name := range names {
		digits, ok := strings.CutPrefix(strings.TrimSuffix(name, snapshotSuffix), ss.name+"-")
		if n, err := strconv.Atoi(digits); ok && err == nil && name == ss.fileName(n) {
			ns = append(ns, n)
		}
	}
	slices.Sort(ns)
	return ns
}

// load reads the newest snapshot that is whole and that fits: the function says
// why not. One that is not whole, or does not fit, is renamed, so that it is looked
// at once.
func (ss *snapshots) load(fits func(*snapshot) (problem string, err error)) (*snapshot, error) {
	if ss.cfg.Dir == "" {
		return nil, nil
	}
	sn, err := ss.newest(fits)
	if err != nil {
		return nil, fmt.Errorf("load snapshot from %s: %w", ss.cfg.Dir, err)
	}
	return sn, nil
}

func (ss *snapshots) newest(fits func(*snapshot) (problem string, err error)) (*snapshot, error) {
	d, err := ss.cfg.FS.OpenDir(ss.cfg.Dir, true)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	names, err := d.List()
	if err != nil {
		return nil, err
	}
	for _, n := range slices.Backward(ss.numbers(names)) {
		name := ss.fileName(n)
		sn := &snapshot{path: ss.cfg.Dir + "/" + name}
		b, err := readFile(d, name)
		if err == nil {
			err = sn.decode(b)
		}
		mark, problem := ".bad", ""
		if err != nil {
			problem = err.Error()
		} else if problem, err = fits(sn); err != nil {
			return nil, err
		} else if mark = ".stale"; problem == "" {
			return sn, nil
		}
		ss.log.Warn("snapshot set aside: the replay is longer", "error", &SnapshotError{sn.path, problem}, "to", name+mark)
		if err := errors.Join(d.Rename(name, name+mark), d.Sync()); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// write adds a snapshot and removes those beyond the ones that are kept. It gives
// what the oldest one covers, nil if it is not whole.
func (ss *snapshots) write(sn *snapshot, before func() error) (oldest []Hop, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("write snapshot to %s: %w", ss.cfg.Dir, err)
		}
	}()
	d, err := ss.cfg.FS.OpenDir(ss.cfg.Dir, true)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	names, err := d.List()
	if err != nil {
		return nil, err
	}
	ns, next := ss.numbers(names), 1
	if len(ns) > 0 {
		next = ns[len(ns)-1] + 1
	}
	if err := writeFile(d, ss.fileName(next), sn.encode(), before); err != nil {
		return nil, err
	}
	ns = append(ns, next)
	for len(ns) > ss.cfg.Keep {
		if err := d.Remove(ss.fileName(ns[0])); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		ns = ns[1:]
	}
	if len(ns) < ss.cfg.Keep {
		return nil, nil // hold everything until there are as many as are kept
	}
	b, err := readFile(d, ss.fileName(ns[0]))
	if err != nil {
		return nil, err
	}
	var old snapshot
	if old.decode(b) != nil {
		return nil, nil // the next load sets it aside
	}
	return old.positions, nil
}

// snapshotIfDue writes a snapshot when it is time.
func (s *Service) snapshotIfDue(ctx context.Context) error {
	if s.cfg.Snapshots.Dir == "" || s.snaps.since < s.cfg.Snapshots.Every {
		return nil
	}
	return s.snapshot(ctx)
}

// snapshot writes the state down. It ends the runs first, so that the state is that
// at a record, and commits what the state covers.
func (s *Service) snapshot(ctx context.Context) error {
	if !s.c.mute && len(s.runs) > 0 {
		from := s.c.mark()
		s.order()
		s.add(record{from: from, to: s.c.mark(), cause: s.c.cause})
		if err := s.flush(ctx); err != nil {
			return err
		}
	}
	state, err := s.h.snapshotter.Snapshot()
	if err != nil {
		return fmt.Errorf("snapshot the state: %w", err)
	}
	sn := &snapshot{begin: s.begin, output: s.last, positions: s.positions(), state: state}
	if err := s.commit(ctx); err != nil {
		return err
	}
	if s.c.mute {
		if err := s.syncPositions(); err != nil {
			return err
		}
	} else {
		p, err := s.cfg.Output.Queue.Read(s.last)
		if err != nil {
			return fmt.Errorf("read the output of the snapshot: %w", err)
		}
		sn.check = checkOf(p)
	}
	oldest, err := s.snaps.write(sn, func() error { return s.at(stepSnapshot) })
	if err != nil {
		return err
	}
	s.snaps.since = 0
	s.cfg.Logger.Debug("snapshot written", "output", sn.output, "bytes", len(state))
	if s.cfg.HoldBack {
		return s.moveTo(oldest)
	}
	return nil
}

// syncPositions makes the positions survive a power cut, so that they are not
// behind a snapshot.
func (s *Service) syncPositions() error {
	for _, in := range s.ins {
		if in.pos == nil {
			continue
		}
		if err := in.pos.Sync(); err != nil {
			return fmt.Errorf("sync the position on input %d: %w", in.ID, err)
		}
	}
	return nil
}
