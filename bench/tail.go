package bench

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/pawl-go/pawl/bench/measure"
	"github.com/pawl-go/pawl/bench/rounds"
	"github.com/pawl-go/pawl/queue"
)

// tailPace is the time between two messages that another process waits for.
const tailPace = 20 * time.Microsecond

// tailing measures how long after its append begins a message is seen by a tailer in
// another process, which waits for each; beside a pipe. The clock is that of the
// machine.
func (o *QueueOptions) tailing(dir string) rounds.Job {
	return rounds.Job{Name: "tail", Sides: []rounds.Side{
		{Name: "another process", Do: func(ctx context.Context) (rounds.Figure, error) {
			dir, err := os.MkdirTemp(dir, "tail-")
			if err != nil {
				return rounds.Figure{}, err
			}
			defer func() { _ = os.RemoveAll(dir) }() // a temporary directory
			q, err := queue.Open(filepath.Join(dir, "q"), quietQueue())
			if err != nil {
				return rounds.Figure{}, err
			}
			defer q.Close()
			return o.tail(ctx, q.Dir(), func(io.Writer) func([]byte) error {
				return func(m []byte) error {
					_, err := q.Append(m)
					return err
				}
			})
		}},
		{Name: "a pipe", Do: func(ctx context.Context) (rounds.Figure, error) {
			return o.tail(ctx, "", func(in io.Writer) func([]byte) error {
				return func(m []byte) error {
					_, err := in.Write(m)
					return err
				}
			})
		}},
	}}
}

// tail sends stamps to a process for a while, and then a zero, which ends it.
func (o *QueueOptions) tail(ctx context.Context, dir string, sender func(in io.Writer) func([]byte) error) (f rounds.Figure, err error) {
	var in io.Writer
	child, err := Starter(func(ctx context.Context, argument string) *exec.Cmd {
		cmd := o.Start(ctx, argument)
		in, err = cmd.StdinPipe()
		return cmd
	}).start(ctx, job{Do: "tail", Dir: dir})
	if err != nil {
		return f, err
	}
	defer child.kill()
	if _, ok, err := child.next(); err != nil || !ok {
		return f, fmt.Errorf("the other process does not begin: %w", err)
	}
	send := sender(in)
	for begun, next := time.Now(), time.Now(); next.Sub(begun) < o.Duration; next = next.Add(tailPace) {
		for time.Now().Before(next) { // a sleep is longer than that
		}
		if err := send(binary.LittleEndian.AppendUint64(nil, uint64(time.Now().UnixNano()))); err != nil {
			return f, err
		}
	}
	if err := send(make([]byte, 8)); err != nil {
		return f, err
	}
	l, ok, err := child.next()
	if err != nil || !ok || l.Seen == nil {
		return f, fmt.Errorf("the other process does not say what it saw: %w", err)
	}
	return *l.Seen, nil
}

// tail is the other process.
func (j *job) tail(ctx context.Context, say func(line)) error {
	next := stamps(os.Stdin)
	if j.Dir != "" {
		q, err := queue.OpenReader(j.Dir, quietQueue())
		if err != nil {
			return err
		}
		defer q.Close()
		t := q.NewTailer(0)
		defer t.Close()
		next = func() ([]byte, error) {
			_, m, err := t.Next(ctx)
			return m, err
		}
	}
	say(line{Ready: true})
	h := measure.NewHistogram()
	f := rounds.Figure{}
	for {
		m, err := next()
		if err != nil {
			return err
		}
		stamp := int64(binary.LittleEndian.Uint64(m))
		if stamp == 0 {
			break
		}
		_ = h.RecordValue(max(time.Now().UnixNano()-stamp, 0)) // over a minute: beyond the scale
		f.Ops++
	}
	f.P50, f.P99 = measure.Micros(h, 50), measure.Micros(h, 99)
	say(line{Seen: &f})
	return nil
}

// stamps reads messages of eight bytes.
func stamps(r io.Reader) func() ([]byte, error) {
	in, m := bufio.NewReader(r), make([]byte, 8)
	return func() ([]byte, error) {
		_, err := io.ReadFull(in, m)
		return m, err
	}
}
