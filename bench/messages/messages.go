// Package messages measures messaging: jobs that any system does which sends
// messages to actors here and in another process ([System]), bare ones that show
// what the machine can do ([Channel], [TCP]), and the [Report] of a run. The jobs
// are those of the mesh's table in the design's page on benchmarks:
//
//	local-tell   one sender, bursts to an actor of this process; what counts is the processor
//	local-ask    one caller, one question after the other, in this process
//	remote-tell  as local-tell, to an actor of another process over loopback
//	remote-ask   as local-ask, over loopback
//	remote-ask-64  64 callers
//	behind-large one question to one actor, right behind 3 MiB to another
//
// A message has 64 bytes, and a reply as many. Processor time is that of both
// processes together.
package messages

import (
	"context"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/pawl-go/pawl/bench/measure"
)

// Size is that of a message, and of a reply, in bytes.
const Size = 64

// large is what a question waits behind.
const large = 3 << 20

// burst is how many messages are told before the teller waits until they have been
// handled: no system may pile them up, or refuse them.
const burst = 50_000

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

// System is what is measured. Where it does not have a place, it has no function.
type System interface {
	Name() string
	// Teller returns how to tell an actor, and Asker how to ask one; nil: not at all.
	// What an Asker returns is used at once, if it is. Tellers have one user, Askers many.
	Teller(p Place) func(m []byte) error
	Asker(p Place) func(m []byte) ([]byte, error)
	// CPU is the processor time of the other process so far.
	CPU() time.Duration
}

// Figure is what one job took. What it does not measure is zero.
type Figure struct {
	Job      string  `json:"job"`
	System   string  `json:"system"`
	Ops      int64   `json:"ops"`
	OpsPerS  float64 `json:"ops_per_s"`
	P50      float64 `json:"p50_us,omitempty"`
	P99      float64 `json:"p99_us,omitempty"`
	CPUPerOp float64 `json:"cpu_us_per_op"` // both processes
}

// The jobs, in the order in which they are done.
var jobs = []struct {
	name string
	do   func(ctx context.Context, s System, d time.Duration) (Figure, error)
}{
	{"local-tell", tell(Here)},
	{"local-ask", ask(Here, 1)},
	{"remote-tell", tell(There)},
	{"remote-ask", ask(There, 1)},
	{"remote-ask-64", ask(There, 64)},
	{"behind-large", behind},
}

// Run does all jobs with all systems, each job with one system after the other, so
// that they share the minute. d is how long each takes.
func Run(ctx context.Context, systems []System, d time.Duration, progress func(what string, done float64, ops int64)) (*Report, error) {
	r := newReport()
	for i, job := range jobs {
		for k, s := range systems {
			progress(job.name+", "+s.Name(), float64(i*len(systems)+k)/float64(len(jobs)*len(systems)), 0)
			f, err := job.do(ctx, s, d)
			if err != nil {
				return nil, fmt.Errorf("%s with %s: %w", job.name, s.Name(), err)
			}
			if f.Ops > 0 {
				f.Job, f.System = job.name, s.Name()
				r.Figures = append(r.Figures, f)
			}
		}
	}
	r.finish()
	return r, nil
}

func tell(p Place) func(context.Context, System, time.Duration) (Figure, error) {
	return func(ctx context.Context, s System, d time.Duration) (f Figure, err error) {
		send, question := s.Teller(p), s.Asker(p)
		if send == nil || question == nil {
			return f, nil
		}
		before, err := count(question)
		if err != nil {
			return f, err
		}
		if err := bursts(ctx, send, question, &before, d/10, nil); err != nil { // warm
			return f, err
		}
		begun, cpu := time.Now(), measure.CPU()+s.CPU()
		if err := bursts(ctx, send, question, &before, d, &f.Ops); err != nil {
			return f, err
		}
		took, spent := time.Since(begun), measure.CPU()+s.CPU()-cpu
		f.OpsPerS = float64(f.Ops) / took.Seconds()
		f.CPUPerOp = spent.Seconds() * 1e6 / float64(f.Ops)
		return f, nil
	}
}

// bursts tells for d, and checks that all of it has been handled. handled is the
// actor's count.
func bursts(ctx context.Context, send func([]byte) error, question func([]byte) ([]byte, error), handled *uint64, d time.Duration, ops *int64) error {
	m := make([]byte, Size)
	for end := time.Now().Add(d); ctx.Err() == nil; {
		for range burst {
			if err := send(m); err != nil {
				return err
			}
		}
		now, err := count(question)
		if err != nil {
			return err
		}
		if now != *handled+burst {
			return fmt.Errorf("of %d messages %d were handled", burst, now-*handled)
		}
		*handled = now
		if ops != nil {
			*ops += burst
		}
		if time.Now().After(end) {
			return nil
		}
	}
	return ctx.Err()
}

// count asks how many messages an actor has been told. The question comes behind them.
func count(question func([]byte) ([]byte, error)) (uint64, error) {
	m := make([]byte, Size)
	m[0] = AskCount
	answer, err := question(m)
	if err != nil {
		return 0, err
	}
	if len(answer) < 8 {
		return 0, fmt.Errorf("an answer of %d bytes to a question for the count", len(answer))
	}
	return binary.LittleEndian.Uint64(answer), nil
}

// Answer is what an actor answers.
func Answer(question []byte, told uint64) []byte {
	if len(question) > 0 && question[0] == AskCount {
		return binary.LittleEndian.AppendUint64(nil, told)
	}
	return question
}

func ask(p Place, callers int) func(context.Context, System, time.Duration) (Figure, error) {
	return func(ctx context.Context, s System, d time.Duration) (f Figure, err error) {
		question := s.Asker(p)
		if question == nil {
			return f, nil
		}
		m := make([]byte, Size)
		r, err := measure.Load{Clients: callers, Duration: d, CPU: s.CPU}.Run(ctx, func(int, int) error {
			answer, err := question(m)
			if err == nil && len(answer) != Size {
				err = fmt.Errorf("an answer of %d bytes", len(answer))
			}
			return err
		})
		if err != nil {
			return f, err
		}
		return figure(r), nil
	}
}

// behind tells one actor what is large, and asks another at once.
func behind(ctx context.Context, s System, d time.Duration) (f Figure, err error) {
	send, landed, question := s.Teller(Large), s.Asker(Large), s.Asker(There)
	if send == nil || question == nil || landed == nil {
		return f, nil
	}
	big, m, r := make([]byte, large), make([]byte, Size), &measure.Result{Latencies: measure.NewHistogram()}
	before := measure.CPU() + s.CPU()
	for end := time.Now().Add(d); time.Now().Before(end) && ctx.Err() == nil; r.Ops++ {
		if err := send(big); err != nil {
			return f, err
		}
		begun := time.Now()
		if _, err := question(m); err != nil {
			return f, err
		}
		took := time.Since(begun)
		r.Took += took
		_ = r.Latencies.RecordValue(int64(took)) // over a minute: beyond the scale
		if _, err := count(landed); err != nil { // all of it is there before the next
			return f, err
		}
	}
	r.CPU = measure.CPU() + s.CPU() - before
	return figure(r), ctx.Err()
}

func figure(r *measure.Result) (f Figure) {
	f.Ops = r.Ops
	f.OpsPerS = float64(r.Ops) / r.Took.Seconds()
	f.P50, f.P99 = measure.Micros(r.Latencies, 50), measure.Micros(r.Latencies, 99)
	f.CPUPerOp = r.CPU.Seconds() * 1e6 / float64(max(r.Ops, 1))
	return f
}
