package flights

import (
	_ "embed"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
)

//go:embed flights.csv
var file string

// header is the first line of the file.
const header = "departed,origin,destination,distance_miles,delay_minutes"

// Schedule returns the plans of all flights in the file, by line. The slice is
// shared: do not change it.
var Schedule = sync.OnceValues(func() ([]Plan, error) { return parse(file) })

// parse reads the flights of a file.
func parse(text string) ([]Plan, error) {
	r := csv.NewReader(strings.NewReader(text))
	r.ReuseRecord = true
	first, err := r.Read()
	if err != nil {
		return nil, fmt.Errorf("read flights: %w", err)
	}
	if got := strings.Join(first, ","); got != header {
		return nil, fmt.Errorf("read flights: header %q, want %q", got, header)
	}
	var plans []Plan
	for {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			return plans, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read flights: %w", err)
		}
		line, _ := r.FieldPos(0)
		p := Plan{Origin: strings.Clone(row[1]), Destination: strings.Clone(row[2])}
		if p.Miles, err = strconv.Atoi(row[3]); err != nil {
			return nil, fmt.Errorf("read flights: line %d: miles: %w", line, err)
		}
		if p.Delay, err = strconv.Atoi(row[4]); err != nil {
			return nil, fmt.Errorf("read flights: line %d: delay: %w", line, err)
		}
		plans = append(plans, p)
	}
}

// Expected adds up what each airport must have counted when the flights are
// done: straight from the plans, without any actor.
func Expected(plans []Plan) map[string]Board {
	boards := map[string]Board{}
	for _, p := range plans {
		from := boards[p.Origin]
		from.Departures++
		boards[p.Origin] = from

		to := boards[p.Destination]
		to.Arrivals++
		to.Slots++
		to.Delay += p.Delay
		to.Miles += p.Miles
		boards[p.Destination] = to
	}
	return boards
}
