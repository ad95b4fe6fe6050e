package walk

import (
	"math"
	"testing"
)

// TestUint128: paths outgrow 64 bits, and stay at the highest number.
func TestUint128(t *testing.T) {
	x := uint128{0, math.MaxUint64}
	x.add(uint128{0, 1})
	if got, want := x.big().String(), "18446744073709551616"; got != want {
		t.Errorf("2^64 is %s, want %s", got, want)
	}
	x = uint128{math.MaxUint64, math.MaxUint64}
	x.add(x)
	if x != (uint128{math.MaxUint64, math.MaxUint64}) {
		t.Errorf("the highest number was passed: %v", x)
	}
}
