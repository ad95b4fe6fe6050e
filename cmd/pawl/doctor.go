package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/pawl-go/pawl/internal/v1"
)

// finding is what one check of the doctor says.
type finding struct {
	Check string `json:"check"`
	OK    bool   `json:"ok"`
	Says  string `json:"says"`
}

func (c *cli) doctorCommand() *cobra.Command {
	dir := standardData
	var listens []string
	cmd := &cobra.Command{Use: "doctor", Short: "Check the engine, the data directory, the disk and the clock", Args: args(0, 0)}
	cmd.Flags().StringVar(&dir, "data", standardData, "the data directory")
	cmd.Flags().StringArrayVar(&listens, "listen", nil, "HOST:PORT on which something is to listen: is it free, and who has it? Any number of times")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		found := c.examine(cmd.Context(), dir)
		for _, address := range listens {
			found = append(found, examinePort(cmd.Context(), address))
		}
		l := &list{head: []string{"CHECK", "STATUS", ""}}
		for _, f := range found {
			status, colour := "ok", green
			if !f.OK {
				status, colour = "found", red
			}
			l.add(f, f.Check, colour, f.Check, status, f.Says)
		}
		if err := c.show(l); err != nil {
			return err
		}
		bad := 0
		for _, f := range found {
			if !f.OK {
				bad++
			}
		}
		if bad > 0 {
			return &failure{exit: v1.ExitFound, text: fmt.Sprintf("%d of %d checks found something", bad, len(found))}
		}
		return nil
	}
	return cmd
}

func (c *cli) examine(ctx context.Context, dir string) []finding {
	out := []finding{{"version", true, version()}}
	out = append(out, c.examineEngine(ctx)...)
	out = append(out, examineClock(), examineFiles(openFiles()))
	return append(out, examineData(ctx, dir)...)
}

// examineEngine asks whoever answers for its own health.
func (c *cli) examineEngine(ctx context.Context) []finding {
	cl, err := c.connect(ctx)
	if err != nil {
		return []finding{{"engine", false, c.advice(err)}}
	}
	defer cl.Close()
	if err := cl.Ready(ctx, 5*time.Second); err != nil {
		return []finding{{"engine", false, cl.Engine() + ": " + c.advice(err)}}
	}
	out := []finding{{"engine", true, cl.Engine() + " is ready"}}
	all, err := cl.Components(ctx)
	if err != nil {
		return append(out, finding{"components", false, err.Error()})
	}
	out = append(out, examineVersion(v1.Version(), all.Version))
	st := all.Engine
	out = append(out, finding{
		"components", len(all.Items) > 0,
		fmt.Sprintf("%d, application %s, durability %s", len(all.Items), all.App, st.Durability),
	})
	says := "nothing waits for an operator"
	if st.Parked+st.Failed+st.Paused > 0 {
		says = fmt.Sprintf("%d parked, %d failed, %d actors paused: pawl invocations ls --status parked (or failed)", st.Parked, st.Failed, st.Paused)
	}
	out = append(out, finding{"operator", st.Parked+st.Failed == 0, says})
	types, err := cl.Types(ctx)
	if err != nil {
		return append(out, finding{"types", false, err.Error()})
	}
	var homeless []string
	for _, t := range types {
		if len(t.Hosts) == 0 {
			homeless = append(homeless, t.Name)
		}
	}
	if len(homeless) > 0 {
		slices.Sort(homeless)
		return append(out, finding{"types", false, fmt.Sprintf("nobody hosts %v: start a component that does", homeless)})
	}
	return append(out, finding{"types", true, fmt.Sprintf("%d, all hosted", len(types))})
}

// examineVersion compares the doctor's version with that of who answers.
func examineVersion(mine, its string) finding {
	switch its {
	case mine:
		return finding{"engine's version", true, "it is of this version"}
	case "":
		return finding{"engine's version", false, "it does not tell its version, so it is older than this doctor (" + mine + "): use the pawl of its version"}
	}
	return finding{"engine's version", false, fmt.Sprintf("it is of version %s, this doctor of %s: use the pawl of its version", its, mine)}
}

// advice is an error with what to do next.
func (c *cli) advice(err error) string {
	if _, next := c.meaning(err); next != "" {
		return err.Error() + "; " + next
	}
	return err.Error()
}

// earliest is a time that a clock which is set has passed.
var earliest = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func examineClock() finding {
	now := time.Now()
	if now.Before(earliest) {
		return finding{"clock", false, "it says " + now.Format(time.RFC3339) + ": reminders would be late; set it"}
	}
	return finding{"clock", true, now.Format(time.RFC3339)}
}

// slowFlush is what a disk should not need for one flush, on the median.
const slowFlush = 20 * time.Millisecond

// examineData looks at the data directory, if there is one, and its disk.
func examineData(ctx context.Context, dir string) []finding {
	fi, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return []finding{{"data", true, dir + " does not exist; it is made by the first start"}}
	case err != nil:
		return []finding{{"data", false, err.Error()}}
	case !fi.IsDir():
		return []finding{{"data", false, dir + " is not a directory"}}
	}
	out := []finding{{"data", true, dir}}
	if fi.Mode().Perm()&0o022 != 0 {
		out[0] = finding{"data", false, fmt.Sprintf("%s has mode %v: others may write it; chmod go-w", dir, fi.Mode().Perm())}
	}
	out = append(out, examineFileSystem(dir), examineSpace(freeSpace(dir)), examineInodes(inodes(dir)), examineTimes(dir, time.Now()))
	for _, name := range sockets {
		out = append(out, examineSocket(ctx, dir, name))
	}
	out = append(out, examineJournal(dir)...)
	d, err := flushTime(dir)
	if err != nil {
		return append(out, finding{"disk", false, err.Error()})
	}
	says := fmt.Sprintf("a flush takes %v (median of %d)", d.Round(time.Microsecond), flushes)
	if d >= slowFlush {
		says += fmt.Sprintf(", over %v: use a faster disk, or durability=process", slowFlush)
	}
	return append(out, finding{"disk", d < slowFlush, says})
}

const flushes = 21

// flushTime measures the flush of a small write on the disk of dir.
func flushTime(dir string) (_ time.Duration, err error) {
	f, err := os.CreateTemp(dir, ".doctor-*")
	if err != nil {
		return 0, fmt.Errorf("write in %s: %w", filepath.Clean(dir), err)
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(f.Name())) }()
	times := make([]time.Duration, flushes)
	for i := range times {
		begin := time.Now()
		if _, err := f.WriteAt(make([]byte, 512), 0); err != nil {
			return 0, err
		}
		if err := f.Sync(); err != nil {
			return 0, err
		}
		times[i] = time.Since(begin)
	}
	slices.Sort(times)
	return times[flushes/2], nil
}
