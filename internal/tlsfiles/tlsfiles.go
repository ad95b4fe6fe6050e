// Package tlsfiles makes TLS configurations of the PEM files that an operator
// names: certificates, keys, and authorities. Each side names its own by
// [Pair]; an [Authority] signs those of the other side.
//
//	server   Pair, and an Authority for mutual TLS: clients must show a certificate of it
//	client   Authority of the server, and a Pair for mutual TLS
//
// The oldest version spoken is TLS 1.3. The files are read once: a process that
// is to show another certificate is started anew.
package tlsfiles

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
)

// Pair names the files of a certificate, with what is needed of its chain, and of
// its private key. Zero: none.
type Pair struct{ Cert, Key string }

// Authority names a file with the certificates that sign those of the other side.
// Empty: none. For a client, "system" is what the machine trusts.
type Authority string

// System is the authority that a machine trusts, for clients.
const System Authority = "system"

// errHalf is the error of a certificate without a key, or a key without one.
var errHalf = errors.New("a certificate and its key go together")

// Server makes the configuration of a server that shows own. With clients, its
// clients must show a certificate that clients has signed. It is nil, without an
// error, if nothing is named.
func Server(own Pair, clients Authority) (*tls.Config, error) {
	if own == (Pair{}) {
		if clients != "" {
			return nil, errors.New("an authority for clients without a certificate of the server's own")
		}
		return nil, nil
	}
	pair, err := own.load()
	if err != nil {
		return nil, err
	}
	c := &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{pair}, NextProtos: []string{"h2", "http/1.1"}}
	if clients == "" {
		return c, nil
	}
	if clients == System {
		return nil, errors.New("what the machine trusts is no authority for clients: name a file")
	}
	c.ClientAuth = tls.RequireAndVerifyClientCert
	c.ClientCAs, err = clients.load()
	return c, err
}

// Client makes the configuration of a client that reaches host, whose certificate
// must be of the given authority, and shows own if it is asked to. It is nil,
// without an error, if nothing is named.
func Client(host string, servers Authority, own Pair) (*tls.Config, error) {
	if servers == "" {
		if own != (Pair{}) {
			return nil, fmt.Errorf("a certificate without an authority for the server's: name its file, or %q", System)
		}
		return nil, nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS13, ServerName: host}
	var err error
	if servers != System {
		if c.RootCAs, err = servers.load(); err != nil {
			return nil, err
		}
	}
	if own == (Pair{}) {
		return c, nil
	}
	pair, err := own.load()
	if err != nil {
		return nil, err
	}
	c.Certificates = []tls.Certificate{pair}
	return c, nil
}

func (p Pair) load() (tls.Certificate, error) {
	if p.Cert == "" || p.Key == "" {
		return tls.Certificate{}, errHalf
	}
	c, err := tls.LoadX509KeyPair(p.Cert, p.Key)
	if err != nil {
		return c, fmt.Errorf("read certificate %s and its key %s: %w", p.Cert, p.Key, err)
	}
	return c, nil
}

func (a Authority) load() (*x509.CertPool, error) {
	pem, err := os.ReadFile(string(a))
	if err != nil {
		return nil, fmt.Errorf("read certificates of the authority: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("read certificates of the authority: there is none in %s", a)
	}
	return pool, nil
}
