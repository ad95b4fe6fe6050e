package config

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"strings"

	"github.com/pawl-go/pawl/queue/replica"
	"github.com/pawl-go/pawl/queue/replica/core"
)

// HostConfig is the configuration of a host of the file, without its queues: who the
// others are, their pace, and how they prove who they are. It reads the files of the
// secret and of TLS.
func (f *File) HostConfig(self Host) (replica.Config, error) {
	cfg := replica.Config{
		Self:              self.ID,
		HeartbeatInterval: f.Context.HeartbeatInterval, HeartbeatTimeout: f.Context.HeartbeatTimeout,
		LeaseTimeout: f.Context.LeaseTimeout,
	}
	for _, h := range f.Hosts {
		cfg.Peers = append(cfg.Peers, replica.Peer{ID: h.ID, Name: h.Name, Addr: h.Address})
	}
	var err error
	if cfg.Secret, err = readSecret(f.Context.SecretFile); err != nil {
		return cfg, err
	}
	cfg.TLS, err = readTLS(f.Context.TLS)
	return cfg, err
}

// ControlPath is where a host of the file has its control socket: host<id>.sock below
// baseSinkPath.
func (f *File) ControlPath(h Host) string {
	name := fmt.Sprintf("host%d.sock", h.ID)
	return f.Dir(Queue{Path: name, Hosts: []core.HostID{h.ID}}, h.ID)
}

// readSecret reads the secret that the hosts share, which must be nobody else's.
func readSecret(path string) ([]byte, error) {
	if path == "" {
		return nil, nil
	}
	fi, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("read secret: %w", err)
	}
	if fi.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("read secret: others may read %s (%v): chmod 600 it", path, fi.Mode().Perm())
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read secret: %w", err)
	}
	secret := strings.TrimSpace(string(b))
	if len(secret) < 16 {
		return nil, fmt.Errorf("read secret: %s has %d bytes, want 16 at least, such as openssl rand -hex 32 makes", path, len(secret))
	}
	return []byte(secret), nil
}

func readTLS(t TLS) (*tls.Config, error) {
	if t.CertFile == "" {
		return nil, nil
	}
	cert, err := tls.LoadX509KeyPair(t.CertFile, t.KeyFile)
	if err != nil {
		return nil, fmt.Errorf("read certificate: %w", err)
	}
	pem, err := os.ReadFile(t.CAFile)
	if err != nil {
		return nil, fmt.Errorf("read certificates of the authority: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("read certificates of the authority: %s has none", t.CAFile)
	}
	return &tls.Config{Certificates: []tls.Certificate{cert}, RootCAs: pool, ClientCAs: pool, MinVersion: tls.VersionTLS13}, nil
}
