package journals_test

import (
	"testing"
	"time"

	"github.com/pawl-go/pawl/bench/journals"
	"github.com/pawl-go/pawl/bench/rounds"
)

func TestSmoke(t *testing.T) {
	bare := journals.Bare()
	noReader := journals.System{Name: "cannot read", Open: func(dir string, flushed bool) (*journals.Journal, error) {
		j, err := bare.Open(dir, flushed)
		j.Read = nil
		return j, err
	}}
	jobs := journals.Jobs([]journals.System{journals.Pawl(), bare, noReader}, t.TempDir(), 20*time.Millisecond)
	r, err := rounds.Run(t.Context(), "journals", jobs, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Figures) != 5*3+2 || len(r.Ratios) != 5*2+1 {
		t.Errorf("%d figures, %d ratios: %+v", len(r.Figures), len(r.Ratios), r)
	}
	for _, f := range r.Figures {
		if f.OpsPerS <= 0 || f.CPUPerOp <= 0 {
			t.Errorf("%+v", f)
		}
	}
	r.Print(t.Output())
}
