package tlsfiles_test

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pawl-go/pawl/internal/tlsfiles"
	"github.com/pawl-go/pawl/internal/tlsfiles/tlstest"
)

// talk lets a client and a server shake hands and exchange a byte, and gives the
// errors of both.
func talk(t *testing.T, server, client *tls.Config) (serverErr, clientErr error) {
	t.Helper()
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	said := make(chan error, 1)
	go func() {
		c, err := l.Accept()
		if err == nil {
			s := tls.Server(c, server)
			_, err = io.Copy(s, io.LimitReader(s, 1))
			_ = s.Close()
		}
		said <- err
	}()
	c, err := (&tls.Dialer{Config: client}).DialContext(t.Context(), "tcp", l.Addr().String())
	if err == nil {
		_, err = c.Write([]byte("x"))
		if err == nil {
			_, err = io.ReadFull(c, make([]byte, 1))
		}
		_ = c.Close()
	}
	return <-said, err
}

func TestWhoMayTalk(t *testing.T) {
	ours, theirs := tlstest.New(t, "ours"), tlstest.New(t, "theirs")
	pair, stranger := ours.Pair(t, "node"), theirs.Pair(t, "node")
	for name, c := range map[string]struct {
		own     tlsfiles.Pair
		clients tlsfiles.Authority
		servers tlsfiles.Authority
		shown   tlsfiles.Pair
		host    string
		refused string
	}{
		"tls":                               {own: pair, servers: ours.Authority()},
		"mutual":                            {own: pair, clients: ours.Authority(), servers: ours.Authority(), shown: pair},
		"by name":                           {own: pair, servers: ours.Authority(), host: "localhost"},
		"another name":                      {own: pair, servers: ours.Authority(), host: "elsewhere", refused: "not elsewhere"},
		"a server of another authority":     {own: stranger, servers: ours.Authority(), refused: "unknown authority"},
		"the machine's authorities":         {own: pair, servers: tlsfiles.System, refused: "unknown authority"},
		"no certificate of the client":      {own: pair, clients: ours.Authority(), servers: ours.Authority(), refused: "didn't provide a certificate"},
		"a client of another authority":     {own: pair, clients: ours.Authority(), servers: ours.Authority(), shown: stranger, refused: "certificate"},
		"a certificate nobody has asked of": {own: pair, servers: ours.Authority(), shown: stranger},
	} {
		t.Run(name, func(t *testing.T) {
			server, err := tlsfiles.Server(c.own, c.clients)
			if err != nil {
				t.Fatal(err)
			}
			if c.host == "" {
				c.host = "127.0.0.1"
			}
			client, err := tlsfiles.Client(c.host, c.servers, c.shown)
			if err != nil {
				t.Fatal(err)
			}
			se, ce := talk(t, server, client)
			err = errors.Join(se, ce)
			switch {
			case c.refused == "" && err != nil:
				t.Errorf("server: %v, client: %v", se, ce)
			case c.refused != "" && (err == nil || !strings.Contains(err.Error(), c.refused)):
				t.Errorf("server: %v, client: %v; want %q", se, ce, c.refused)
			}
		})
	}
}

func TestFilesThatAreWrong(t *testing.T) {
	ca := tlstest.New(t, "ca")
	pair := ca.Pair(t, "node")
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	server := func(own tlsfiles.Pair, clients tlsfiles.Authority) error {
		_, err := tlsfiles.Server(own, clients)
		return err
	}
	client := func(servers tlsfiles.Authority, own tlsfiles.Pair) error {
		_, err := tlsfiles.Client("localhost", servers, own)
		return err
	}
	for want, err := range map[string]error{
		"go together":                   server(tlsfiles.Pair{Cert: pair.Cert}, ""),
		"without a certificate":         server(tlsfiles.Pair{}, ca.Authority()),
		"no such file":                  server(tlsfiles.Pair{Cert: "none", Key: pair.Key}, ""),
		"name a file":                   server(pair, tlsfiles.System),
		"there is none in " + empty:     server(pair, tlsfiles.Authority(empty)),
		"name its file, or \"system\"":  client("", pair),
		"certificates of the authority": client("none", tlsfiles.Pair{}),
		"failed to find any PEM data":   client(ca.Authority(), tlsfiles.Pair{Cert: empty, Key: pair.Key}),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if c, err := tlsfiles.Server(tlsfiles.Pair{}, ""); c != nil || err != nil {
		t.Errorf("a server without TLS: %v, %v", c, err)
	}
	if c, err := tlsfiles.Client("localhost", "", tlsfiles.Pair{}); c != nil || err != nil {
		t.Errorf("a client without TLS: %v, %v", c, err)
	}
}
