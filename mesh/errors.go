package mesh

import (
	"errors"
	"fmt"
)

// SendCode says why a message never left. A code is itself an error, so it serves
// as a sentinel: errors.Is(err, mesh.SendFull).
type SendCode string

// The codes of a [SendError], in the order in which they are checked.
const (
	// SendNotRunning: this node has not started, or has stopped.
	SendNotRunning SendCode = "not_running"
	// SendNotAMember: the target is no known member.
	SendNotAMember SendCode = "not_a_member"
	// SendUnreachable: there is no connection to the target right now.
	SendUnreachable SendCode = "unreachable"
	// SendEncode: the message could not be encoded, or its type is not registered
	// on this node.
	SendEncode SendCode = "encode"
	// SendTooLarge: the encoded message, header included, is over the limit;
	// SendError.Size and Limit say by how much.
	SendTooLarge SendCode = "too_large"
	// SendFull: too much is queued for that node, or too much waits for an actor
	// of this one. Only TryCast fails with it.
	SendFull SendCode = "full"
	// SendClosed: the actor is on this node, and is shutting down or gone.
	SendClosed SendCode = "closed"
	// SendNotAccepted: the actor is on this node, and does not take this message.
	SendNotAccepted SendCode = "not_accepted"
	// SendCanceled: the context ended while the message waited for room.
	SendCanceled SendCode = "canceled"
)

// Error gives the code as a message.
func (c SendCode) Error() string { return "mesh: " + string(c) }

// SendError says that a message never left: it is still the caller's.
type SendError struct {
	Code  SendCode
	Node  string // the target's node
	Actor string // the target's name
	Size  int    // with SendTooLarge: of the encoded message, in bytes
	Limit int    // with SendTooLarge: what it may be at most
	Err   error  // the cause, if there is one more to say
}

func (e *SendError) Error() string {
	s := fmt.Sprintf("send to %s on %s: %s", e.Actor, e.Node, sendText[e.Code])
	if e.Code == SendTooLarge {
		s += fmt.Sprintf(": %d bytes, at most %d", e.Size, e.Limit)
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

var sendText = map[SendCode]string{
	SendNotRunning:  "this node is not running",
	SendNotAMember:  "no such member",
	SendUnreachable: "no connection right now",
	SendEncode:      "the message cannot be encoded",
	SendTooLarge:    "the message is too large",
	SendFull:        "too much is queued",
	SendClosed:      "the actor is closed",
	SendNotAccepted: "the actor does not take this message",
	SendCanceled:    "gave up waiting for room",
}

// Is reports whether target is the error's code.
func (e *SendError) Is(target error) bool { return target == error(e.Code) }

// Unwrap returns the cause.
func (e *SendError) Unwrap() error { return e.Err }

// ReplyCode says why a message that left brought no reply.
type ReplyCode string

// The codes of a [ReplyError].
const (
	// ReplyRemote: the other side answered with an error, a [RemoteError].
	ReplyRemote ReplyCode = "remote"
	// ReplyDisconnected: the node was lost first. The outcome is unknown.
	ReplyDisconnected ReplyCode = "disconnected"
	// ReplyTimeout: no reply in time, or the caller's context ended. The outcome
	// is unknown.
	ReplyTimeout ReplyCode = "timeout"
	// ReplyDecode: the reply is not of the type the caller wants.
	ReplyDecode ReplyCode = "reply_decode"
)

// Error gives the code as a message.
func (c ReplyCode) Error() string { return "mesh: " + string(c) }

// ReplyError says that a message left, and that no reply came of it.
type ReplyError struct {
	Code  ReplyCode
	Node  string // the target's node
	Actor string // the target's name
	Err   error  // a *RemoteError, a context's error, or how decoding failed
}

func (e *ReplyError) Error() string {
	s := fmt.Sprintf("call %s on %s: %s", e.Actor, e.Node, replyText[e.Code])
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

var replyText = map[ReplyCode]string{
	ReplyRemote:       "refused",
	ReplyDisconnected: "the node was lost, the outcome is unknown",
	ReplyTimeout:      "no reply in time, the outcome is unknown",
	ReplyDecode:       "the reply cannot be decoded",
}

// Is reports whether target is the error's code.
func (e *ReplyError) Is(target error) bool { return target == error(e.Code) }

// Unwrap returns the cause.
func (e *ReplyError) Unwrap() error { return e.Err }

// RemoteCode is what the node of an actor answered instead of a reply.
type RemoteCode string

// The codes of a [RemoteError].
const (
	// RemoteUnknownMessage: that node has no such message type registered.
	RemoteUnknownMessage RemoteCode = "unknown_message"
	// RemoteNoSuchActor: no actor there holds that name.
	RemoteNoSuchActor RemoteCode = "no_such_actor"
	// RemoteNotAccepted: the actor does not take this message.
	RemoteNotAccepted RemoteCode = "not_accepted"
	// RemoteClosed: the actor is shutting down.
	RemoteClosed RemoteCode = "closed"
	// RemoteOverloaded: too much waits for the actor already.
	RemoteOverloaded RemoteCode = "overloaded"
	// RemoteNoReply: the actor dropped the request without an answer. An actor of
	// this node that does so gives the same error.
	RemoteNoReply RemoteCode = "no_reply"
	// RemoteDecode: the message could not be decoded there.
	RemoteDecode RemoteCode = "decode"
	// RemoteEncode: the reply could not be encoded there.
	RemoteEncode RemoteCode = "encode"
	// RemoteTooLarge: the encoded reply is over the limit.
	RemoteTooLarge RemoteCode = "too_large"
	// RemoteUnknown: a code that this version does not know; the other node is newer.
	RemoteUnknown RemoteCode = "unknown"
)

// Error gives the code as a message.
func (c RemoteCode) Error() string { return "mesh: remote " + string(c) }

// onWire lists the remote codes by their number on the wire; 0 is no error.
var onWire = [...]RemoteCode{
	1: RemoteUnknownMessage, 2: RemoteNoSuchActor, 3: RemoteNotAccepted, 4: RemoteClosed, 5: RemoteOverloaded,
	6: RemoteNoReply, 7: RemoteDecode, 8: RemoteEncode, 9: RemoteTooLarge,
}

// remoteCode reads a code from the wire.
func remoteCode(b uint8) RemoteCode {
	if b == 0 || int(b) >= len(onWire) {
		return RemoteUnknown
	}
	return onWire[b]
}

// wireCode is a code's number on the wire.
func (c RemoteCode) wireCode() uint8 {
	for i, known := range onWire {
		if known == c && i > 0 {
			return uint8(i)
		}
	}
	return 255 // RemoteUnknown passed on
}

// RemoteError is what the node of an actor answered instead of a reply.
type RemoteError struct {
	Code   RemoteCode
	Detail string // what that node had to say about it; may be empty
}

func (e *RemoteError) Error() string {
	s := remoteText[e.Code]
	if e.Detail != "" {
		s += ": " + e.Detail
	}
	return s
}

var remoteText = map[RemoteCode]string{
	RemoteUnknownMessage: "the message type is not registered there",
	RemoteNoSuchActor:    "no actor holds that name",
	RemoteNotAccepted:    "the actor does not take this message",
	RemoteClosed:         "the actor is shutting down",
	RemoteOverloaded:     "the actor is overloaded",
	RemoteNoReply:        "the actor dropped the request",
	RemoteDecode:         "the message could not be decoded there",
	RemoteEncode:         "the reply could not be encoded there",
	RemoteTooLarge:       "the reply is too large",
	RemoteUnknown:        "an error that this version does not know",
}

// Is reports whether target is the error's code.
func (e *RemoteError) Is(target error) bool { return target == error(e.Code) }

// AddressCode says why a name could not be resolved.
type AddressCode string

// The codes of an [AddressError].
const (
	// AddressNoSuchActor: no actor holds that name.
	AddressNoSuchActor AddressCode = "address_no_such_actor"
	// AddressTypeMismatch: the actor does not take these messages.
	AddressTypeMismatch AddressCode = "address_type_mismatch"
	// AddressRemote: the node could not be asked; the cause is an [OpError].
	AddressRemote AddressCode = "address_remote"
)

// Error gives the code as a message.
func (c AddressCode) Error() string { return "mesh: " + string(c) }

// AddressError says why [Resolve] could not resolve a name.
type AddressError struct {
	Code  AddressCode
	Node  string
	Actor string
	Err   error // with AddressRemote: why
}

func (e *AddressError) Error() string {
	s := fmt.Sprintf("resolve %s on %s: %s", e.Actor, e.Node, addressText[e.Code])
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

var addressText = map[AddressCode]string{
	AddressNoSuchActor:  "no actor holds that name",
	AddressTypeMismatch: "the actor does not take these messages",
	AddressRemote:       "the node could not be asked",
}

// Is reports whether target is the error's code.
func (e *AddressError) Is(target error) bool { return target == error(e.Code) }

// Unwrap returns the cause.
func (e *AddressError) Unwrap() error { return e.Err }

// OpCode says on which side of the wire an operation failed.
type OpCode string

// The codes of an [OpError].
const (
	// OpNotSent: the operation never left; the cause is a [SendError].
	OpNotSent OpCode = "op_not_sent"
	// OpReply: it left, and no reply came; the cause is a [ReplyError].
	OpReply OpCode = "op_reply"
)

// Error gives the code as a message.
func (c OpCode) Error() string { return "mesh: " + string(c) }

// OpError says why an operation on an actor failed.
type OpError struct {
	Code OpCode
	Op   string // which: "shutdown", "ping"
	Err  error  // a *SendError or a *ReplyError
}

func (e *OpError) Error() string { return e.Op + ": " + e.Err.Error() }

// Is reports whether target is the error's code.
func (e *OpError) Is(target error) bool { return target == error(e.Code) }

// Unwrap returns the cause.
func (e *OpError) Unwrap() error { return e.Err }

// OutcomeUnknown reports whether the message that err is about may have been
// handled: it left, and what came back does not say that it was refused before an
// actor began it. Who sends such a message again must be able to bear it twice.
func OutcomeUnknown(err error) bool {
	reply, ok := errors.AsType[*ReplyError](err)
	if !ok {
		return false
	}
	if reply.Code != ReplyRemote {
		return true
	}
	for _, refused := range []RemoteCode{
		RemoteUnknownMessage, RemoteNoSuchActor, RemoteNotAccepted, RemoteClosed, RemoteOverloaded, RemoteDecode,
	} {
		if errors.Is(err, refused) {
			return false
		}
	}
	return true
}
