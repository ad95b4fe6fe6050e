package replica_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pawl-go/pawl/queue/replica"
)

// A host whose directory is that of another one opens nothing, and changes nothing. As a
// copy, without the promises, it is taken, and caught up.
func TestFilesOfAnotherHostAreRefused(t *testing.T) {
	c := newCluster(t, 3, nil)
	c.openAll()
	c.awaitSource(1)
	c.awaitCopying(1, 2)
	c.awaitCopying(1, 3)
	c.same(c.append(1, "a"))
	c.close(3)
	c.close(2)
	if err := os.Rename(c.queueDir(3), c.queueDir(3)+".old"); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(c.queueDir(2), c.queueDir(3)); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(filepath.Join(c.queueDir(3), "replica.promises"))
	if err != nil {
		t.Fatal(err)
	}
	h, err := replica.Open(c.config(3))
	foreign, ok := errors.AsType[*replica.ForeignError](err)
	if !ok || foreign.Host != 2 || foreign.Self != 3 || !strings.Contains(err.Error(), "remove replica.promises") {
		t.Fatalf("opened with the files of another host: %v %v", h, err)
	}
	after, err := os.ReadFile(filepath.Join(c.queueDir(3), "replica.promises"))
	if err != nil || string(after) != string(before) {
		t.Errorf("the promises of the other host were changed to %q (%v)", after, err)
	}
	if err := os.Remove(filepath.Join(c.queueDir(3), "replica.promises")); err != nil {
		t.Fatal(err)
	}
	c.open(2, 3) // 2 has lost everything, 3 its promises
	c.awaitCopying(1, 3)
	c.awaitCopying(1, 2)
	c.same(c.append(1, "b"))
}
