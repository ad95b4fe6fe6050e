package replica

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"strings"
	"sync"

	"github.com/pawl-go/pawl/queue"
	"github.com/pawl-go/pawl/queue/replica/core"
)

const (
	promisesName = "replica.promises"
	newSuffix    = ".new"
)

// promises is the file of what a host has promised for a queue. It is no hint: a
// host that has lost it promises nothing before it has caught up.
//
//	check of the rest, 8 hexadecimal digits │ space │ JSON │ newline
type promises struct {
	dir  queue.Dir
	host HostID
	boot string // of the machine, now
	mu   struct {
		sync.Mutex
		hard  core.Hard // as it was written last
		doubt bool      // whether the queue has all that it had
	}
}

type promisesFile struct {
	Host HostID    `json:"host"` // whose promises these are; 0: of a file that does not say
	Hard core.Hard `json:"hard"`
	Boot string    `json:"boot"` // when it was written
}

// load reads the file. When it is missing or does not check, the host is Lost. The
// second result says whether the machine has not gone down since it was written.
func (p *promises) load() (core.Hard, bool, error) {
	b, err := readAll(p.dir, promisesName)
	if errors.Is(err, fs.ErrNotExist) {
		return core.Hard{Trust: core.Lost}, false, nil
	}
	if err != nil {
		return core.Hard{}, false, fmt.Errorf("read promises: %w", err)
	}
	f, ok := decodePromises(b)
	if !ok {
		return core.Hard{Trust: core.Lost}, false, nil
	}
	if f.Host != 0 && f.Host != p.host {
		return core.Hard{}, false, &ForeignError{Host: f.Host, Self: p.host}
	}
	p.mu.hard = f.Hard
	return f.Hard, p.boot != "" && f.Boot == p.boot, nil
}

func decodePromises(b []byte) (promisesFile, bool) {
	var f promisesFile
	body, ok := uncheck(bytes.TrimSuffix(b, []byte("\n")))
	ok = ok && json.Unmarshal(body, &f) == nil
	return f, ok
}

// store replaces the file, and returns when that is on the disk.
func (p *promises) store(h core.Hard) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.hard = h
	return p.write()
}

// doubt says that from here on, or not any more, a death of this process may cost
// entries that were acknowledged. The host that starts behind such a one is not
// trusted before it has caught up.
func (p *promises) doubt(doubt bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.doubt = doubt
	return p.write()
}

// write writes the file. mu is held.
func (p *promises) write() error {
	f := promisesFile{Host: p.host, Hard: p.mu.hard, Boot: p.boot}
	if p.mu.doubt {
		f.Boot = ""
	}
	body, err := json.Marshal(f)
	if err == nil {
		err = replaceFile(p.dir, promisesName, append(check(body), '\n'))
	}
	if err != nil {
		return fmt.Errorf("write promises: %w", err)
	}
	return nil
}

// check puts a checksum before a line.
func check(body []byte) []byte {
	return fmt.Appendf(nil, "%08x %s", crc32.Checksum(body, castagnoli), body)
}

// uncheck is the inverse.
func uncheck(line []byte) ([]byte, bool) {
	sum, body, ok := bytes.Cut(line, []byte(" "))
	return body, ok && string(sum) == fmt.Sprintf("%08x", crc32.Checksum(body, castagnoli))
}

func readAll(dir queue.Dir, name string) ([]byte, error) {
	f, err := dir.Open(name, false)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	b := make([]byte, size)
	if n, err := f.ReadAt(b, 0); n < len(b) {
		return nil, err
	}
	return b, nil
}

// replaceFile writes a new file, flushes it and gives it the name.
func replaceFile(dir queue.Dir, name string, b []byte) error {
	if err := dir.Remove(name + newSuffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := dir.Create(name + newSuffix)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(b, 0)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := dir.Rename(name+newSuffix, name); err != nil {
		return err
	}
	return dir.Sync()
}

// bootID names this run of the machine's system; empty when that is not known.
func bootID() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}
