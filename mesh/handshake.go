package mesh

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/pawl-go/pawl/mesh/internal/wire"
)

// refusedError is the other node's verdict on a connection of ours.
type refusedError struct {
	verdict wire.Verdict
	known   uint64
}

func (e *refusedError) Error() string {
	if e.verdict == wire.Stale {
		return fmt.Sprintf("refused: %v, %d: is the name used twice, or has the clock gone back? (set Config.IncarnationFile)", e.verdict, e.known)
	}
	return "refused: " + e.verdict.String()
}

var errNoAnswer = errors.New("the other side has closed the connection: is the shared secret the same on both?")

// greet exchanges greetings: from here on each side can prove that it knows the
// secret, for this connection only.
func greet(conn net.Conn, first bool) (said []byte, err error) {
	var nonce [wire.NonceSize]byte
	if _, err := rand.Read(nonce[:]); err != nil {
		return nil, err
	}
	ours := wire.AppendGreeting(nil, wire.Version, nonce)
	if first {
		if _, err := conn.Write(ours); err != nil {
			return nil, err
		}
	}
	theirs := make([]byte, wire.GreetSize)
	if _, err := io.ReadFull(conn, theirs); err != nil {
		return nil, err
	}
	if !first {
		// Before its version is judged, so that the other side can judge ours.
		if _, err := conn.Write(ours); err != nil {
			return nil, err
		}
	}
	if _, err := wire.CheckGreeting(theirs); err != nil {
		return nil, err
	}
	if first {
		return append(ours, theirs...), nil
	}
	return append(theirs, ours...), nil
}

// prove sends b with the code that proves the secret.
func prove(conn net.Conn, secret []byte, side string, said, b []byte) error {
	out := binary.LittleEndian.AppendUint16(nil, uint16(len(b)))
	out = append(out, b...)
	out = append(out, wire.Code(secret, side, said, b)...)
	_, err := conn.Write(out)
	return err
}

// proven reads what the other side has proven. Nothing of it is looked at before.
func proven(conn net.Conn, secret []byte, side string, said []byte) ([]byte, error) {
	var size [2]byte
	if _, err := io.ReadFull(conn, size[:]); err != nil {
		return nil, err
	}
	n := int(binary.LittleEndian.Uint16(size[:]))
	if n > wire.MaxIdentity {
		return nil, wire.ErrMalformed
	}
	b := make([]byte, n+wire.CodeSize)
	if _, err := io.ReadFull(conn, b); err != nil {
		return nil, err
	}
	if !wire.CheckCode(b[n:], secret, side, said, b[:n]) {
		return nil, wire.ErrAuth
	}
	return b[:n], nil
}

// handshakeD is the dialler's side. commit is asked before this node says who it is, and
// completes what it says.
func (n *Node) handshakeD(conn net.Conn, id wire.Identity, commit func(*wire.Identity) bool) (wire.Identity, error) {
	said, err := greet(conn, true)
	if err != nil {
		return wire.Identity{}, err
	}
	if !commit(&id) {
		return wire.Identity{}, errGivenUp
	}
	mine := wire.AppendIdentity(nil, id)
	if err := prove(conn, n.cfg.Secret, "D", said, mine); err != nil {
		return wire.Identity{}, err
	}
	b, err := proven(conn, n.cfg.Secret, "X", append(said, mine...))
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = errNoAnswer
	}
	if err != nil {
		return wire.Identity{}, err
	}
	answer, err := wire.ParseReception(b)
	if err != nil {
		return wire.Identity{}, err
	}
	if answer.Verdict != wire.Welcome {
		return wire.Identity{}, &refusedError{answer.Verdict, answer.Known}
	}
	if id.Target != "" && answer.Identity.Node != id.Target {
		return wire.Identity{}, &refusedError{verdict: wire.WrongNode}
	}
	return answer.Identity, checkCertificate(conn, answer.Identity.Node)
}

// errGivenUp: the dial is not needed any more.
var errGivenUp = errors.New("given up: the other node's own connection is kept")

// handshakeX is the accepting side: it returns who has dialled, and how to answer.
func (n *Node) handshakeX(conn net.Conn) (who wire.Identity, answer func(wire.Reception) error, err error) {
	said, err := greet(conn, false)
	if err != nil {
		return who, nil, err
	}
	b, err := proven(conn, n.cfg.Secret, "D", said)
	if err != nil {
		return who, nil, err
	}
	if who, err = wire.ParseIdentity(b); err != nil {
		return who, nil, err
	}
	said = append(said, b...)
	answer = func(a wire.Reception) error {
		return prove(conn, n.cfg.Secret, "X", said, wire.AppendReception(nil, a))
	}
	return who, answer, nil
}

// secure puts TLS over a connection, if it is configured. Both sides show a
// certificate.
func (n *Node) secure(ctx context.Context, conn net.Conn, dialed bool, peer string) (net.Conn, error) {
	if n.cfg.TLS == nil {
		return conn, nil
	}
	cfg := n.cfg.TLS.Clone()
	cfg.MinVersion = tls.VersionTLS13
	cfg.ClientAuth = tls.RequireAndVerifyClientCert
	if cfg.ClientCAs == nil {
		cfg.ClientCAs = cfg.RootCAs
	}
	secured := tls.Server(conn, cfg)
	if dialed {
		cfg.ServerName = peer
		secured = tls.Client(conn, cfg)
	}
	if err := secured.HandshakeContext(ctx); err != nil {
		return nil, fmt.Errorf("TLS: %w", err)
	}
	return secured, nil
}

// checkCertificate checks that the other side's certificate is for the node it
// says it is.
func checkCertificate(conn net.Conn, node string) error {
	secured, ok := conn.(*tls.Conn)
	if !ok {
		return nil
	}
	if err := secured.ConnectionState().PeerCertificates[0].VerifyHostname(node); err != nil {
		return fmt.Errorf("certificate of %q: %w", node, err)
	}
	return nil
}
