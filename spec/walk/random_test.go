package walk

import (
	"testing"

	"github.com/pawl-go/pawl/spec/program"
)

// TestRandomPrograms: the properties hold for programs that nobody has thought
// of, as far as a bounded walk sees. The program of a seed is walked again by
// "-program random-SEED".
func TestRandomPrograms(t *testing.T) {
	programs := 50
	if testing.Short() {
		programs = 20
	}
	held := 0
	for seed := range uint64(programs) {
		r := Walk(Config{Program: program.Random(seed), Failures: 1, MaxStates: 1500})
		switch r.Verdict {
		case Holds:
			held++
		case TooLarge: // as far as it got, nothing was wrong
		default:
			t.Fatalf("seed %d: %s: %s\n%s", seed, r.Verdict, r.Detail, Format(r.Timeline))
		}
	}
	if held < programs/4 {
		t.Errorf("only %d of %d programs were walked to their end", held, programs)
	}
}
