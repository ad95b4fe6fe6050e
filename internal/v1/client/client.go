// Package client reaches the HTTP face of a running application (package v1):
// over the Unix socket in its data directory, or by http:// to a port.
//
// Its errors are *v1.Problem for what the application answered, and
// [Unreachable] where nobody did.
package client

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/internal/socket"
	"github.com/pawl-go/pawl/internal/tlsfiles"
	"github.com/pawl-go/pawl/internal/v1"
)

// Client is a way to one application. Safe for concurrent use.
type Client struct {
	engine string // as it was named
	base   string
	http   *http.Client

	// Token is sent with each request, if not empty: that of the parameter token_file
	// of pawl://, or what is set before the first request.
	Token string
}

// Unreachable says that nobody answers where the application was looked for.
type Unreachable struct {
	Engine string
	Err    error
}

// Error names the engine and the cause.
func (u *Unreachable) Error() string { return "nobody answers at " + u.Engine + ": " + u.Err.Error() }

// Unwrap gives the cause.
func (u *Unreachable) Unwrap() error { return u.Err }

// Open makes a Client of unix:PATH, a data directory, http(s)://HOST:PORT, or what
// names an engine in a program: local:DIR, pawl:DIR and pawl://HOST:PORT, where
// /v1 answers too. The parameters ?ca=FILE&cert=FILE&key=FILE of https and pawl are
// the authority of the server's certificate (the machine's, if there is none), and
// what the client shows for mutual TLS. It does not connect yet.
func Open(engine string) (*Client, error) {
	c := &Client{engine: engine}
	scheme, rest, _ := strings.Cut(engine, ":")
	port, atPort := strings.CutPrefix(rest, "//")
	switch {
	case atPort && (scheme == "http" || scheme == "https" || scheme == "pawl"):
		if err := c.overTCP(); err != nil {
			return nil, fmt.Errorf("open %s: %w", engine, err)
		}
	case scheme == "unix":
		c.overSocket(port)
	case scheme == "local" || scheme == "pawl" || scheme == "pawl+unix":
		dir, _, _ := strings.Cut(port, "?")
		dir, err := url.PathUnescape(dir)
		if err != nil {
			return nil, fmt.Errorf("open %s: %w", engine, err)
		}
		c.overSocket(filepath.Join(dir, v1.SocketName))
	case atPort:
		return nil, fmt.Errorf("open %s: nobody answers /v1 by %s://; use unix:PATH, a data directory, http(s)://HOST:PORT or pawl://HOST:PORT", engine, scheme)
	default:
		c.overSocket(filepath.Join(engine, v1.SocketName))
	}
	return c, nil
}

// overSocket speaks to the socket at path.
func (c *Client) overSocket(path string) {
	c.base = "http://pawl"
	c.http = &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return socket.Dial(ctx, path) },
	}}
}

// overTCP speaks to the port that the engine names. One named by pawl:// speaks
// TLS if the name says something of it, as for a component that joins.
func (c *Client) overTCP() error {
	u, err := url.Parse(c.engine)
	if err != nil {
		return err
	}
	q, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return err
	}
	if u.Scheme == "pawl" {
		if err := c.asComponent(u, q); err != nil {
			return err
		}
	}
	secure, err := parameters(u, q)
	if err != nil {
		return err
	}
	c.base = u.Scheme + "://" + u.Host + strings.TrimSuffix(u.EscapedPath(), "/")
	c.http = &http.Client{Transport: &http.Transport{TLSClientConfig: secure, ForceAttemptHTTP2: true}}
	return nil
}

// asComponent turns the URL of a component's engine into that of its /v1.
func (c *Client) asComponent(u *url.URL, q url.Values) error {
	if file := q.Get("token_file"); file != "" {
		b, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("parameter token_file: %w", err)
		}
		c.Token = strings.TrimSpace(string(b))
	}
	q.Del("token_file")
	q.Del("rejoin") // for who joins
	u.Scheme = "http"
	if len(q) > 0 {
		u.Scheme = "https"
	}
	if u.Port() == "" {
		u.Host = net.JoinHostPort(u.Hostname(), standardPort)
	}
	return nil
}

// standardPort is that of pawl://HOST, as of pawl serve.
const standardPort = "7070"

// parameters reads what the URL of an application says of TLS; nil: nothing.
func parameters(u *url.URL, q url.Values) (*tls.Config, error) {
	if len(q) == 0 {
		return nil, nil
	}
	authority, own := tlsfiles.System, tlsfiles.Pair{Cert: q.Get("cert"), Key: q.Get("key")}
	for name := range q {
		switch {
		case name == "ca":
			authority = tlsfiles.Authority(q.Get(name))
		case name != "cert" && name != "key":
			return nil, fmt.Errorf("unknown parameter %q (there are: ca, cert, key)", name)
		}
	}
	if u.Scheme != "https" {
		return nil, errors.New("the parameters ca, cert and key are for https://")
	}
	secure, err := tlsfiles.Client(u.Hostname(), authority, own)
	if err != nil {
		return nil, fmt.Errorf("parameters ca, cert and key: %w", err)
	}
	return secure, nil
}

// Engine is how the application was named.
func (c *Client) Engine() string { return c.engine }

// Close drops idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Target names a method of an actor.
type Target struct{ Type, ID, Method string }

func (t *Target) path(verb string) string {
	return v1.ActorPath(engine.Actor{Type: t.Type, ID: t.ID}) + "/" + verb + "/" + v1.Segment(t.Method)
}

// do sends a request and reads the whole answer. An answer of 400 and above is
// a *v1.Problem.
func (c *Client) do(ctx context.Context, method, path string, query url.Values, header http.Header, body []byte) (*http.Response, []byte, error) {
	resp, err := c.send(ctx, method, path, query, header, body)
	if err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, nil, c.lost(ctx, err)
	}
	if resp.StatusCode >= 400 {
		return resp, b, problemIn(resp, b)
	}
	return resp, b, nil
}

// send sends a request. The body of the answer is the caller's to close.
func (c *Client) send(ctx context.Context, method, path string, query url.Values, header http.Header, body []byte) (*http.Response, error) {
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	r, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("make request: %w", err)
	}
	maps.Copy(r.Header, header)
	if c.Token != "" {
		r.Header.Set("Authorization", "Bearer "+c.Token)
	}
	if len(body) > 0 && r.Header.Get("Content-Type") == "" {
		r.Header.Set("Content-Type", "application/json")
	}
	resp, err := c.http.Do(r)
	if err != nil {
		return nil, c.lost(ctx, err)
	}
	return resp, nil
}

// lost tells a connection that never came about from one that broke with the
// request on its way: then its outcome is unknown.
func (c *Client) lost(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
		return &Unreachable{Engine: c.engine, Err: op.Err}
	}
	if strings.HasPrefix(err.Error(), "dial ") { // our own shortening of a path
		return &Unreachable{Engine: c.engine, Err: err}
	}
	return &engine.Error{Code: engine.ErrOutcomeUnknown, Err: fmt.Errorf("the connection to %s broke: %w", c.engine, err)}
}

func problemIn(resp *http.Response, b []byte) error {
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	p := &v1.Problem{}
	if media == "application/problem+json" && json.Unmarshal(b, p) == nil && p.Code != "" {
		if p.Invocation == "" {
			p.Invocation = resp.Header.Get(v1.HeaderInvocation)
		}
		return p
	}
	return fmt.Errorf("%s answered %s, which is not Pawl's /v1", resp.Request.URL, resp.Status)
}

// get reads a JSON answer into v.
func (c *Client) get(ctx context.Context, path string, query url.Values, v any) error {
	_, b, err := c.do(ctx, http.MethodGet, path, query, nil, nil)
	if err != nil {
		return err
	}
	return decode(b, v)
}

func decode(b []byte, v any) error {
	if err := json.Unmarshal(b, v); err != nil {
		return fmt.Errorf("decode answer: %w", err)
	}
	return nil
}
