package pawltest_test

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/pawl-go/pawl"
	"github.com/pawl-go/pawl/pawltest"
)

// increments increments a counter twice, and looks at what it is told.
func increments(w *pawltest.World) {
	w.Host(func(app *pawl.App) {
		pawl.Register[Cell](app)
		pawl.Register[Counter](app)
	})
	for want := 1; want <= 2; want++ {
		got, err := pawl.Call(w.Context(), pawl.Actor[*Counter]("c"), (*Counter).IncrNested, pawl.None{})
		if got != want || err != nil {
			w.Errorf("increment %d gives %d, %v", want, got, err)
		}
	}
}

func TestIncrements(t *testing.T) {
	pawltest.Run(t, increments)
}

func TestAccountAdd(t *testing.T) {
	alice := new(Account)
	ctx := pawltest.Context(t, "alice", alice)
	if got, err := alice.Add(ctx, 100); got != 100 || err != nil {
		t.Errorf("Add = %d, %v; want 100", got, err)
	}
}

func TestCounterReadsAndHandsOver(t *testing.T) {
	counter := new(Counter)
	ctx := pawltest.Context(t, "c", counter)
	pawltest.Stub(ctx, (*Cell).Get, func(pawl.Ref[*Cell], pawl.None) (int, error) { return 41, nil })

	_, err := counter.IncrTail(ctx, pawl.None{})
	if v := pawltest.Tailed(t, err, pawl.Actor[*Cell]("c"), (*Cell).Set); v != 42 {
		t.Errorf("it hands over %d, want 42", v)
	}
}

func TestOrderIsChargedOnce(t *testing.T) {
	pawltest.Explore(t, func(w *pawltest.World) {
		service := new(charges) // outside: it outlives the process
		w.Host(func(app *pawl.App) {
			pawl.Register[Order](app)
			pawl.RegisterFunc(app, func(string) *Card { return &Card{service: service} })
		})
		if _, err := pawl.Call(w.Context(), pawl.Actor[*Order]("1"), (*Order).PayOnce, 20); err != nil {
			w.Error(err)
		}
		if service.total != 20 {
			w.Errorf("%d was charged for an order of 20", service.total)
		}
	})
}

// Add, of a cart that keeps its total as state.
type DurableCart struct{ total pawl.Value[int] }

func (c *DurableCart) Add(ctx context.Context, price int) (int, error) {
	return c.total.Update(ctx, func(n int) int { return n + price }), nil
}

func TestDurableCart(t *testing.T) {
	pawltest.Explore(t, func(w *pawltest.World) {
		w.Host(func(app *pawl.App) { pawl.Register[DurableCart](app) })
		for n := range 2 {
			got, err := pawl.Call(w.Context(), pawl.Actor[*DurableCart]("c"), (*DurableCart).Add, 5)
			if want := 5 * (n + 1); got != want || err != nil {
				w.Errorf("the total is %d, %v; want %d", got, err, want)
			}
		}
	})
}

func TestReminderAfterACrash(t *testing.T) {
	pawltest.Run(t, func(w *pawltest.World) {
		w.Host(clocks)
		if _, err := pawl.Call(w.Context(), clock, (*Clock).Start, time.Hour); err != nil {
			w.Fatal(err)
		}
		w.Crash()
		w.Advance(time.Hour)
		if n := ticks(w); n != 1 {
			w.Errorf("%d ticks after an hour, want 1", n)
		}
	})
}

// The code that docs/testing.md shows is that of these tests, and what it shows
// of reports is what they say.
func TestGuide(t *testing.T) {
	page, err := os.ReadFile("../docs/testing.md")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	var code strings.Builder
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		code.Write(text)
	}
	report, schedule, _ := pawltest.Find(t, increments)
	said := report + "\n" + schedule
	for _, scenario := range []func(*pawltest.World){plainField, sliceInPlace, paying(payNested)} {
		report, _, _ := pawltest.Find(t, scenario)
		said += "\n" + report
	}
	fence := regexp.MustCompile("(?ms)^```(go|text)\n(.*?)^```$")
	blocks := fence.FindAllStringSubmatch(string(page), -1)
	if len(blocks) < 8 {
		t.Fatalf("docs/testing.md shows %d blocks: has its form changed?", len(blocks))
	}
	for _, b := range blocks {
		switch kind, text := b[1], b[2]; kind {
		case "go":
			for part := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
				if !strings.Contains(unindent(code.String()), unindent(part)) {
					t.Errorf("docs/testing.md shows code that no test here has:\n%s", part)
				}
			}
		case "text":
			for line := range strings.Lines(text) {
				if line = strings.TrimSpace(line); !strings.Contains(said, line) {
					t.Errorf("docs/testing.md shows a line that no report says: %s", line)
				}
			}
		}
	}
}

// unindent drops what stands before each line.
func unindent(text string) string {
	return regexp.MustCompile(`(?m)^[ \t]+`).ReplaceAllString(text, "")
}

// openBank is a program's own way to open and start its app.
func openBank(ctx context.Context, engine string) (*pawl.App, error) {
	app, err := pawl.Open(ctx, engine, pawl.Config{App: "bank"})
	if err != nil {
		return nil, err
	}
	pawl.Register[Account](app)
	return app, app.Start(ctx)
}

// The examples of the package's page are tests.
func TestExamples(tt *testing.T) {
	t = tt
	defer func() { t = nil }()
	for _, example := range []func(){ExampleRun, ExampleContext, ExampleTailed, ExampleExplore} {
		example()
	}
}
