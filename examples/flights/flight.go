package flights

import (
	"context"
	"time"

	"github.com/pawl-go/pawl"
)

// Plan is what is known of a flight before it departs.
type Plan struct {
	Origin      string `json:"origin"`
	Destination string `json:"destination"`
	Miles       int    `json:"miles"`
	Delay       int    `json:"delay"` // minutes; negative is early
}

// Log is what has become of a flight.
type Log struct {
	Landings int `json:"landings"`
	Slot     int `json:"slot"` // its number among the arrivals cleared at its destination
}

// Flight is one flight, named by its line in the file.
type Flight struct {
	plan pawl.Value[Plan]
	log  pawl.Value[Log]

	tower *Tower
}

// Tower is what flights in one process have in common: none of it is durable.
type Tower struct {
	MilesPerMillisecond int                                                 // how fast time passes; 0: flights take no time
	Attempt             func(ctx context.Context, flight pawl.Ref[*Flight]) // told of each attempt of Fly; may be nil
}

// Depart begins the flight: the origin counts it, and it goes on with Fly. What
// the caller gets is the outcome of the last step.
func (f *Flight) Depart(ctx context.Context, p Plan) (Log, error) {
	f.plan.Set(ctx, p)
	return pawl.TailCall(ctx, pawl.Actor[*Airport](p.Origin), (*Airport).Departed, pawl.Self(ctx, f))
}

// Fly asks the destination for a slot, and takes its time. If the program dies
// in the air, the flight is flown again, but keeps the slot: the call is made
// Once.
func (f *Flight) Fly(ctx context.Context, _ pawl.None) (Log, error) {
	self, plan := pawl.Self(ctx, f), f.plan.Get(ctx)
	if f.tower.Attempt != nil {
		f.tower.Attempt(ctx, self)
	}
	destination := pawl.Actor[*Airport](plan.Destination)
	slot, err := pawl.Call(ctx, destination, (*Airport).Clear, pawl.None{}, pawl.Once("slot"))
	if err != nil {
		return Log{}, err
	}
	if err := f.tower.fly(ctx, plan.Miles); err != nil {
		return Log{}, pawl.Retry(err)
	}
	f.log.Set(ctx, Log{Slot: slot})
	return pawl.TailCall(ctx, destination, (*Airport).Arrived, Arrival{Flight: self, Miles: plan.Miles, Delay: plan.Delay})
}

// Done ends the flight.
func (f *Flight) Done(ctx context.Context, _ pawl.None) (Log, error) {
	return f.log.Update(ctx, func(l Log) Log {
		l.Landings++
		return l
	}), nil
}

// Log returns what has become of the flight.
func (f *Flight) Log(ctx context.Context, _ pawl.None) (Log, error) {
	return f.log.Get(ctx), nil
}

// fly lets the time of a flight pass.
func (t *Tower) fly(ctx context.Context, miles int) error {
	if t.MilesPerMillisecond == 0 {
		return nil
	}
	air := time.NewTimer(time.Duration(miles) * time.Millisecond / time.Duration(t.MilesPerMillisecond))
	defer air.Stop()
	select {
	case <-air.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
