package philosophers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"

	"github.com/pawl-go/pawl"
)

// guests are those who dine, in their order round the table.
var guests = []string{"Aristotle", "Hypatia", "Kant", "Plato", "Socrates"}

// Evening is a run of the example. All fields are required, but Kills.
type Evening struct {
	Dir   string // a new directory for the data; its path is short, since a socket is in it
	Pawl  string // path of the command pawl
	Meals int    // for each philosopher
	Kills int
	Hosts int // pairs of a runtime and node that host the actors
	Seed  uint64
	Out   io.Writer // is told of each kill
}

// Report says what has happened on an evening on which all was right.
type Report struct {
	Meals int // eaten in all
	Again int // that began again after a crash
	Kills int
}

// Run lays the table, kills while the philosophers dine, and returns an error that
// says what was wrong, if anything was. Nothing that it starts is left when it
// returns.
func (e *Evening) Run(ctx context.Context) (report Report, err error) {
	if e.Meals < 1 || e.Hosts < 1 || e.Kills < 0 || e.Kills >= e.Meals*len(guests) {
		return report, errors.New("there must be at least one meal and one host, and fewer kills than meals in all")
	}
	w := newWaiter()
	address, stop, err := serve(ctx, w)
	if err != nil {
		return report, err
	}
	defer stop()
	t := &table{dir: e.Dir, pawl: e.Pawl, waiter: address}
	defer t.clear()
	if err := t.lay(ctx, e.Hosts); err != nil {
		return report, err
	}
	app, err := pawl.Open(ctx, "pawl:"+t.data(), pawl.Config{App: appName, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, app.Close()) }()
	if err := app.Start(ctx); err != nil {
		return report, err
	}
	ctx, cancel := context.WithCancelCause(app.Context(ctx))
	defer cancel(nil)
	answers := make(chan error, len(guests))
	for i, g := range guests {
		go func() { answers <- dine(ctx, g, forksOf(i), e.Meals) }()
	}
	killed := make(chan error, 1)
	go func() {
		err := e.kill(ctx, w, t)
		if err != nil {
			cancel(err) // without hosts nobody answers
		}
		killed <- err
	}()
	for range guests {
		if answer := <-answers; answer != nil {
			err = errors.Join(err, answer)
			cancel(answer) // whoever waits for the forks of a lost dinner waits for ever
		}
	}
	if err = errors.Join(err, <-killed); err != nil {
		return report, err
	}
	return Report{Meals: e.Meals * len(guests), Again: w.repeats(), Kills: e.Kills}, judge(ctx, w, e.Meals)
}

// serve serves the waiter on a free port of loopback.
func serve(ctx context.Context, w *waiter) (address string, stop func(), err error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	server := &http.Server{Handler: w, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)}
	ended := make(chan struct{})
	go func() {
		_ = server.Serve(l) // until it is closed
		close(ended)
	}()
	return "http://" + l.Addr().String(), func() {
		_ = server.Close() // its clients have been killed
		<-ended
	}, nil
}

// forksOf names the two forks of a guest, the lower one first: so there is no
// circle in which everybody waits.
func forksOf(i int) [2]string {
	a, b := i, (i+1)%len(guests)
	return [2]string{strconv.Itoa(min(a, b)), strconv.Itoa(max(a, b))}
}

// kill kills a host so many times, each time after a few more meals, and starts it
// anew.
func (e *Evening) kill(ctx context.Context, w *waiter, t *table) error {
	r := rand.New(rand.NewPCG(e.Seed, 0))
	share := e.Meals * len(guests) / max(1, e.Kills)
	for k := range e.Kills {
		at := k*share + r.IntN(share)
		for meals, next := w.served(); meals < at; meals, next = w.served() {
			select {
			case <-next:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		seat, node := r.IntN(e.Hosts), r.IntN(2) == 0
		which, err := t.kill(ctx, seat, node)
		if err != nil {
			return err
		}
		meals, _ := w.served()
		fmt.Fprintf(e.Out, "kill -9 number %d of %d: %s, after %d meals\n", k+1, e.Kills, which, meals)
	}
	return nil
}
