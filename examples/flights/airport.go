package flights

import (
	"context"

	"github.com/pawl-go/pawl"
)

// Board is what an airport has counted.
type Board struct {
	Departures int `json:"departures"`
	Arrivals   int `json:"arrivals"`
	Slots      int `json:"slots"` // arrivals cleared
	Delay      int `json:"delay"` // minutes, of the arrivals
	Miles      int `json:"miles"` // of the arrivals
}

// Airport is one airport, named by its code.
type Airport struct {
	departures, arrivals, slots pawl.Value[int]
	delay, miles                pawl.Value[int]
}

// Arrival is a flight that comes down.
type Arrival struct {
	Flight pawl.Ref[*Flight] `json:"flight"`
	Miles  int               `json:"miles"`
	Delay  int               `json:"delay"`
}

// Departed counts a departure and sends the flight on its way.
func (a *Airport) Departed(ctx context.Context, flight pawl.Ref[*Flight]) (Log, error) {
	add(ctx, &a.departures, 1)
	return pawl.TailCall(ctx, flight, (*Flight).Fly, pawl.None{})
}

// Clear gives a slot to a flight under way here. It is not idempotent: who asks
// twice gets two.
func (a *Airport) Clear(ctx context.Context, _ pawl.None) (int, error) {
	return add(ctx, &a.slots, 1), nil
}

// Arrived counts an arrival and lets the flight end.
func (a *Airport) Arrived(ctx context.Context, in Arrival) (Log, error) {
	add(ctx, &a.arrivals, 1)
	add(ctx, &a.delay, in.Delay)
	add(ctx, &a.miles, in.Miles)
	return pawl.TailCall(ctx, in.Flight, (*Flight).Done, pawl.None{})
}

// Board returns what the airport has counted.
func (a *Airport) Board(ctx context.Context, _ pawl.None) (Board, error) {
	return Board{
		Departures: a.departures.Get(ctx),
		Arrivals:   a.arrivals.Get(ctx),
		Slots:      a.slots.Get(ctx),
		Delay:      a.delay.Get(ctx),
		Miles:      a.miles.Get(ctx),
	}, nil
}

func add(ctx context.Context, cell *pawl.Value[int], n int) int {
	return cell.Update(ctx, func(old int) int { return old + n })
}
