// Package tlstest makes authorities and certificates for tests, as PEM files.
package tlstest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/pawl-go/pawl/internal/tlsfiles"
)

// CA is an authority that lives as long as a test.
type CA struct{ *authority }

// New makes an authority of a name.
func New(t *testing.T, name string) *CA {
	t.Helper()
	a, err := newAuthority(t.TempDir(), name)
	if err != nil {
		t.Fatal(err)
	}
	return &CA{a}
}

// Authority is the file with its certificate.
func (ca *CA) Authority() tlsfiles.Authority {
	return tlsfiles.Authority(filepath.Join(ca.dir, "ca.pem"))
}

// Pair signs a certificate of a name, good for servers at the loopback addresses
// and "localhost", and for clients.
func (ca *CA) Pair(t *testing.T, name string) tlsfiles.Pair {
	t.Helper()
	if err := ca.pair(name); err != nil {
		t.Fatal(err)
	}
	return tlsfiles.Pair{Cert: filepath.Join(ca.dir, name+".pem"), Key: filepath.Join(ca.dir, name+".key")}
}

// Make puts an authority into a directory, ca.pem, and what it has signed for each
// of some names, as Pair does: NAME.pem and NAME.key.
func Make(dir string, names ...string) error {
	a, err := newAuthority(dir, "authority")
	for _, name := range names {
		if err == nil {
			err = a.pair(name)
		}
	}
	return err
}

type authority struct {
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	next int64
}

func newAuthority(dir, name string) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make key: %w", err)
	}
	form := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Unix(0, 0), NotAfter: time.Unix(1<<33, 0),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	a := &authority{dir: dir, key: key}
	a.cert, err = a.sign(form, form, &key.PublicKey, "ca.pem")
	return a, err
}

func (a *authority) pair(name string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("make key: %w", err)
	}
	a.next++
	_, err = a.sign(&x509.Certificate{
		SerialNumber: big.NewInt(1 + a.next), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Unix(0, 0), NotAfter: time.Unix(1<<33, 0),
		DNSNames: []string{"localhost", name}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}, a.cert, &key.PublicKey, name+".pem")
	if err != nil {
		return err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return fmt.Errorf("encode key: %w", err)
	}
	return a.write(name+".key", "PRIVATE KEY", der)
}

func (a *authority) sign(form, parent *x509.Certificate, of *ecdsa.PublicKey, file string) (*x509.Certificate, error) {
	der, err := x509.CreateCertificate(rand.Reader, form, parent, of, a.key)
	if err != nil {
		return nil, fmt.Errorf("sign certificate: %w", err)
	}
	if err := a.write(file, "CERTIFICATE", der); err != nil {
		return nil, err
	}
	return x509.ParseCertificate(der)
}

func (a *authority) write(file, kind string, der []byte) error {
	return os.WriteFile(filepath.Join(a.dir, file), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
}
