package pawl_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/pawl-go/pawl"
)

// Two versions of one actor type, as two deployments have it.
type (
	itemV1 struct {
		title pawl.Value[string]
		price pawl.Value[int]
		notes pawl.Map[string, string]
		gone  pawl.Value[bool]
	}
	itemV2 struct {
		name  pawl.Value[string]       `pawl:"name,was=caption,was=title"`
		price pawl.Value[int]          `pawl:"price"`
		texts pawl.Map[string, string] `pawl:"texts,was=notes"`
	}
	// itemV3 cannot read the price.
	itemV3 struct {
		price pawl.Value[[]string]
	}
)

func (*itemV1) ActorType() string { return "Item" }
func (*itemV2) ActorType() string { return "Item" }
func (*itemV3) ActorType() string { return "Item" }

func (i *itemV1) Fill(ctx context.Context, title string) (pawl.None, error) {
	i.title.Set(ctx, title)
	i.price.Set(ctx, 3)
	i.gone.Set(ctx, true)
	for _, k := range []string{"a", "b", "c"} {
		i.notes.Set(ctx, k, "old "+k)
	}
	return pawl.None{}, nil
}

func (i *itemV2) Read(ctx context.Context, _ pawl.None) (string, error) {
	out := fmt.Sprint(i.name.Get(ctx), " ", i.price.Get(ctx))
	for e, err := range i.texts.All(ctx) {
		if err != nil {
			return "", err
		}
		out += fmt.Sprintf(" %s=%s", e.Key, e.Value)
	}
	return out, nil
}

func (i *itemV2) Change(ctx context.Context, _ pawl.None) (pawl.None, error) {
	i.name.Update(ctx, strings.ToUpper)
	i.texts.Set(ctx, "b", "new b")
	i.texts.Delete(ctx, "c")
	return pawl.None{}, nil
}

func (i *itemV2) Keys(ctx context.Context, _ pawl.None) ([]string, error) {
	keys, err := pawl.State(ctx).Keys(ctx)
	for e, eerr := range pawl.State(ctx).Entries(ctx, "notes", "") {
		keys, err = append(keys, "notes/"+e.Key), errors.Join(err, eerr)
	}
	return keys, err
}

func (i *itemV3) Read(ctx context.Context, _ pawl.None) ([]string, error) {
	return i.price.Get(ctx), nil
}

// lockedBuffer is a log that may be read while it is written.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func TestStateOutlivesCode(t *testing.T) {
	dir := t.TempDir()
	log := &lockedBuffer{}
	cfg := pawl.Config{Logger: slog.New(slog.NewTextHandler(log, nil))}

	app, ctx := openIn(t, dir, cfg, func(app *pawl.App) { pawl.Register[itemV1](app) })
	for _, id := range []string{"x", "y"} {
		if _, err := pawl.Call(ctx, pawl.Actor[*itemV1](id), (*itemV1).Fill, "tea"); err != nil {
			t.Fatal(err)
		}
	}
	must(t, app.Close())

	app, ctx = openIn(t, dir, cfg, func(app *pawl.App) { pawl.Register[itemV2](app) })
	x := pawl.Actor[*itemV2]("x")
	read := func(want string) {
		t.Helper()
		if got, err := pawl.Call(ctx, x, (*itemV2).Read, pawl.None{}); got != want || err != nil {
			t.Errorf("%q, %v; want %q", got, err, want)
		}
	}
	keys := func(want ...string) {
		t.Helper()
		if got, err := pawl.Call(ctx, x, (*itemV2).Keys, pawl.None{}); !slices.Equal(got, want) || err != nil {
			t.Errorf("keys %q, %v; want %q", got, err, want)
		}
	}
	read("tea 3 a=old a b=old b c=old c")
	keys("gone", "price", "title", "notes/a", "notes/b", "notes/c")
	if _, err := pawl.Call(ctx, x, (*itemV2).Change, pawl.None{}); err != nil {
		t.Fatal(err)
	}
	read("TEA 3 a=old a b=new b")
	keys("gone", "name", "price", "notes/a")
	if _, err := pawl.Call(ctx, pawl.Actor[*itemV2]("y"), (*itemV2).Read, pawl.None{}); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(log.String(), "key=gone"); n != 1 {
		t.Errorf("the orphan is reported %d times:\n%s", n, log)
	}
	must(t, app.Close())

	_, ctx = openIn(t, dir, cfg, func(app *pawl.App) { pawl.Register[itemV3](app) })
	_, err := pawl.Call(ctx, pawl.Actor[*itemV3]("x"), (*itemV3).Read, pawl.None{})
	if !errors.Is(err, pawl.ErrParked) || !errors.Is(err, pawl.ErrBadState) || !strings.Contains(err.Error(), "itemV3.price") {
		t.Errorf("state that does not decode: %v", err)
	}
}

// hooked counts what its hooks do.
type hooked struct {
	n        pawl.Value[int]
	fail     error
	active   bool
	inactive chan string
}

func (h *hooked) Activate(ctx context.Context) error {
	h.n.Update(ctx, func(n int) int { return n + 1 })
	h.active = true
	if pawl.Self(ctx, h).ID == "again" && pawl.Attempt(ctx) == 1 {
		return pawl.Retry(errSold)
	}
	return h.fail
}

func (h *hooked) Deactivate(context.Context) { h.inactive <- "gone" }

func (h *hooked) Get(ctx context.Context, _ pawl.None) (string, error) {
	return fmt.Sprint(h.n.Get(ctx), h.active), nil
}

func TestHooks(t *testing.T) {
	inactive := make(chan string, 1)
	fail := errSold
	_, ctx := open(t, func(app *pawl.App) {
		pawl.RegisterFunc(app, func(string) *hooked { return &hooked{inactive: inactive, fail: fail} }, pawl.IdleAfter(1))
	})
	h := pawl.Actor[*hooked]("h")
	if _, err := pawl.Call(ctx, h, (*hooked).Get, pawl.None{}); !errors.Is(err, errSold) {
		t.Errorf("Activate failed, and the call did not: %v", err)
	}
	fail = nil
	if got, err := pawl.Call(ctx, pawl.Actor[*hooked]("again"), (*hooked).Get, pawl.None{}); got != "1 true" || err != nil {
		t.Errorf("Activate that is retried: %q, %v", got, err)
	}
	if got, err := pawl.Call(ctx, h, (*hooked).Get, pawl.None{}); got != "1 true" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	<-inactive
}

func TestReminders(t *testing.T) {
	ctx, run := openShop(t)
	a := pawl.Actor[*counter]("a")
	must(t, pawl.Remind(ctx, a, "often", (*counter).Add, 1, pawl.Every(1<<40).Misfire(pawl.FireNone)))
	must(t, pawl.Remind(ctx, a, "later", (*counter).Add, 1, pawl.After(1<<50)))
	must(t, pawl.Unremind(ctx, a, "none"))
	rs, err := pawl.Reminders(ctx, a)
	if err != nil || len(rs) != 2 || rs[0].Name != "later" || rs[1].Every != 1<<40 || rs[1].Method != "Add" || rs[0].Next.IsZero() {
		t.Errorf("%+v, %v", rs, err)
	}
	if _, err := run(func(ctx context.Context, _ *shop) (string, error) {
		must(t, pawl.Unremind(ctx, a, "often"))
		rs, err := pawl.Reminders(ctx, a)
		if err != nil || len(rs) != 1 {
			t.Errorf("in a method: %+v, %v", rs, err)
		}
		return "", errSold
	}); !errors.Is(err, errSold) {
		t.Fatal(err)
	}
	if rs, err := pawl.Reminders(ctx, a); len(rs) != 2 || err != nil {
		t.Errorf("the changes of a method that failed: %+v, %v", rs, err)
	}
	if err := pawl.Remind(ctx, a, "never", (*counter).Add, 1, pawl.Every(0)); err == nil {
		t.Error("a period of 0 is accepted")
	}
}

// bell rings a channel.
type bell struct{ rung chan int }

func (b *bell) Ring(_ context.Context, n int) (pawl.None, error) {
	b.rung <- n
	return pawl.None{}, nil
}

func TestDelaysAndReminderFire(t *testing.T) {
	rung := make(chan int, 10)
	_, ctx := open(t, func(app *pawl.App) {
		pawl.RegisterFunc(app, func(string) *bell { return &bell{rung} })
	})
	b := pawl.Actor[*bell]("b")
	must(t, pawl.Tell(ctx, b, (*bell).Ring, 1, pawl.After(1e6)))
	must(t, pawl.Remind(ctx, b, "r", (*bell).Ring, 2, pawl.After(1e6)))
	if got := <-rung + <-rung; got != 3 {
		t.Errorf("rung %d", got)
	}
}

func TestAdmin(t *testing.T) {
	app, ctx := open(t, func(app *pawl.App) { pawl.Register[counter](app) })
	admin := app.Admin()
	a := pawl.Actor[*counter]("a")
	must(t, admin.Pause(ctx, "counter", "a"))
	f, err := pawl.Start(ctx, a, (*counter).Add, 5)
	if err != nil {
		t.Fatal(err)
	}
	g, err := pawl.Start(ctx, a, (*counter).Add, 6)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for inv, err := range admin.Invocations(ctx, pawl.Query{Kind: "counter", ID: "a", Status: "pending"}) {
		must(t, err)
		ids = append(ids, inv.ID)
	}
	if want := []string{g.ID(), f.ID()}; !slices.Equal(ids, want) {
		t.Errorf("pending %q, want %q", ids, want)
	}
	inv, err := admin.Invocation(ctx, f.ID())
	if err != nil || inv.Actor != "counter/a" || inv.Method != "Add" || string(inv.Input) != "5" || inv.Step != 1 || inv.Root != f.ID() {
		t.Errorf("%+v, %v", inv, err)
	}
	must(t, admin.Answer(ctx, f.ID(), 77, nil))
	if n, err := f.Wait(ctx); n != 77 || err != nil {
		t.Errorf("answered: %d, %v", n, err)
	}
	must(t, admin.Cancel(ctx, g.ID(), "not needed"))
	if _, err := g.Wait(ctx); !errors.Is(err, pawl.ErrCanceled) || !strings.Contains(err.Error(), "not needed") {
		t.Errorf("cancelled: %v", err)
	}
	must(t, admin.Unpause(ctx, "counter", "a"))
	if n, err := pawl.Call(ctx, a, (*counter).Add, 1); n != 1 || err != nil {
		t.Errorf("after all: %d, %v", n, err)
	}
	must(t, admin.Purge(ctx, "counter", "a"))
	if n, err := pawl.Call(ctx, a, (*counter).Add, 1); n != 1 || err != nil {
		t.Errorf("after a purge: %d, %v", n, err)
	}
}

// A tell that ended with an error, or that nobody can run, waits for an operator,
// who has it run again or drops it.
func TestAdminOfWhatHasFailed(t *testing.T) {
	ran, stock := make(chan struct{}, 10), 0
	app, ctx := open(t, func(app *pawl.App) {
		pawl.RegisterFunc(app, func(string) *shop {
			return &shop{run: func(context.Context, *shop) (string, error) {
				defer func() { ran <- struct{}{} }()
				if stock == 0 {
					return "", errSold
				}
				return "sold", nil
			}}
		})
		pawl.Register[counter](app)
	})
	admin := app.Admin()
	// stuck gives the id of the one tell to an actor, once it is as it should be.
	stuck := func(kind, id, status string) string {
		t.Helper()
		for inv, err := range admin.Invocations(ctx, pawl.Query{Kind: kind, ID: id}) {
			must(t, err)
			_, _ = pawl.Attach[any](ctx, inv.ID).Wait(ctx)
			if inv, err = admin.Invocation(ctx, inv.ID); err != nil || inv.Status != status {
				t.Errorf("it is %+v, %v; want it %s", inv, err, status)
			}
			return inv.ID
		}
		t.Fatalf("there is no invocation of %s/%s", kind, id)
		return ""
	}

	must(t, pawl.Tell(ctx, pawl.Actor[*shop]("s"), (*shop).Run, pawl.None{}))
	failed := stuck("shop", "s", "failed")
	<-ran
	stock = 1
	must(t, admin.Resume(ctx, failed))
	<-ran
	if s, err := pawl.Attach[string](ctx, failed).Wait(ctx); s != "sold" || err != nil {
		t.Errorf("run again: %q, %v", s, err)
	}

	const unknown pawl.Kind[subtracter] = "counter"
	must(t, pawl.Tell(ctx, unknown.Actor("a"), subtracter.Subtract, 1))
	parked := stuck("counter", "a", "parked")
	must(t, admin.Skip(ctx, parked))
	if err := admin.Resume(ctx, parked); !errors.Is(err, pawl.ErrNotFound) {
		t.Errorf("what was dropped is resumed: %v", err)
	}
	for name, act := range map[string]func(context.Context, string) error{"Resume": admin.Resume, "Skip": admin.Skip} {
		if err := act(ctx, "no id"); !errors.Is(err, pawl.ErrNotFound) {
			t.Errorf("%s of no id: %v", name, err)
		}
	}
}

// subtracter is a contract that counter does not fulfil.
type subtracter interface {
	Subtract(context.Context, int64) (int64, error)
}

func TestRun(t *testing.T) {
	app, err := pawl.Open(t.Context(), engineURL(t.TempDir()), pawl.Config{App: "test"})
	if err != nil {
		t.Fatal(err)
	}
	pawl.Register[counter](app)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- app.Run(ctx) }()
	cancel()
	if err := <-done; err != nil {
		t.Errorf("Run: %v", err)
	}
	if err := app.Start(t.Context()); err == nil {
		t.Error("a closed app starts")
	}
	must(t, app.Close())
}

func TestActorsAreNew(t *testing.T) {
	shared := &counter{}
	for want, newActor := range map[string]func(string) *counter{
		"returned before": func(string) *counter { return shared },
		"returned nil":    func(string) *counter { return nil },
		"panic: no":       func(string) *counter { panic("no") },
	} {
		_, ctx := open(t, func(app *pawl.App) { pawl.RegisterFunc(app, newActor) })
		var err error
		for _, id := range []string{"a", "b"} { // the second one is too many of shared
			_, err = pawl.Call(ctx, pawl.Actor[*counter](id), (*counter).Add, 1)
		}
		if !errors.Is(err, pawl.ErrParked) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}
