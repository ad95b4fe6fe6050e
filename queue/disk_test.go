package queue

import (
	"errors"
	"testing"

	"github.com/pawl-go/pawl/queue/memfs"
)

var errDisk = errors.New("the disk says no")

// firstCycle is the content of the first cycle of the queue "q", to damage it.
func firstCycle(t testing.TB, fsys *memfs.FS) []byte {
	t.Helper()
	b := fsys.Bytes("q", cycleName(1))
	if b == nil {
		t.Fatal("there is no first cycle")
	}
	return b
}

// cutFirstCycle makes the first cycle of the queue "q" n bytes long.
func cutFirstCycle(fsys *memfs.FS, n int64) error {
	d, err := fsys.OpenDir("q", false)
	if err != nil {
		return err
	}
	f, err := d.Open(cycleName(1), true)
	if err != nil {
		return err
	}
	return f.Truncate(n)
}
