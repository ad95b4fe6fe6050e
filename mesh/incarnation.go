package mesh

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// nextIncarnation returns the number of this life of the node: the time in
// nanoseconds, or one more than the file's if the clock has gone back. The file is
// written before anybody hears of the number.
func nextIncarnation(file string, now time.Time) (uint64, error) {
	inc := uint64(max(now.UnixNano(), 1))
	if file == "" {
		return inc, nil
	}
	last, err := readIncarnation(file)
	if err != nil {
		return 0, err
	}
	inc = max(inc, last+1)
	if err := writeIncarnation(file, inc); err != nil {
		return 0, fmt.Errorf("keep incarnation in %s: %w", file, err)
	}
	return inc, nil
}

func readIncarnation(file string) (uint64, error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read incarnation: %w", err)
	}
	last, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("read incarnation: %s holds no number; remove it if the clock has not gone back: %w", file, err)
	}
	return last, nil
}

// writeIncarnation replaces the file, so that a crash leaves the old one or the new.
func writeIncarnation(file string, inc uint64) (err error) {
	f, err := os.CreateTemp(filepath.Dir(file), filepath.Base(file)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name()) // what failed is what counts
		}
	}()
	if _, err = fmt.Fprintln(f, inc); err == nil {
		err = f.Sync()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), file)
}
