package replica

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"

	"github.com/pawl-go/pawl/queue/replica/wire"
)

// verifyServer checks the certificate of a host that was dialled: its chain, and
// that it is that host's.
func verifyServer(s tls.ConnectionState, cfg *tls.Config, p Peer) error {
	if len(s.PeerCertificates) == 0 {
		return errors.New("the host has no certificate")
	}
	o := x509.VerifyOptions{Roots: cfg.RootCAs, Intermediates: x509.NewCertPool()}
	for _, c := range s.PeerCertificates[1:] {
		o.Intermediates.AddCert(c)
	}
	if _, err := s.PeerCertificates[0].Verify(o); err != nil {
		return err
	}
	return verifyName(s, p)
}

// verifyName checks that a certificate, whose chain has been checked, is that of
// the host: valid for its name or for its address.
func verifyName(s tls.ConnectionState, p Peer) error {
	cert := s.PeerCertificates[0]
	err := cert.VerifyHostname(p.Name)
	if err == nil {
		return nil
	}
	if addr, _, serr := net.SplitHostPort(p.Addr); serr == nil && cert.VerifyHostname(addr) == nil {
		return nil
	}
	return fmt.Errorf("%w: its certificate is not that of host %d: %w", wire.ErrIdentity, p.ID, err)
}
