// Package probe is how the test kit looks at the actors of an app. An engine that
// is a [Source] is told what its app's methods do in memory; nothing is, and
// nothing is spent, with any other.
package probe

import (
	"time"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/internal/runtime"
)

// Source is an engine that wants to be told.
type Source interface {
	// Probe returns who is told; nil for nobody. It is asked once, by pawl.Open.
	Probe() Probe
}

// Probe is told what methods do. The calls come on the goroutine that runs the
// method, with no lock held; they may block, or end the goroutine.
type Probe interface {
	// Begins comes before the code of a method; actor is its receiver. Read-only
	// methods are among them.
	Begins(inv *runtime.Invocation, actor any)
	// Ended comes when the code has returned or panicked, before its outcome is
	// recorded. It does not come for a goroutine that Begins has ended.
	Ended(inv *runtime.Invocation, actor any)
	// Touched comes before Ended, for each cell whose decoded value was changed in
	// place: a change that is not recorded. Cell is "Type.field".
	Touched(inv *runtime.Invocation, cell string)
	// Jitter takes the place of chance in backoffs; see runtime.Config.
	Jitter(n time.Duration) time.Duration
}

// Tail is an error by which a method ends with a tail call.
type Tail interface {
	error
	// Made gives the tail call; argument decodes its argument into what v points to.
	Made() (to engine.Actor, method string, argument func(v any) error)
}

// What package pawl lends, set when it is initialised.
var (
	// MethodName gives the name of a method expression.
	MethodName func(m any) (string, error)
	// TypeName gives the name of the actor type of which m is a method expression,
	// or "" if m names it through an interface.
	TypeName func(m any) string
	// FailureOf encodes an error as an outcome keeps it.
	FailureOf func(error) *engine.Failure
)
