package wire

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/pawl-go/pawl/queue/replica/core"
)

// Version is the version of what is spoken: of frames, of messages and of control
// entries. Hosts of different versions refuse each other. Version 2 added Status and
// Update.
const Version = 2

const (
	helloMagic = "PAWLREPL"
	nonceBytes = 32
	helloFixed = 8 + 2 + 1 + 1 + nonceBytes
	// MaxName bounds the name of a cluster or a queue, in bytes.
	MaxName = 255
	// MaxQueues bounds the queues in a Hello.
	MaxQueues = 1 << 14
	// ProofBytes is the length of the body of a Proof.
	ProofBytes = sha256.Size
)

// Errors of a handshake. A peer that gets one should be told with a Refuse.
var (
	// ErrHello is wrapped when a Hello cannot be read.
	ErrHello = errors.New("bad hello")
	// ErrVersion is wrapped when the peer speaks another version.
	ErrVersion = errors.New("another version")
	// ErrIdentity is wrapped when the peer is, or means, another host or cluster.
	ErrIdentity = errors.New("another identity")
	// ErrProof is wrapped when the peer does not know the secret.
	ErrProof = errors.New("bad proof: the secrets of the two hosts differ")
)

// Greeting is the content of a Hello.
//
//	0       8         10     11   12      44
//	│ magic │ version │ from │ to │ nonce │ cluster │ count │ queue ...
//
// Cluster and queues are texts of up to 255 bytes, each behind a byte with its
// length; count has two bytes.
type Greeting struct {
	From, To core.HostID
	Nonce    [nonceBytes]byte // from a secure source, new for each connection
	Cluster  string           // what both must be configured with; may be empty
	Queues   []string         // that From has in common with To; frames name them by position
}

// Encode returns the body of the Hello.
func (g Greeting) Encode() ([]byte, error) {
	if len(g.Queues) > MaxQueues {
		return nil, fmt.Errorf("write hello: %d queues, the limit is %d", len(g.Queues), MaxQueues)
	}
	b := make([]byte, 0, helloFixed+64)
	b = append(b, helloMagic...)
	b = binary.LittleEndian.AppendUint16(b, Version)
	b = append(b, byte(g.From), byte(g.To))
	b = append(b, g.Nonce[:]...)
	for k, name := range append([]string{g.Cluster}, g.Queues...) {
		if len(name) > MaxName || k > 0 && name == "" {
			return nil, fmt.Errorf("write hello: name of %d bytes, want 1 to %d", len(name), MaxName)
		}
		b = append(append(b, byte(len(name))), name...)
		if k == 0 {
			b = binary.LittleEndian.AppendUint16(b, uint16(len(g.Queues)))
		}
	}
	return b, nil
}

// DecodeGreeting reads the body of a Hello. Its errors match ErrHello or
// ErrVersion.
func DecodeGreeting(b []byte) (Greeting, error) {
	var g Greeting
	if len(b) < helloFixed+3 || string(b[:8]) != helloMagic {
		return g, fmt.Errorf("read hello: %w: it does not come from a host that copies queues", ErrHello)
	}
	if v := binary.LittleEndian.Uint16(b[8:]); v != Version {
		return g, fmt.Errorf("read hello: %w: %d, this is %d: bring both hosts to the same release", ErrVersion, v, Version)
	}
	g.From, g.To = core.HostID(b[10]), core.HostID(b[11])
	copy(g.Nonce[:], b[12:])
	if g.From == 0 || g.From > core.MaxHosts || g.To == 0 || g.To > core.MaxHosts || g.From == g.To {
		return g, fmt.Errorf("read hello: %w: from host %d to host %d", ErrHello, g.From, g.To)
	}
	var ok bool
	if g.Cluster, b, ok = cutName(b[helloFixed:]); !ok || len(b) < 2 {
		return g, fmt.Errorf("read hello: %w: it is cut", ErrHello)
	}
	n := int(binary.LittleEndian.Uint16(b))
	b = b[2:]
	if n > MaxQueues || 2*n > len(b) {
		return g, fmt.Errorf("read hello: %w: %d queues in %d bytes", ErrHello, n, len(b))
	}
	seen := make(map[string]bool, n)
	for range n {
		var name string
		if name, b, ok = cutName(b); !ok || name == "" || seen[name] {
			return g, fmt.Errorf("read hello: %w: a queue has no name, or the same as another", ErrHello)
		}
		seen[name] = true
		g.Queues = append(g.Queues, name)
	}
	if len(b) != 0 {
		return g, fmt.Errorf("read hello: %w: %d bytes too many", ErrHello, len(b))
	}
	return g, nil
}

func cutName(b []byte) (string, []byte, bool) {
	if len(b) == 0 || len(b) < 1+int(b[0]) {
		return "", nil, false
	}
	n := 1 + int(b[0])
	return string(b[1:n]), b[n:], true
}

// Meets checks that the two sides of a connection mean each other. Its errors
// match ErrIdentity.
func (g Greeting) Meets(peer Greeting) error {
	switch {
	case peer.Cluster != g.Cluster:
		return fmt.Errorf("meet host %d: %w: its cluster is %q, this is %q", peer.From, ErrIdentity, peer.Cluster, g.Cluster)
	case peer.To != g.From:
		return fmt.Errorf("meet host %d: %w: it means host %d, this is %d: see connectUri", peer.From, ErrIdentity, peer.To, g.From)
	case peer.From != g.To:
		return fmt.Errorf("meet host %d: %w: it is host %d: see connectUri", g.To, ErrIdentity, peer.From)
	case peer.Nonce == g.Nonce:
		return fmt.Errorf("meet host %d: %w: it repeats what this host says", peer.From, ErrIdentity)
	}
	return nil
}

// Prove makes the body of a Proof, by the host from, of a connection that began
// with two Hellos. Binding is what TLS exports for the connection, or empty.
func Prove(secret []byte, from core.HostID, dialler, acceptor, binding []byte) []byte {
	mac := hmac.New(sha256.New, secret)
	var b []byte
	for _, part := range [][]byte{[]byte("pawl queue replica proof 1"), {byte(from)}, dialler, acceptor, binding} {
		b = binary.LittleEndian.AppendUint32(b[:0], uint32(len(part)))
		mac.Write(b)
		mac.Write(part)
	}
	return mac.Sum(nil)
}

// CheckProof checks the body of the peer's Proof; from is the peer. Its errors
// match ErrProof.
func CheckProof(proof, secret []byte, from core.HostID, dialler, acceptor, binding []byte) error {
	if !hmac.Equal(proof, Prove(secret, from, dialler, acceptor, binding)) {
		return fmt.Errorf("meet host %d: %w", from, ErrProof)
	}
	return nil
}
