package wire_test

import (
	"testing"

	"github.com/pawl-go/pawl/bench/wire"
)

func TestAllIsConfirmed(t *testing.T) {
	p, err := wire.Dial()
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for _, window := range []int{1, 7, 1024} {
		for n := range 3000 {
			if err := p.Tell(make([]byte, n), window); err != nil {
				t.Fatal(err)
			}
		}
		if err := p.Drain(); err != nil {
			t.Fatal(err)
		}
		if err := p.Ask([]byte("one")); err != nil {
			t.Fatal(err)
		}
	}
}
