package trace

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Kind says what an event is; the package comment defines each.
type Kind string

// The kinds of records.
const (
	Epoch    Kind = "epoch"
	Join     Kind = "join"
	Fail     Kind = "fail"
	Leave    Kind = "leave"
	Counted  Kind = "counted"
	Cancel   Kind = "cancel"
	Send     Kind = "send"
	Due      Kind = "due"
	Write    Kind = "write"
	Remind   Kind = "remind"
	Fire     Kind = "fire"
	Begun    Kind = "begun"
	Outcome  Kind = "outcome"
	Overrule Kind = "overrule"
	Park     Kind = "park"
	Resume   Kind = "resume"
	Drop     Kind = "drop"
	Postpone Kind = "postpone"
	Pause    Kind = "pause"
	Unpause  Kind = "unpause"
	Purge    Kind = "purge"
)

// The kinds that are not records.
const (
	Open    Kind = "open"
	Commit  Kind = "commit"
	Refuse  Kind = "refuse"
	Begin   Kind = "begin"
	Load    Kind = "load"
	Read    Kind = "read"
	Wait    Kind = "wait"
	Return  Kind = "return"
	GoOn    Kind = "goon"
	Retry   Kind = "retry"
	Gone    Kind = "gone"
	Release Kind = "release"
)

// need says what an event of a kind cannot be without.
type need uint8

const (
	needAt need = 1 << iota
	needID
	needStep
	needN
	needActor
	needSession
	needOp
	isRecord
)

const (
	ofInvocation = isRecord | needAt | needID
	ofActor      = isRecord | needAt | needActor
	ofAttempt    = needSession | needID | needStep | needN | needActor
)

var kinds = map[Kind]need{
	Epoch: isRecord | needAt, Join: isRecord | needAt | needSession,
	Fail: isRecord | needAt | needSession, Leave: isRecord | needAt | needSession,
	Counted: ofInvocation | needN, Cancel: ofInvocation,
	Send: ofInvocation | needStep | needActor, Due: ofInvocation,
	Write: isRecord | needAt, Remind: ofActor, Fire: ofActor,
	Begun: ofInvocation | needStep | needN, Outcome: ofInvocation | needStep, Overrule: ofInvocation,
	Park: ofInvocation, Resume: ofInvocation, Drop: ofInvocation, Postpone: ofInvocation,
	Pause: ofActor, Unpause: ofActor, Purge: ofActor,

	Open: 0, Commit: needAt, Refuse: needSession | needOp,
	Begin: ofAttempt, Load: ofAttempt, Read: ofAttempt, Wait: ofAttempt, Return: ofAttempt, GoOn: ofAttempt,
	Retry: ofAttempt, Gone: ofAttempt, Release: needOp,
}

// Record reports whether an event of the kind is (part of) a record.
func (k Kind) Record() bool { return kinds[k]&isRecord != 0 }

// How a step ends: Event.End.
const (
	EndValue = "value"
	EndError = "error"
	EndTail  = "tail"
)

// Who waits for an invocation: Event.Form.
const (
	FormTell   = "tell"   // nobody
	FormNested = "nested" // the invocation Event.Caller
	FormCall   = "call"   // a client outside, or beside the invocation Event.Waiter
)

// Attempt names one run of one step of an invocation. N counts from 1; it is 0
// where the step is meant, or where it is not known.
type Attempt struct {
	ID   string `json:"id,omitempty"`
	Step uint32 `json:"step,omitempty"`
	N    uint32 `json:"n,omitempty"`
}

// String gives "id.step#n", for messages.
func (a Attempt) String() string { return fmt.Sprintf("%s.%d#%d", a.ID, a.Step, a.N) }

// Cell is a piece of an actor's state. Hash is that of its value, "" for none:
// a deletion in a write, nothing found in a read.
type Cell struct {
	Cell  string `json:"cell,omitempty"`
	Entry string `json:"entry,omitempty"`
	InMap bool   `json:"map,omitempty"`   // an entry of the map Cell
	Clear bool   `json:"clear,omitempty"` // in a write: every entry of the map Cell is removed
	Hash  string `json:"hash,omitempty"`
}

// Event is one event. Which fields are set, and what they mean, depends on its
// kind; see the package comment. An Event and its slices are not changed once
// recorded.
type Event struct {
	Kind     Kind   `json:"kind"`
	At       uint64 `json:"at,omitempty"`       // the position of the record, or of what the event rests on
	More     bool   `json:"more,omitempty"`     // further events of the same record follow
	Replayed bool   `json:"replayed,omitempty"` // traced by the opening after
	Session  uint64 `json:"session,omitempty"`

	// Attempt is what the event is about.
	Attempt
	Actor  string `json:"actor,omitempty"`  // of ID, see ActorName
	Method string `json:"method,omitempty"` // of ID's step

	// By is who acts on it: the attempt that sends (zero: a client of Session, or
	// the engine) or writes; Under the one that a begin re-enters.
	By     Attempt `json:"by,omitzero"`
	Under  Attempt `json:"under,omitzero"`
	Callee string  `json:"callee,omitempty"` // of wait and return

	// Of send. Caller is the return address.
	Form      string `json:"form,omitempty"`
	Caller    string `json:"caller,omitempty"`
	Waiter    string `json:"waiter,omitempty"`
	Once      bool   `json:"once,omitempty"`
	Keyed     bool   `json:"keyed,omitempty"`
	Scheduled bool   `json:"scheduled,omitempty"`

	// Of outcome: with a tail, To, ToMethod and InPlace are of the next step.
	End      string `json:"end,omitempty"`
	To       string `json:"to,omitempty"`
	ToMethod string `json:"to_method,omitempty"`
	InPlace  bool   `json:"in_place,omitempty"`
	Forced   bool   `json:"forced,omitempty"`   // its code may still run
	Operator bool   `json:"operator,omitempty"` // given by an operator, not by its code
	Kept     bool   `json:"kept,omitempty"`     // a tell that failed, and is kept for an operator

	// Hash is that of a value, an error, or an argument (send, tail); Code the
	// code of an error that has one.
	Hash string `json:"hash,omitempty"`
	Code string `json:"code,omitempty"`

	Cells  []Cell `json:"cells,omitempty"`
	Fresh  bool   `json:"fresh,omitempty"`
	Strict bool   `json:"strict,omitempty"` // of begin: the type waits for every commit

	Op      string   `json:"op,omitempty"`
	Name    string   `json:"name,omitempty"`
	Types   []string `json:"types,omitempty"`
	Epoch   uint64   `json:"epoch,omitempty"`
	Lost    uint32   `json:"lost,omitempty"`
	Removed bool     `json:"removed,omitempty"`
	AtOnce  bool     `json:"at_once,omitempty"`
}

// String gives the event as its line.
func (e *Event) String() string { return string(e.Append(nil)) }

// valid says what an event lacks.
func (e *Event) valid() error {
	n, known := kinds[e.Kind]
	if !known {
		return fmt.Errorf("unknown kind %q", e.Kind)
	}
	for _, f := range [...]struct {
		bit  need
		ok   bool
		name string
	}{
		{needAt, e.At != 0, "at"},
		{needID, e.ID != "", "id"},
		{needStep, e.Step != 0, "step"},
		{needN, e.N != 0, "n"},
		{needActor, e.Actor != "", "actor"},
		{needSession, e.Session != 0, "session"},
		{needOp, e.Op != "", "op"},
	} {
		if n&f.bit != 0 && !f.ok {
			return fmt.Errorf("an event of kind %q without %q", e.Kind, f.name)
		}
	}
	if e.More && n&isRecord == 0 {
		return fmt.Errorf("an event of kind %q, which is not a record, with %q", e.Kind, "more")
	}
	if e.Kind == Outcome && !slices.Contains([]string{EndValue, EndError, EndTail}, e.End) {
		return fmt.Errorf("an outcome that ends with %q", e.End)
	}
	if e.Kind == Send && !slices.Contains([]string{FormTell, FormNested, FormCall}, e.Form) {
		return fmt.Errorf("a request of form %q", e.Form)
	}
	return nil
}

// ActorName writes an actor as "Type/id". It is the same for no two actors:
// "%" and bytes that are not UTF-8 stand as %XX, and so does "/" in the type.
func ActorName(kind, id string) string { return escape(kind, "%/") + "/" + Text(id) }

// Text makes any byte string one of UTF-8, the same for no two: "%" and bytes
// that are not UTF-8 stand as %XX.
func Text(s string) string { return escape(s, "%") }

func escape(s, special string) string {
	if !strings.ContainsAny(s, special) && utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		if n == 1 && (r == utf8.RuneError || strings.ContainsRune(special, r)) {
			fmt.Fprintf(&b, "%%%02X", s[0])
		} else {
			b.WriteString(s[:n])
		}
		s = s[n:]
	}
	return b.String()
}
