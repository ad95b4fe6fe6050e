package flights

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"

	"github.com/pawl-go/pawl"
	"github.com/pawl-go/pawl/examples/internal/crash"
)

// speed is how many miles a flight makes in a millisecond, so that at a rate of
// departures some twenty are in the air at any time: at 800 a second, one across
// the country takes a tenth of a second.
func speed(rate int) int {
	if rate == 0 {
		return 100
	}
	return max(rate/30, 1)
}

// withoutKeys is the variant of a job that makes a mistake, for a test that
// wants to see it found: flights are submitted again without idempotency keys.
const withoutKeys = "without keys"

// Flights are named by their place in the file, from 1.
func flightNumber(unit int) pawl.Ref[*Flight] {
	return pawl.Actor[*Flight](strconv.Itoa(unit + 1))
}

func unitOf(flight pawl.Ref[*Flight]) int {
	n, err := strconv.Atoi(flight.ID)
	if err != nil {
		return -1
	}
	return n - 1
}

// open opens the airline on an engine, and starts it.
func open(ctx context.Context, engine string, tower *Tower, logger *slog.Logger) (*pawl.App, error) {
	app, err := pawl.Open(ctx, engine, pawl.Config{App: "airline", Logger: logger})
	if err != nil {
		return nil, fmt.Errorf("open airline: %w", err)
	}
	// A flight that dies with the program 16 times would be parked, as one that
	// is likely to be the reason. Here the reason is known.
	pawl.RegisterFunc(app, func(string) *Flight { return &Flight{tower: tower} },
		pawl.ReadOnly((*Flight).Log), pawl.MaxAttempts(10_000))
	pawl.Register[Airport](app, pawl.ReadOnly((*Airport).Board))
	if err := app.Start(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("start airline: %w", err), app.Close())
	}
	return app, nil
}

// Child is the airline as a child of a crash run. A unit is a flight.
func Child(ctx context.Context, job crash.Job, report *crash.Reporter) error {
	plans, err := Schedule()
	if err != nil {
		return err
	}
	tower := &Tower{MilesPerMillisecond: speed(job.Rate), Attempt: func(ctx context.Context, flight pawl.Ref[*Flight]) {
		if pawl.Attempt(ctx) > 1 {
			report.Again(unitOf(flight))
		}
	}}
	app, err := open(ctx, job.Engine(), tower, slog.Default())
	if err != nil {
		return err
	}
	report.Ready()
	err = job.Dispatch(app.Context(ctx), report, func(ctx context.Context, unit int) error {
		flight := flightNumber(unit)
		// The key makes it harmless to submit a flight again after a crash.
		key := []pawl.CallOption{pawl.Key("flight-" + flight.ID)}
		if job.Variant == withoutKeys {
			key = nil
		}
		_, err := pawl.Call(ctx, flight, (*Flight).Depart, plans[unit], key...)
		return err
	})
	return errors.Join(err, app.Close())
}

// Run flies the first so many flights of the file in a child process that is
// killed as r says. The job's App, Units and Window are set here.
func Run(ctx context.Context, r crash.Run, flights int) (*crash.Result, error) {
	r.Job.App, r.Job.Units, r.Job.Window = "airline", flights, 256
	return r.Do(ctx)
}
