package replica

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/pawl-go/pawl/queue"
)

// ErrNoReplica is wrapped when a directory is not that of a replicated queue.
var ErrNoReplica = errors.New("there is no copy of a replicated queue")

// PutAside takes a damaged copy of a queue out of the way, with all its files: dir is
// renamed to the name that is returned, beside it, and the host copies everything anew
// from the others when it starts. Until then it promises nothing. The host must be
// stopped: a queue that is open for appending is an error. When there is no damage and
// always is false, nothing is changed and the name is empty. It works on the file system
// of the operating system only.
func PutAside(dir string, always bool, o queue.CheckOptions) (string, queue.Report, error) {
	fail := func(r queue.Report, err error) (string, queue.Report, error) {
		return "", r, fmt.Errorf("put the copy in %s aside: %w", dir, err)
	}
	dir = filepath.Clean(dir)
	if _, err := os.Stat(filepath.Join(dir, promisesName)); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%w: it has no file %s", ErrNoReplica, promisesName)
		}
		return fail(queue.Report{}, err)
	}
	r, err := queue.Verify(dir, o)
	switch {
	case err != nil:
		return fail(r, err)
	case r.Appending:
		return fail(r, fmt.Errorf("process %d on %s (%s) has it open: stop the host first", r.Holder.PID, r.Holder.Host, r.Holder.Command))
	case !r.Damaged() && !always:
		return "", r, nil
	}
	now := o.Now
	if now == nil {
		now = time.Now
	}
	aside := dir + ".aside-" + strings.ReplaceAll(now().UTC().Format("20060102T150405.000"), ".", "-")
	if _, err := os.Lstat(aside); !errors.Is(err, fs.ErrNotExist) {
		return fail(r, errors.Join(fmt.Errorf("%s is there already", aside), err))
	}
	if err := os.Rename(dir, aside); err != nil {
		return fail(r, err)
	}
	return aside, r, nil
}
