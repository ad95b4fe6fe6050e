// Package messages measures messaging: jobs that any system does which sends messages
// to actors here and in another process ([System]), package mesh ([Pawl],
// [PawlNotQuick]), and bare ones that show what the machine can do ([Channel], [TCP]).
// The jobs are those of the mesh's table in the design's page on benchmarks:
//
//	local-tell     one sender, bursts to an actor of this process; what counts is the processor
//	local-ask      one caller, one question after the other, in this process
//	remote-tell    as local-tell, to an actor of another process over loopback
//	remote-ask     as local-ask, over loopback
//	remote-ask-64  64 callers
//	behind-large   one question to one actor, right behind 3 MiB that another one is told
//	with-large     the same, with the clock running since before the 3 MiB are told
//
// A message has 64 bytes, and a reply as many. A tell may return before anything has
// left: a system that encodes or copies meanwhile has done that work when the clock of
// behind-large starts, and one that leaves it to a goroutine has not. Therefore with-large
// stands beside it, and what both count are whole turns, until the 3 MiB have been handled.
//
// Each system has the process of its own that its messages go to. Processor time is
// that of this process and that one together.
package messages

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"os/exec"
	"time"

	"github.com/pawl-go/pawl/bench/rounds"
)

// Size is that of a message, and of a reply, in bytes.
const Size = 64

// Place is where an actor is.
type Place int

// The places. Each has an actor that counts what it is told and answers a question:
// with the count if its first byte is [AskCount], else with the question.
const (
	Here  Place = iota // in this process
	There              // in the other
	Large              // in the other too; it is told what is large
)

// AskCount is the first byte of a question for the count, eight bytes in little endian.
const AskCount = 1

// Answer is what an actor answers that has been told so many messages.
func Answer(question []byte, told uint64) []byte {
	if len(question) > 0 && question[0] == AskCount {
		return binary.LittleEndian.AppendUint64(nil, told)
	}
	return question
}

// System is what is measured.
type System struct {
	Name string
	// Serve starts its actors in the other process; nil: it has none there.
	Serve func() (*Server, error)
	// Open starts its actors in this process; addr is where the others are.
	Open func(ctx context.Context, addr string) (*Client, error)
}

// Server is a system in the other process.
type Server struct {
	Addr  string
	Close func()
}

// Client is a system in this process: its actors by their place, nil where it has none.
type Client struct {
	Actors [Large + 1]*Actor
	Close  func()

	cpu func() time.Duration // of its other process so far
}

// Actor is one of a system's, seen from this process.
type Actor struct {
	Tell func(m []byte) error           // has one user
	Ask  func(m []byte) ([]byte, error) // has many
}

// Options are the options of Run. All but Progress are required.
type Options struct {
	// Start makes the command of the other process of a system: one that calls [Serve]
	// with its standard input and output.
	Start    func(ctx context.Context, system string) *exec.Cmd
	Rounds   int           // of which each figure is the median
	Duration time.Duration // of a round of a job
	// Progress is told what is measured now and how far it is, from 0 to 1.
	Progress func(what string, done float64, ops int64)
}

// Run does all jobs with all systems, the first of which is held against the rest.
func Run(ctx context.Context, systems []System, o Options) (*rounds.Report, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	clients := make([]*Client, len(systems))
	for i, s := range systems {
		c, err := s.open(ctx, o.Start)
		if err != nil {
			return nil, fmt.Errorf("open %s: %w", s.Name, err)
		}
		defer c.Close()
		clients[i] = c
	}
	return rounds.Run(ctx, fmt.Sprintf("messages of %d bytes", Size), turns(systems, clients, o.Duration), o.Rounds, o.Progress)
}

// turns are all jobs, each with the systems that have actors where it needs them.
func turns(systems []System, clients []*Client, d time.Duration) (all []rounds.Job) {
	for _, j := range jobs {
		job := rounds.Job{Name: j.name}
		for i, c := range clients {
			if !c.has(j.needs) {
				continue
			}
			job.Sides = append(job.Sides, rounds.Side{Name: systems[i].Name, Do: func(ctx context.Context) (rounds.Figure, error) {
				return j.do(ctx, c, d)
			}})
		}
		if len(job.Sides) > 0 {
			all = append(all, job)
		}
	}
	return all
}

func (c *Client) has(places []Place) bool {
	for _, p := range places {
		if c.Actors[p] == nil {
			return false
		}
	}
	return true
}

// Serve is the other process of the system of that name, until in ends.
func Serve(systems []System, name string, in io.Reader, out io.Writer) error {
	for _, s := range systems {
		if s.Name == name && s.Serve != nil {
			return s.serve(in, out)
		}
	}
	return fmt.Errorf("no system %q with actors in another process", name)
}
