package replica_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io"
	"math/big"
	mrand "math/rand/v2"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pawl-go/pawl/queue/replica"
	"github.com/pawl-go/pawl/queue/replica/core"
	"github.com/pawl-go/pawl/queue/replica/wire"
)

// authority issues certificates for hosts.
type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pool *x509.CertPool
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{t: t, pool: x509.NewCertPool()}
	a.key = newKey(t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"}, NotAfter: time.Unix(1<<33, 0),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &a.key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	a.pool.AddCert(a.cert)
	return a
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// config is that of a host of that name.
func (a *authority) config(name string) *tls.Config {
	a.t.Helper()
	key := newKey(a.t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), DNSNames: []string{name}, NotAfter: time.Unix(1<<33, 0),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &key.PublicKey, a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	return &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}},
		RootCAs:      a.pool, ClientCAs: a.pool, MinVersion: tls.VersionTLS13,
	}
}

func TestHostsOverTLS(t *testing.T) {
	a := newAuthority(t)
	c := newCluster(t, 3, func(cfg *replica.Config) {
		cfg.Secret = nil
		cfg.TLS = a.config(fmt.Sprintf("host-%d", cfg.Self))
	})
	c.openAll()
	c.awaitSource(1)
	for k := range 50 {
		c.append(1, fmt.Sprint(k, strings.Repeat(".", 2000)))
	}
	if ms := c.same(c.append(1, "end")); len(ms) != 51 {
		t.Fatalf("%d messages", len(ms))
	}
}

// TestStrangersAreRefused: who has another secret, the certificate of another host
// or of another authority, or another cluster, gets nowhere, and an event says why.
func TestStrangersAreRefused(t *testing.T) {
	a := newAuthority(t)
	for name, spoil := range map[string]func(*replica.Config){
		"another secret":      func(cfg *replica.Config) { cfg.Secret = []byte("wrong") },
		"no secret":           func(cfg *replica.Config) { cfg.Secret, cfg.Insecure = nil, true },
		"another cluster":     func(cfg *replica.Config) { cfg.Cluster = "other" },
		"another authority":   func(cfg *replica.Config) { cfg.TLS = newAuthority(t).config("host-2") },
		"another certificate": func(cfg *replica.Config) { cfg.TLS = a.config("host-7") },
		"no TLS":              func(cfg *replica.Config) { cfg.TLS = nil },
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, 2, func(cfg *replica.Config) {
				fast(cfg)
				if strings.Contains(name, "auth") || strings.Contains(name, "cert") || strings.Contains(name, "TLS") {
					cfg.TLS = a.config(fmt.Sprintf("host-%d", cfg.Self))
				}
				if cfg.Self == 2 {
					spoil(cfg)
				}
			})
			c.openAll()
			e, err := c.events.await(c.ctx(), func(e replica.Event) bool { return e.Kind == replica.EventRefuse })
			if _, ok := errors.AsType[*replica.PeerError](e.Err); err != nil || !ok {
				t.Fatalf("%+v %v", e, err)
			}
			if _, err := c.queue(1).Append(c.ctx(), nil); !errors.As(err, new(*replica.LockedError)) {
				t.Fatalf("append without the other host: %v", err)
			}
		})
	}
}

// recorder keeps what a host sends when it connects.
type recorder struct {
	net.Conn
	mu   sync.Mutex
	sent bytes.Buffer
}

func (r *recorder) Write(b []byte) (int, error) {
	r.mu.Lock()
	r.sent.Write(b)
	r.mu.Unlock()
	return r.Conn.Write(b)
}

func (r *recorder) all() []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	return bytes.Clone(r.sent.Bytes())
}

// TestHostilePeer: strangers that send garbage, wild lengths, nothing at all, or what
// a host has sent before, change nothing.
func TestHostilePeer(t *testing.T) {
	seed := mrand.Uint64()
	t.Logf("seed %d", seed)
	r := mrand.New(mrand.NewPCG(seed, 2))
	var first atomic.Pointer[recorder]
	c := newCluster(t, 2, func(cfg *replica.Config) {
		if cfg.Self == 2 {
			cfg.Dial = func(ctx context.Context, addr string) (net.Conn, error) {
				var d net.Dialer
				conn, err := d.DialContext(ctx, "tcp", addr)
				if err != nil || first.Load() != nil {
					return conn, err
				}
				rec := &recorder{Conn: conn}
				first.Store(rec)
				return rec, nil
			}
		}
	})
	c.openAll()
	c.awaitSource(1)
	c.awaitAll(c.append(1, "before"))
	replay := first.Load().all()
	greeting, err := wire.Greeting{From: 2, To: 1, Cluster: "test", Queues: []string{qname}}.Encode()
	if err != nil {
		t.Fatal(err)
	}
	hello, err := wire.Append(nil, wire.Frame{Type: wire.Hello, Body: greeting})
	if err != nil {
		t.Fatal(err)
	}
	attacks := [][]byte{replay, nil, []byte("GET / HTTP/1.1\r\n\r\n"), bytes.Repeat([]byte{0xff}, 100), {0xff, 0xff, 0xff, 0x7f, 1, 0, 0, 0}, hello}
	for range 40 {
		b := bytes.Clone(replay[:1+r.IntN(len(replay))])
		b[r.IntN(len(b))] ^= byte(1 + r.IntN(255))
		attacks = append(attacks, b)
	}
	for k, attack := range attacks {
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", c.addrs[1])
		if err != nil {
			t.Fatal(err)
		}
		_, _ = conn.Write(attack) // it may have been closed already
		_ = conn.(*net.TCPConn).CloseWrite()
		answer, _ := io.ReadAll(conn)
		_ = conn.Close()
		if bytes.Contains(answer, []byte("before")) {
			t.Fatalf("attack %d was told %q", k, answer)
		}
	}
	if ms := c.same(c.append(1, "after")); len(ms) != 2 {
		t.Fatalf("%v", ms)
	}
	c.events.mu.Lock()
	defer c.events.mu.Unlock()
	for _, e := range c.events.raw {
		if e.Kind == replica.EventDown || e.Kind == core.NoticeProtocol {
			t.Fatalf("an attack has ended a connection: %+v", e)
		}
	}
}
