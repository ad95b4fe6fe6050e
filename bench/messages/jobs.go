package messages

import (
	"context"
	"encoding/binary"
	"fmt"
	"runtime"
	"time"

	"github.com/pawl-go/pawl/bench/measure"
	"github.com/pawl-go/pawl/bench/rounds"
)

// large is what a question waits behind.
const large = 3 << 20

// burst is how many messages are told before the teller waits until they have been
// handled: no system may pile them up, or refuse them.
const burst = 50_000

// job is done by who has actors at the places that it needs.
type job struct {
	name  string
	needs []Place
	do    func(ctx context.Context, c *Client, d time.Duration) (rounds.Figure, error)
}

// The jobs, in the order in which they are done.
var jobs = []job{
	{"local-tell", []Place{Here}, tell(Here)},
	{"local-ask", []Place{Here}, ask(Here, 1)},
	{"remote-tell", []Place{There}, tell(There)},
	{"remote-ask", []Place{There}, ask(There, 1)},
	{"remote-ask-64", []Place{There}, ask(There, 64)},
	{"behind-large", []Place{There, Large}, behind(false)},
	{"with-large", []Place{There, Large}, behind(true)},
}

func tell(p Place) func(context.Context, *Client, time.Duration) (rounds.Figure, error) {
	return func(ctx context.Context, c *Client, d time.Duration) (f rounds.Figure, err error) {
		to := c.Actors[p]
		if _, err := to.bursts(ctx, d/10); err != nil { // warm
			return f, err
		}
		runtime.GC()
		begun, cpu := time.Now(), c.usage()
		if f.Ops, err = to.bursts(ctx, d); err != nil {
			return f, err
		}
		took, spent := time.Since(begun), c.usage()-cpu
		f.OpsPerS = float64(f.Ops) / took.Seconds()
		f.CPUPerOp = spent.Seconds() * 1e6 / float64(f.Ops)
		return f, nil
	}
}

// usage is the processor time of both processes so far.
func (c *Client) usage() time.Duration { return measure.CPU() + c.cpu() }

// bursts tells for d, and checks that all of it has been handled.
func (a *Actor) bursts(ctx context.Context, d time.Duration) (ops int64, err error) {
	handled, err := a.count()
	if err != nil {
		return 0, err
	}
	m := make([]byte, Size)
	for end := time.Now().Add(d); ops == 0 || time.Now().Before(end); ops += burst {
		if ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
		for range burst {
			if err := a.Tell(m); err != nil {
				return 0, err
			}
		}
		before := handled
		if handled, err = a.count(); err != nil {
			return 0, err
		}
		if handled != before+burst {
			return 0, fmt.Errorf("of %d messages %d were handled", burst, handled-before)
		}
	}
	return ops, nil
}

// count asks how many messages an actor has been told. The question comes behind them.
func (a *Actor) count() (uint64, error) {
	m := make([]byte, Size)
	m[0] = AskCount
	answer, err := a.Ask(m)
	if err != nil {
		return 0, err
	}
	if len(answer) < 8 {
		return 0, fmt.Errorf("an answer of %d bytes to a question for the count", len(answer))
	}
	return binary.LittleEndian.Uint64(answer), nil
}

// echo asks what is answered with the question.
func (a *Actor) echo(m []byte) error {
	answer, err := a.Ask(m)
	if err == nil && len(answer) != Size {
		err = fmt.Errorf("an answer of %d bytes", len(answer))
	}
	return err
}

func ask(p Place, callers int) func(context.Context, *Client, time.Duration) (rounds.Figure, error) {
	return func(ctx context.Context, c *Client, d time.Duration) (f rounds.Figure, err error) {
		m := make([]byte, Size)
		r, err := measure.Load{Clients: callers, Duration: d, CPU: c.cpu}.Run(ctx, func(int, int) error {
			return c.Actors[p].echo(m)
		})
		if err != nil {
			return f, err
		}
		return rounds.Of(r), nil
	}
}

// A round of what waits behind the large lasts longer than others, so that a
// percentile says something: until there are so many questions, or ten times as long.
const (
	enough   = 500
	patience = 10
)

// behind tells one actor what is large, and asks another at once. The clock of the
// question runs since before the tell if whole is true, else since it returned. Each
// turn ends when the large has been handled.
func behind(whole bool) func(context.Context, *Client, time.Duration) (rounds.Figure, error) {
	return func(ctx context.Context, c *Client, d time.Duration) (f rounds.Figure, err error) {
		big, m := make([]byte, large), make([]byte, Size)
		turn := func() (took time.Duration, err error) {
			begun := time.Now()
			if err := c.Actors[Large].Tell(big); err != nil {
				return 0, err
			}
			if !whole {
				begun = time.Now()
			}
			if err := c.Actors[There].echo(m); err != nil {
				return 0, err
			}
			took = time.Since(begun)
			_, err = c.Actors[Large].count()
			return took, err
		}
		if _, err := turn(); err != nil { // warm
			return f, err
		}
		runtime.GC()
		r := &measure.Result{Latencies: measure.NewHistogram()}
		cpu := c.usage()
		for begun := time.Now(); r.Took < d || r.Ops < enough && r.Took < patience*d; r.Took = time.Since(begun) {
			if ctx.Err() != nil {
				return f, context.Cause(ctx)
			}
			took, err := turn()
			if err != nil {
				return f, err
			}
			_ = r.Latencies.RecordValue(int64(took)) // over a minute: beyond the scale
			r.Ops++
		}
		r.CPU = c.usage() - cpu
		return rounds.Of(r), nil
	}
}
