package mesh_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"math/big"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/pawl-go/pawl/mesh"
)

// authority signs certificates of nodes.
type authority struct {
	t    *testing.T
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{t: t}
	a.key, a.cert = a.sign(&x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign,
	})
	return a
}

func (a *authority) sign(template *x509.Certificate) (*ecdsa.PrivateKey, *x509.Certificate) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	template.NotBefore, template.NotAfter = time.Unix(0, 0), time.Unix(1<<33, 0)
	parent, signer := template, key
	if a.cert != nil {
		parent, signer = a.cert, a.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		a.t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	return key, cert
}

// config is the TLS configuration of a node with a certificate for name.
func (a *authority) config(name string) *tls.Config {
	key, cert := a.sign(&x509.Certificate{
		SerialNumber: big.NewInt(2), DNSNames: []string{name},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	})
	roots := x509.NewCertPool()
	roots.AddCert(a.cert)
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{cert.Raw}, PrivateKey: key}}, RootCAs: roots}
}

// Two nodes with certificates for their names are linked; one whose certificate is
// for another name, or another authority's, is refused on both sides.
func TestTLS(t *testing.T) {
	ours, others := newAuthority(t), newAuthority(t)
	withTLS := func(cfg *tls.Config) func(*mesh.Config) {
		return func(c *mesh.Config) { c.TLS, c.Secret = cfg, nil }
	}
	b := startTCP(t, "b", withTLS(ours.config("b")))
	toB := func(c *mesh.Config) { c.Members = mesh.Static(mesh.Peer{ID: "b", Addr: b.Addr()}) }
	a := startTCP(t, "a", withTLS(ours.config("a")), toB)
	if err := a.WaitForMembers(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	spawn(t, b, "echo", func(c *mesh.Context, m []byte) error { return c.Reply(m) })
	large := make([]byte, 1<<20)
	if got, err := mesh.Call[[]byte](t.Context(), mesh.At(a, mesh.Address[[]byte]{Node: "b", Name: "echo"}), large); err != nil || len(got) != len(large) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	for name, cfg := range map[string]*tls.Config{
		"a certificate for another name": ours.config("a"), "another authority's": others.config("mallory"),
	} {
		m := startTCP(t, "mallory", withTLS(cfg), toB)
		before := b.Counters().HandshakesRefused
		to := mesh.At(m, mesh.Address[[]byte]{Node: "b", Name: "echo"})
		var err error
		for err == nil || errors.Unwrap(err) == nil { // until the first dial has failed
			err = to.TryCast(nil)
			if !errors.Is(err, mesh.SendUnreachable) {
				t.Fatalf("%s: %v", name, err)
			}
		}
		t.Logf("%s: %v", name, err)
		for b.Counters().HandshakesRefused == before { // until b has noticed too
			runtime.Gosched()
		}
		if len(b.Members()) != 2 {
			t.Errorf("%s: %+v", name, b.Members())
		}
		m.Close()
	}
}

// A node that others could reach needs to know who they are; other mistakes are
// found at the start too, and the error says what to do.
func TestConfigIsChecked(t *testing.T) {
	for _, c := range []struct {
		cfg  mesh.Config
		want string
	}{
		{mesh.Config{}, "ID has 1 to 255 bytes, not 0"},
		{mesh.Config{ID: "a", Listen: "0.0.0.0:0"}, "set TLS or Secret"},
		{mesh.Config{ID: "a", TLS: &tls.Config{MinVersion: tls.VersionTLS13}}, "TLS has no certificate"},
		{mesh.Config{ID: "a", Lanes: 65}, "Lanes is 1 to 64, not 65"},
		{mesh.Config{ID: "a", Limits: mesh.Limits{LaneMessages: -1}}, "Limits.LaneMessages is 1 to 1048576, not -1"},
		{mesh.Config{ID: "a", Timing: mesh.Timing{Silence: time.Second}}, ""},
		{mesh.Config{ID: "a", Timing: mesh.Timing{Silence: 500 * time.Millisecond}}, "less than two heartbeats"},
		{mesh.Config{ID: "a", Members: mesh.Static(mesh.Peer{Addr: "x:1"})}, "needs an ID and an address"},
		{mesh.Config{ID: "a", Messages: []mesh.MessageType{{}}}, "use Message or BinaryMessage"},
		{mesh.Config{ID: "a", Messages: []mesh.MessageType{mesh.Message[number]("x"), mesh.Message[query]("x")}}, "have the same name"},
		{mesh.Config{ID: "a", Messages: []mesh.MessageType{mesh.Message[number]("x"), mesh.Message[number]("y")}}, "it has two names"},
		{mesh.Config{ID: "a", Messages: []mesh.MessageType{mesh.Message[error]("x")}}, "is an interface"},
		{mesh.Config{ID: "a", IncarnationFile: "/dev/null/x"}, "incarnation"},
	} {
		n, err := mesh.Start(c.cfg)
		if err == nil {
			n.Close()
		}
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v: %v, want %q", c.cfg, err, c.want)
		}
	}
}
