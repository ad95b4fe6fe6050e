package control

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/pawl-go/pawl/queue/replica"
)

// Client asks a running host.
type Client struct {
	path string
	http http.Client
}

// NewClient makes a client for the socket at a path; it connects when it is asked
// something.
func NewClient(path string) *Client {
	c := &Client{path: path}
	c.http.Transport = &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "unix", path)
		},
	}
	return c
}

// Overview asks how all hosts stand with the queues of this one, which waits for the
// answers of the others no longer than the limit, 0 for DefaultPatience. A host that
// has not answered is in the Overview, with the reason.
func (c *Client) Overview(ctx context.Context, limit time.Duration) (Overview, error) {
	path := "/v1/overview"
	if limit > 0 {
		path += "?limitMs=" + strconv.FormatInt(max(1, limit.Milliseconds()), 10)
	}
	var o Overview
	return o, c.do(ctx, http.MethodGet, path, nil, &o)
}

// Status asks how all queues of the host stand.
func (c *Client) Status(ctx context.Context) (Status, error) {
	var s Status
	return s, c.do(ctx, http.MethodGet, "/v1/queues", nil, &s)
}

// Switch hands a queue over from the host to another; the host waits no longer than
// the limit, 0 for none. See replica.Queue.
func (c *Client) Switch(ctx context.Context, queue string, to replica.HostID, limit time.Duration) error {
	req := switchRequest{To: to, limit: limitOf(limit)}
	return c.do(ctx, http.MethodPost, "/v1/queues/"+url.PathEscape(queue)+"/switch", req, &struct{}{})
}

// TakeOver makes the host the source of a queue; it waits no longer than the limit, 0
// for none, and says for whom. See replica.Queue.
func (c *Client) TakeOver(ctx context.Context, queue string, force bool, limit time.Duration) (TakenOver, error) {
	var t TakenOver
	req := takeOverRequest{Force: force, limit: limitOf(limit)}
	return t, c.do(ctx, http.MethodPost, "/v1/queues/"+url.PathEscape(queue)+"/takeover", req, &t)
}

func (c *Client) do(ctx context.Context, method, path string, body, answer any) error {
	b, err := json.Marshal(body)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://host"+path, bytes.NewReader(b))
	if err != nil {
		return err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return fmt.Errorf("ask the host at %s: %w: is it running (pawl queue serve)?", c.path, err)
	}
	defer resp.Body.Close()
	d := json.NewDecoder(resp.Body)
	if resp.StatusCode == http.StatusOK {
		return d.Decode(answer)
	}
	var p problem
	if err := d.Decode(&p); err != nil || p.Error == "" {
		return fmt.Errorf("ask the host at %s: %s", c.path, resp.Status)
	}
	return errors.New(p.Error)
}
