package pawl

import (
	"testing"
	"time"
)

type optioned struct{}

// What a type says of itself reaches the runtime, whose tests show what it does
// with it.
func TestTypeOptions(t *testing.T) {
	app, err := Open(t.Context(), "local:"+t.TempDir(), Config{App: "test"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := app.Close(); err != nil {
			t.Error(err)
		}
	}()
	Register[optioned](app, Strict(), PassWhileRetrying(), IdleAfter(time.Hour), MaxLive(7), MaxAttempts(3))
	got := app.reg.list[0].rt
	if !got.Strict || !got.PassWhileRetrying || got.IdleAfter != time.Hour || got.MaxLive != 7 || got.MaxAttempts != 3 {
		t.Errorf("registered as %+v", got)
	}
}
