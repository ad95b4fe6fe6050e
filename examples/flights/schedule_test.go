package flights

import (
	"strings"
	"testing"
)

// The facts of README.md.
func TestScheduleHasTheFactsOfTheFile(t *testing.T) {
	plans, err := Schedule()
	if err != nil {
		t.Fatal(err)
	}
	var total Board
	departures, arrivals := "", ""
	boards := Expected(plans)
	for code, b := range boards {
		total.add(b)
		if b.Departures > boards[departures].Departures {
			departures = code
		}
		if b.Arrivals > boards[arrivals].Arrivals {
			arrivals = code
		}
	}
	want := Board{Departures: 20_000, Arrivals: 20_000, Slots: 20_000, Delay: 154_078, Miles: 14_476_934}
	if total != want || len(boards) != 224 {
		t.Errorf("%d airports with %+v; want 224 with %+v", len(boards), total, want)
	}
	if n := boards[departures].Departures; departures != "DFW" || n != 1103 {
		t.Errorf("busiest origin %s with %d, want DFW with 1103", departures, n)
	}
	if n := boards[arrivals].Arrivals; arrivals != "ORD" || n != 1160 {
		t.Errorf("busiest destination %s with %d, want ORD with 1160", arrivals, n)
	}
}

// A flight's identity is its line: some rows agree in all that names a flight.
func TestSomeRowsAreAlike(t *testing.T) {
	seen, twins := map[string]bool{}, 0
	for row := range strings.Lines(file) {
		key := strings.Join(strings.SplitN(row, ",", 4)[:3], ",")
		if seen[key] {
			twins++
		}
		seen[key] = true
	}
	if twins != 2 {
		t.Errorf("%d pairs of rows agree in time, origin and destination; want 2", twins)
	}
}

func TestParseRefusesBadFiles(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"empty":  {"", "EOF"},
		"header": {"a,b\n", "header"},
		"fields": {header + "\n2001/01/01 00:47,DTW,LAS,1750\n", "line 2"},
		"miles":  {header + "\n2001/01/01 00:47,DTW,LAS,far,66\n", "line 2: miles"},
		"delay":  {header + "\n2001/01/01 00:47,DTW,LAS,1750,66\n2001/01/01 00:48,DTW,LAS,1750,\n", "line 3: delay"},
	} {
		if _, err := parse(c.text); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one that says %q", name, err, c.want)
		}
	}
}
