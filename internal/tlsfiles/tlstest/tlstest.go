// Package tlstest makes authorities and certificates for tests, as PEM files.
package tlstest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/pawl-go/pawl/internal/tlsfiles"
)

// CA is an authority that lives as long as a test.
type CA struct {
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	next int64
}

// New makes an authority of a name.
func New(t *testing.T, name string) *CA {
	t.Helper()
	ca := &CA{dir: t.TempDir(), key: newKey(t)}
	form := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Unix(0, 0), NotAfter: time.Unix(1<<33, 0),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	ca.cert = ca.sign(t, form, form, &ca.key.PublicKey, "ca.pem")
	return ca
}

// Authority is the file with its certificate.
func (ca *CA) Authority() tlsfiles.Authority {
	return tlsfiles.Authority(filepath.Join(ca.dir, "ca.pem"))
}

// Pair signs a certificate of a name, good for servers at the loopback addresses
// and "localhost", and for clients.
func (ca *CA) Pair(t *testing.T, name string) tlsfiles.Pair {
	t.Helper()
	ca.next++
	key := newKey(t)
	ca.sign(t, &x509.Certificate{
		SerialNumber: big.NewInt(1 + ca.next), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Unix(0, 0), NotAfter: time.Unix(1<<33, 0),
		DNSNames: []string{"localhost", name}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}, ca.cert, &key.PublicKey, name+".pem")
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return tlsfiles.Pair{
		Cert: filepath.Join(ca.dir, name+".pem"),
		Key:  write(t, filepath.Join(ca.dir, name+".key"), "PRIVATE KEY", der),
	}
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func (ca *CA) sign(t *testing.T, form, parent *x509.Certificate, of *ecdsa.PublicKey, file string) *x509.Certificate {
	t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, form, parent, of, ca.key)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(ca.dir, file), "CERTIFICATE", der)
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return cert
}

func write(t *testing.T, path, kind string, der []byte) string {
	t.Helper()
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
