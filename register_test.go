package pawl_test

import (
	"context"
	"fmt"
	"math/big"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pawl-go/pawl"
)

//nolint:unused // read by reflection
type (
	goodArg struct {
		Name string
		When time.Time
		Big  *big.Int
		Tree []goodArg
		To   pawl.Ref[*counter]
		Skip func() `json:"-"`
		_    int
	}
	hiddenArg struct {
		Name  string
		count int
	}
	chanArg    struct{ C chan int }
	complexArg struct{ Deep []map[string]complex128 }
	ifaceArg   struct{ Err error }
	mutexArg   struct {
		mu sync.Mutex
		N  int
	}
	embedsHidden struct{ hiddenArg }
)

//nolint:unused // read by reflection
type good struct {
	balance pawl.Value[int64] `pawl:"saldo,was=balance,was=b"`
	nested  struct {
		street pawl.Value[string]
	}
	deeper
	members pawl.Map[string, goodArg]
	plain   map[string]int
}

//nolint:unused // read by reflection
type deeper struct{ depth pawl.Value[int] }

func (g *good) M(context.Context, goodArg) (pawl.None, error) { return pawl.None{}, nil }
func (g *good) Activate(context.Context) error                { return nil }
func (g *good) Deactivate()                                   {}
func (g *good) Helper(int) string                             { return "" }

// Each of these has one mistake.
//
//nolint:unused // read by reflection
type (
	wrongShape     struct{}
	wrongHook      struct{}
	wrongActivate2 struct{}
	noMethods      struct{ n int }
	inSlice        struct{ cells []pawl.Value[int] }
	inArray        struct{ cells [3]pawl.Value[int] }
	inMap          struct{ cells map[string]pawl.Value[int] }
	behind         struct{ other *counter }
	behindMap      struct {
		other map[string]*pawl.Map[string, int]
	}
	sameKey struct {
		a pawl.Value[int] `pawl:"x"`
		b pawl.Value[int] `pawl:"x"`
	}
	wasTaken struct {
		a pawl.Value[int]
		b pawl.Value[int] `pawl:"b,was=a"`
	}
	badTag struct {
		a pawl.Value[int] `pawl:"a,were=b"`
	}
	hiddenState struct{ s pawl.Value[hiddenArg] }
	hiddenEntry struct{ s pawl.Map[string, hiddenArg] }
	argHidden   struct{}
	argChan     struct{}
	argComplex  struct{}
	argIface    struct{}
	argMutex    struct{}
	argEmbeds   struct{}
	resHidden   struct{}
	longName    struct{ counted }
	noName      struct{ counted }
)

type counted struct{}

func (*counted) N(context.Context, pawl.None) (int, error) { return 0, nil }

func (*wrongShape) M(context.Context, int) error                   { return nil }
func (*wrongHook) Activate() error                                 { return nil }
func (*wrongHook) N(context.Context, int) (int, error)             { return 0, nil }
func (*wrongActivate2) Activate(context.Context, int) (int, error) { return 0, nil }
func (*wrongActivate2) N(context.Context, int) (int, error)        { return 0, nil }
func (*inSlice) N(context.Context, int) (int, error)               { return 0, nil }
func (*inArray) N(context.Context, int) (int, error)               { return 0, nil }
func (*inMap) N(context.Context, int) (int, error)                 { return 0, nil }
func (*behind) N(context.Context, int) (int, error)                { return 0, nil }
func (*behindMap) N(context.Context, int) (int, error)             { return 0, nil }
func (*sameKey) N(context.Context, int) (int, error)               { return 0, nil }
func (*wasTaken) N(context.Context, int) (int, error)              { return 0, nil }
func (*badTag) N(context.Context, int) (int, error)                { return 0, nil }
func (*hiddenState) N(context.Context, int) (int, error)           { return 0, nil }
func (*hiddenEntry) N(context.Context, int) (int, error)           { return 0, nil }
func (*argHidden) M(context.Context, hiddenArg) (int, error)       { return 0, nil }
func (*argChan) M(context.Context, chanArg) (int, error)           { return 0, nil }
func (*argComplex) M(context.Context, *complexArg) (int, error)    { return 0, nil }
func (*argIface) M(context.Context, ifaceArg) (int, error)         { return 0, nil }
func (*argMutex) M(context.Context, *mutexArg) (int, error)        { return 0, nil }
func (*argEmbeds) M(context.Context, embedsHidden) (int, error)    { return 0, nil }
func (*resHidden) M(context.Context, int) (hiddenArg, error)       { return hiddenArg{}, nil }
func (*longName) ActorType() string                                { return strings.Repeat("n", 129) }
func (*noName) ActorType() string                                  { return "" }

// sameName is another type under the name of counter.
type sameName struct{ counted }

func (*sameName) ActorType() string { return "counter" }

func TestRegistrationMistakes(t *testing.T) {
	app, err := pawl.Open(t.Context(), engineURL(t.TempDir()), pawl.Config{App: "test"})
	if err != nil {
		t.Fatal(err)
	}
	defer app.Close()
	pawl.Register[good](app)
	pawl.Register[counter](app, pawl.Formerly("Old", (*counter).Add), pawl.ReadOnly((*counter).Get))
	pawl.Register[wrongShape](app)
	pawl.Register[wrongHook](app)
	pawl.Register[wrongActivate2](app)
	pawl.Register[noMethods](app)
	pawl.Register[inSlice](app)
	pawl.Register[inArray](app)
	pawl.Register[inMap](app)
	pawl.Register[behind](app)
	pawl.Register[behindMap](app)
	pawl.Register[sameKey](app)
	pawl.Register[wasTaken](app)
	pawl.Register[badTag](app)
	pawl.Register[hiddenState](app)
	pawl.Register[hiddenEntry](app)
	pawl.Register[argHidden](app)
	pawl.Register[argChan](app)
	pawl.Register[argComplex](app)
	pawl.Register[argIface](app)
	pawl.Register[argMutex](app)
	pawl.Register[argEmbeds](app)
	pawl.Register[resHidden](app)
	pawl.Register[longName](app)
	pawl.Register[noName](app)
	pawl.Register[sameName](app)
	pawl.Register[counter](app)
	pawl.RegisterFunc(app, func(string) int { return 0 })
	type opts struct{ counted }
	pawl.Register[opts](app,
		pawl.Formerly("N", (*opts).N), pawl.Formerly("", (*opts).N), pawl.Formerly("Old", (*counter).Add),
		pawl.ReadOnly((*counter).Get), pawl.ReadOnly(func(*opts, context.Context, int) (int, error) { return 0, nil }),
		pawl.IdleAfter(-1), pawl.MaxLive(-1), pawl.MaxAttempts(0), pawl.WithCodec(nil))

	err = app.Start(t.Context())
	if err == nil {
		t.Fatal("Start returned no error")
	}
	lines := strings.Split(err.Error(), "\n")[1:]
	want := []string{
		"wrongShape: method M has the wrong shape",
		"wrongHook: the hook Activate has the wrong shape",
		"wrongActivate2: the hook Activate has the wrong shape",
		"noMethods: the type has no callable method",
		"inSlice: field inSlice.cells: a cell",
		"inArray: field inArray.cells: a cell",
		"inMap: field inMap.cells: a cell",
		"behind: field behind.other: a cell",
		"behindMap: field behindMap.other: a cell",
		`sameKey: fields sameKey.a and sameKey.b have the same state key "x"`,
		`wasTaken: fields wasTaken.a and wasTaken.b have the same state key "a"`,
		`badTag: field badTag.a: the tag`,
		"hiddenState: field hiddenState.s: hiddenArg.count: the unexported field would be dropped",
		"hiddenEntry: field hiddenEntry.s: hiddenArg.count: the unexported field would be dropped",
		"argHidden: argument of M: hiddenArg.count: the unexported field",
		"argChan: argument of M: chanArg.C: chan int cannot be encoded",
		"argComplex: argument of M: *pawl_test.complexArg.Deep: complex128 cannot be encoded",
		"argIface: argument of M: ifaceArg.Err: the interface error cannot be decoded",
		"argMutex: argument of M: *pawl_test.mutexArg.mu: the unexported field",
		"argEmbeds: argument of M: embedsHidden.hiddenArg.count: the unexported field",
		"resHidden: result of M: hiddenArg.count: the unexported field",
		"longName: the type's name",
		"noName: the type's name",
		`sameName: the name "counter" is that of counter, registered at`,
		"counter: registered before, at",
		"int: an actor is a pointer to a struct",
		`opts: Formerly("N"): the type has a method of this name`,
		`opts: Formerly(""): a name has 1 to 128 bytes`,
		"opts: Formerly names *pawl_test.counter.Add, a method of another type",
		"opts: ReadOnly names *pawl_test.counter.Get, a method of another type",
		"opts: ReadOnly: ",
		"opts: IdleAfter: -1ns is not positive",
		"opts: MaxLive: -1 is negative",
		"opts: MaxAttempts: 0 is not positive",
		"opts: WithCodec: the codec is nil",
	}
	for i, w := range want {
		if i >= len(lines) || !strings.Contains(lines[i], w) {
			t.Fatalf("line %d: want %q in\n%s", i, w, err)
		}
		if !strings.Contains(lines[i], "register_test.go:") {
			t.Errorf("no place: %s", lines[i])
		}
	}
	if len(lines) != len(want) {
		t.Errorf("more than expected:\n%s", strings.Join(lines[len(want):], "\n"))
	}
}

func TestRegisterAfterStart(t *testing.T) {
	app, _ := open(t, func(app *pawl.App) { pawl.Register[counter](app) })
	defer func() {
		if v := recover(); !strings.Contains(fmt.Sprint(v), "the app has started") {
			t.Errorf("panic %v", v)
		}
	}()
	pawl.Register[good](app)
}

func TestConfigMistakes(t *testing.T) {
	for want, cfg := range map[string]pawl.Config{
		"no application name": {},
		"limit 128":           {App: strings.Repeat("a", 129)},
		"limit Payload: -1":   {App: "a", Limits: pawl.Limits{Payload: -1}},
		"time-out":            {App: "a", DrainTimeout: -1},
	} {
		if _, err := pawl.Open(t.Context(), engineURL(t.TempDir()), cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}
