package main

import (
	"log/slog"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/pawl-go/pawl"
)

// TestJoinsPauseNobody: calls go on while components join and leave; none waits for
// a time-out. It logs how long calls take without and with that.
func TestJoinsPauseNobody(t *testing.T) {
	const calls, joins, heartbeat = 300, 10, time.Minute
	s := newServed(t, "--durability", "process", "--heartbeat-timeout", heartbeat.String())
	first, second := spawn(t, "clerk", "pawl:"+s.dir), spawn(t, "shelf", "pawl:"+s.dir)
	open := func() *pawl.App {
		app, err := pawl.Open(t.Context(), "pawl:"+s.dir, pawl.Config{App: "orders", Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		return app
	}
	client := open()
	if err := client.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	next := 0
	measure := func(what string, busy func() bool) {
		var took []time.Duration
		for n := 0; n < calls || busy(); n++ {
			next++
			began := time.Now() //nolint:forbidigo // what is measured
			_, err := pawl.Call(client.Context(t.Context()), pawl.Actor[*Order](strconv.Itoa(next)), (*Order).Place, "top")
			took = append(took, time.Since(began)) //nolint:forbidigo // what is measured
			if err != nil {
				t.Fatal(err)
			}
		}
		slices.Sort(took)
		t.Logf("%s: %d calls, p50 %v, p99 %v, longest %v", what, len(took), took[len(took)/2], took[len(took)*99/100], took[len(took)-1])
		if longest := took[len(took)-1]; longest > heartbeat/2 {
			t.Errorf("a call took %v", longest)
		}
	}
	measure("alone", func() bool { return false })
	joined := make(chan struct{})
	go func() {
		defer close(joined)
		for range joins {
			app := open()
			pawl.Register[Order](app, pawl.ReadOnly((*Order).Placed))
			if err := app.Start(t.Context()); err != nil {
				t.Error(err)
			}
			if err := app.Drain(t.Context()); err != nil {
				t.Error(err)
			}
			if err := app.Close(); err != nil {
				t.Error(err)
			}
		}
	}()
	measure("while components join and leave", func() bool {
		select {
		case <-joined:
			return false
		default:
			return true
		}
	})
	if err := client.Close(); err != nil {
		t.Error(err)
	}
	quit(t, first)
	quit(t, second)
	s.end()
}
