package crash

import (
	"slices"
	"time"
)

// Recoveries returns the times of recovery that were seen, in rising order.
func (r *Result) Recoveries() []time.Duration {
	var all []time.Duration
	for _, k := range r.Kills {
		if k.Recovery > 0 {
			all = append(all, k.Recovery)
		}
	}
	slices.Sort(all)
	return all
}

// Quantile returns the q-quantile of sorted durations, 0 of none.
func Quantile(sorted []time.Duration, q float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[int(q*float64(len(sorted)-1))]
}

// InFlight sums the units that were in flight at the kills, and returns the
// least number at one of those that did not land while the program opened.
func (r *Result) InFlight() (sum, least int) {
	least = -1
	for _, k := range r.Kills {
		sum += k.InFlight
		if !k.Early && (least < 0 || k.InFlight < least) {
			least = k.InFlight
		}
	}
	return sum, max(least, 0)
}
