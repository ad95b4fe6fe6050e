package local_test

import (
	"testing"

	"github.com/pawl-go/pawl/engine/enginetest"
	"github.com/pawl-go/pawl/engine/local/localtest"
)

// TestConformance holds the local engine to the suite that every engine must
// pass, in both durabilities.
func TestConformance(t *testing.T) {
	for _, durability := range []string{"process", "disk"} {
		t.Run(durability, func(t *testing.T) {
			enginetest.Run(t, func(*testing.T) enginetest.Harness { return localtest.New(durability) })
		})
	}
}
