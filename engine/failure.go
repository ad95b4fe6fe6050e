package engine

// FailureKind says where an error came from.
type FailureKind uint8

// The kinds of failures that can be outcomes.
const (
	// FailureApp is an error that a method returned.
	FailureApp FailureKind = iota
	// FailurePawl is one of ours; its Code is a [Code].
	FailurePawl
	// FailurePanic is a panic of a method; Detail holds the stack as text.
	FailurePanic
)

// Failure is an error as an outcome keeps it.
type Failure struct {
	Kind    FailureKind
	Code    string // a Code, or the code the application registered, or ""
	Message string
	Detail  []byte // opaque: the encoding of a registered error type, or a stack
	// Invocation, Actor and Method say where it arose, if not at the callee.
	Invocation, Actor, Method string
	// Causes are the registered errors that it wraps or joins.
	Causes []*Failure
}

// Fail makes the failure of one of our own codes.
func Fail(code Code, message string) *Failure {
	return &Failure{Kind: FailurePawl, Code: string(code), Message: message}
}
