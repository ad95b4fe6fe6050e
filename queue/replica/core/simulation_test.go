package core

import (
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"
)

// The strategies of the simulation. The last is the one that falls back to a flush.
var simStrategies = []Strategy{Any(), Majority(), All(), Unbounded(), MaxGap(Limit{Messages: 3}), Any().OrFlush(0)}

func TestSimulation(t *testing.T) {
	first, seeds := simSeeds(t)
	for _, n := range []int{2, 3, 5} {
		for k, st := range simStrategies {
			for _, flush := range []bool{false, true} {
				t.Run(fmt.Sprintf("hosts=%d/%d.%v/flush=%v", n, k, st, flush), func(t *testing.T) {
					for k := range seeds {
						newSim(t, first+k, simOptions{hosts: n, strategy: st, flush: flush, steps: 3000}).run()
					}
				})
			}
		}
	}
}

// Without acknowledgements, with a function of one's own, and with take-overs by
// force, where what counted may be lost but the hosts must agree in the end.
func TestSimulationOtherwise(t *testing.T) {
	first, seeds := simSeeds(t)
	custom := Custom(2, func(t Table) bool { return t.Gap > 2 })
	for name, o := range map[string]simOptions{
		"no acknowledgements": {noAcks: true},
		"custom":              {strategy: custom},
		"or fail":             {strategy: All().OrFail(0)},
		"max gap or flush":    {strategy: MaxGap(Limit{Bytes: 30, Age: time.Second}).OrFlush(time.Second), flush: true},
		"by force":            {strategy: Majority(), forces: true},
		"single, by force":    {strategy: Any().OrFlush(0), forces: true},
	} {
		t.Run(name, func(t *testing.T) {
			for k := range seeds {
				o.hosts, o.steps = 2+int((first+k)%3), 3000
				newSim(t, first+k, o).run()
			}
		})
	}
}

// simSeeds is which seeds to run: PAWL_SEED and PAWL_SEEDS say so.
func simSeeds(t *testing.T) (first, n uint64) {
	n = 20
	for name, v := range map[string]*uint64{"PAWL_SEED": &first, "PAWL_SEEDS": &n} {
		if text := os.Getenv(name); text != "" {
			x, err := strconv.ParseUint(text, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			*v = x
		}
	}
	return first, n
}
