package local

import (
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/queue"
)

// settings are what the URL and the application ask for.
type settings struct {
	engine.Options
	dir             string // absolute
	durability      queue.Durability
	checkpointBytes int64         // of journal between two checkpoints
	cycleBytes      int64         // of a cycle of the journal
	retain          time.Duration // ended invocations are kept for so long,
	retainBytes     int64         // or up to so many bytes of journal

	copies copies // of the journal on other hosts

	disk Disk

	traceFile string // absolute; "": none

	inject func(errorfs.Op) error // for tests: what the disk does to the store
}

// parameters are those that a URL may have, with how each is read.
var parameters = map[string]func(s *settings, v string) error{
	"durability": func(s *settings, v string) error {
		switch v {
		case "process":
			s.durability = queue.Process
		case "disk":
			s.durability = queue.Disk
		case "replicated":
			s.durability, s.copies.on = queue.Disk, true
		default:
			return fmt.Errorf("%q is not one of process, disk, replicated", v)
		}
		return nil
	},
	"checkpoint": func(s *settings, v string) (err error) {
		s.checkpointBytes, err = parseBytes(v, 4<<10, 1<<40)
		return err
	},
	"cycle": func(s *settings, v string) (err error) {
		s.cycleBytes, err = parseBytes(v, queue.MinCycleBytes, queue.MaxCycleBytes)
		if err == nil && s.cycleBytes%4096 != 0 {
			err = fmt.Errorf("%q is not a multiple of 4KiB", v)
		}
		return err
	},
	"retain": func(s *settings, v string) (err error) {
		if s.retain, err = time.ParseDuration(v); err == nil && s.retain < 0 {
			err = fmt.Errorf("%q is negative", v)
		}
		return err
	},
	"retain_bytes": func(s *settings, v string) (err error) {
		s.retainBytes, err = parseBytes(v, 0, 1<<60)
		return err
	},
	"replication": func(s *settings, v string) (err error) {
		if v == "" {
			return errors.New("no file is named")
		}
		s.copies.file, err = filepath.Abs(v)
		return err
	},
	"host":  func(s *settings, v string) error { s.copies.host = v; return nil },
	"queue": func(s *settings, v string) error { s.copies.queue = v; return nil },
	"standby": func(s *settings, v string) error {
		if v != "wait" && v != "refuse" {
			return fmt.Errorf("%q is not one of wait, refuse", v)
		}
		s.copies.standby = v
		return nil
	},
	"trace": func(s *settings, v string) (err error) {
		if v == "" {
			return errors.New("no file is named")
		}
		s.traceFile, err = filepath.Abs(v)
		return err
	},
}

// parseURL reads local:DIR?parameters, and refuses what it does not know.
func parseURL(u *url.URL, o engine.Options) (*settings, error) {
	s := &settings{
		Options:         o,
		durability:      queue.Disk,
		checkpointBytes: 32 << 20, // opening reads back so much: about a quarter of a second
		cycleBytes:      32 << 20, // mapped while written; holds the largest outcome, 16 MiB
		retain:          10 * time.Minute,
		retainBytes:     1 << 30,
		disk:            osDisk(),
	}
	dir := u.Path
	if u.Opaque != "" {
		var err error
		if dir, err = url.PathUnescape(u.Opaque); err != nil {
			return nil, fmt.Errorf("read directory: %w", err)
		}
	}
	switch {
	case dir == "":
		return nil, fmt.Errorf("no directory is named: write local:./data")
	case u.Host != "" || u.User != nil || u.Fragment != "":
		return nil, fmt.Errorf("it names a host, a user or a fragment: write local:./data or local:/var/lib/data")
	}
	q, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return nil, fmt.Errorf("read parameters: %w", err)
	}
	for name, vs := range q {
		read := parameters[name]
		switch {
		case read == nil:
			return nil, fmt.Errorf("unknown parameter %q (there are: %s)", name, parameterNames())
		case len(vs) != 1:
			return nil, fmt.Errorf("parameter %q is given %d times", name, len(vs))
		}
		if err := read(s, vs[0]); err != nil {
			return nil, fmt.Errorf("parameter %q: %w", name, err)
		}
	}
	if s.dir, err = filepath.Abs(dir); err != nil {
		return nil, fmt.Errorf("find directory: %w", err)
	}
	return s, s.validate()
}

func parameterNames() string {
	var names []string
	for n := range parameters {
		names = append(names, n)
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// validate fills the defaults of the options and refuses what is out of range.
func (s *settings) validate() error {
	if s.App == "" {
		return fmt.Errorf("no application is named: set Options.App")
	}
	if err := s.copies.validate(); err != nil {
		return err
	}
	if s.Trace != nil && s.traceFile != "" {
		return fmt.Errorf("a trace is asked for twice: by Options.Trace and by the parameter \"trace\"")
	}
	if s.Logger == nil {
		s.Logger = slog.Default()
	}
	if s.Now == nil {
		s.Now = time.Now
	}
	for _, l := range []struct {
		name string
		v    *int
		def  int
	}{
		{"Mailbox", &s.Mailbox, 10_000},
		{"Pending", &s.Pending, 1_000_000},
	} {
		if *l.v == 0 {
			*l.v = l.def
		}
		if *l.v < 0 {
			return fmt.Errorf("option %s is %d, want at least 1", l.name, *l.v)
		}
	}
	if s.MissingTimeout == 0 {
		s.MissingTimeout = 2 * time.Minute
	}
	if s.MissingTimeout < 0 {
		return fmt.Errorf("option MissingTimeout is %v, want more than 0", s.MissingTimeout)
	}
	return nil
}

var byteUnits = []struct {
	suffix string
	factor int64
}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"B", 1}, {"", 1}}

// parseBytes reads "64MiB", "1GiB", "4096".
func parseBytes(v string, least, most int64) (int64, error) {
	for _, u := range byteUnits {
		if digits, ok := strings.CutSuffix(v, u.suffix); ok {
			n, err := strconv.ParseInt(digits, 10, 64)
			if err != nil || n < 0 || n > most/u.factor {
				return 0, fmt.Errorf("%q is not a size up to %d bytes: write 64MiB", v, most)
			}
			if n *= u.factor; n < least {
				return 0, fmt.Errorf("%q is below the least size, %d bytes", v, least)
			}
			return n, nil
		}
	}
	return 0, fmt.Errorf("%q is not a size: write 64MiB", v)
}
