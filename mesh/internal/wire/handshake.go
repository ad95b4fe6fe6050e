package wire

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
)

// Version is the newest version of the protocol this code speaks, MinVersion
// the oldest. Two nodes speak the smaller of their newest.
const (
	Version    = 1
	MinVersion = 1
)

// Sizes of the handshake, in bytes.
const (
	NonceSize   = 32
	CodeSize    = sha256.Size
	GreetSize   = len(magic) + 2 + NonceSize
	MaxIdentity = 2048
	MaxLanes    = 64 // of one side
)

const magic = "PAWLMESH"

// Errors of the handshake.
var (
	// ErrNotMesh: the other side does not speak this protocol at all.
	ErrNotMesh = errors.New("the other side is no node of a mesh")
	// ErrVersion: the other side speaks only versions this code does not.
	ErrVersion = errors.New("no version of the protocol in common")
	// ErrAuth: the other side does not know the secret.
	ErrAuth = errors.New("the other side does not know the shared secret")
)

// AppendGreeting appends the first thing either side says.
func AppendGreeting(dst []byte, version uint16, nonce [NonceSize]byte) []byte {
	dst = append(dst, magic...)
	dst = binary.LittleEndian.AppendUint16(dst, version)
	return append(dst, nonce[:]...)
}

// CheckGreeting reads the GreetSize bytes of a greeting and returns the version to speak.
func CheckGreeting(b []byte) (version uint16, err error) {
	if len(b) != GreetSize || !bytes.HasPrefix(b, []byte(magic)) {
		return 0, ErrNotMesh
	}
	v := binary.LittleEndian.Uint16(b[len(magic):])
	if v < MinVersion {
		return 0, fmt.Errorf("%w: it speaks %d, this node %d to %d", ErrVersion, v, MinVersion, Version)
	}
	return min(v, Version), nil
}

// Code is the keyed hash with which one side proves that it knows the secret.
// side is "D" or "X", so that one side's cannot be sent back to it; said is
// everything that both have said before it, in order.
func Code(secret []byte, side string, said ...[]byte) []byte {
	h := hmac.New(sha256.New, secret)
	h.Write([]byte("pawl mesh " + side))
	for _, s := range said {
		h.Write(s)
	}
	return h.Sum(nil)
}

// CheckCode reports, in constant time, whether got is that code.
func CheckCode(got, secret []byte, side string, said ...[]byte) bool {
	return hmac.Equal(got, Code(secret, side, said...))
}

// LinkID names a link: random, chosen by who dials it. Zero is none.
type LinkID [16]byte

// Identity is who a node says it is, once that counts. D sends it, and X sends
// it in its answer.
type Identity struct {
	Node        string
	Incarnation uint64
	Addr        string // where the node can be dialled; empty: it cannot
	Observer    bool   // looks in, and is no member
	Target      string // the node D means to reach; empty: whoever answers
	Link        LinkID
	Stream      uint16 // 0: the control stream; k: lane k-1
	Lanes       uint16 // on which the sender sends
	LastLink    LinkID // the last link with this peer that was up
	Received    uint64 // messages taken from LastLink; for a lane, from it in Link
	Dial        uint64 // which dial of the node this is, or of the lane, from 1; one after a later one is stale
}

// AppendIdentity appends it.
func AppendIdentity(dst []byte, id Identity) []byte {
	dst = appendName(dst, id.Node)
	dst = binary.LittleEndian.AppendUint64(dst, id.Incarnation)
	dst = appendName(dst, id.Addr)
	var flags byte
	if id.Observer {
		flags = 1
	}
	dst = appendName(append(dst, flags), id.Target)
	dst = append(dst, id.Link[:]...)
	dst = binary.LittleEndian.AppendUint16(dst, id.Stream)
	dst = binary.LittleEndian.AppendUint16(dst, id.Lanes)
	dst = append(dst, id.LastLink[:]...)
	dst = binary.LittleEndian.AppendUint64(dst, id.Received)
	return binary.LittleEndian.AppendUint64(dst, id.Dial)
}

func (r *reader) identity() Identity {
	id := Identity{
		Node: string(r.name()), Incarnation: r.u64(), Addr: string(r.name()), Observer: r.u8()&1 != 0,
		Target: string(r.name()), Link: r.link(), Stream: r.u16(), Lanes: r.u16(), LastLink: r.link(), Received: r.u64(),
		Dial: r.u64(),
	}
	if id.Node == "" || id.Lanes == 0 || id.Lanes > MaxLanes {
		r.bad = true
	}
	return id
}

func (r *reader) link() (id LinkID) {
	copy(id[:], r.take(len(id)))
	return id
}

// ParseIdentity reads it. Bytes behind it are a newer version's, and ignored.
func ParseIdentity(b []byte) (Identity, error) {
	r := reader{b: b}
	id := r.identity()
	if r.bad {
		return Identity{}, ErrMalformed
	}
	return id, nil
}

// Verdict is X's decision on D's connection.
type Verdict uint8

// The verdicts.
const (
	Welcome      Verdict = 0
	Crossed      Verdict = 1 // X's own connection to D is kept
	Stale        Verdict = 2 // X knows a newer incarnation of D
	WrongNode    Verdict = 3 // X is not whom D means
	SameName     Verdict = 4 // D has X's name
	Leaving      Verdict = 5 // X takes no more
	NoSuchLink   Verdict = 6 // a lane of a link that X does not have
	Unauthorized Verdict = 7 // D's certificate is not for its name
	Excluded     Verdict = 8 // X takes no such member
)

var verdicts = [...]string{
	"welcome", "the other node's own connection is kept", "it knows a newer incarnation of this node",
	"another node listens there", "it has this node's name", "it is leaving", "it does not know the link",
	"the certificate is not for the node's name", "it does not take this node as a member",
}

func (v Verdict) String() string {
	if int(v) < len(verdicts) {
		return verdicts[v]
	}
	return fmt.Sprintf("refused (code %d of a newer version)", uint8(v))
}

// Reception is X's answer.
type Reception struct {
	Verdict  Verdict
	Known    uint64 // with Stale: the incarnation X knows
	Identity Identity
}

// AppendReception appends it.
func AppendReception(dst []byte, a Reception) []byte {
	dst = append(dst, byte(a.Verdict))
	dst = binary.LittleEndian.AppendUint64(dst, a.Known)
	return AppendIdentity(dst, a.Identity)
}

// ParseReception reads it.
func ParseReception(b []byte) (Reception, error) {
	r := reader{b: b}
	a := Reception{Verdict: Verdict(r.u8()), Known: r.u64(), Identity: r.identity()}
	if r.bad {
		return Reception{}, ErrMalformed
	}
	return a, nil
}
