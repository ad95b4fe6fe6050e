package shop

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"
)

// counter is where customers order: they ask the front until it has answered.
type counter struct {
	front  *worker
	client http.Client

	mu      sync.Mutex
	sold    int
	next    chan struct{} // closed and replaced with each order
	again   int
	longest time.Duration
}

func newCounter(front *worker) *counter {
	return &counter{front: front, next: make(chan struct{}), client: http.Client{
		Transport: &http.Transport{MaxIdleConnsPerHost: 64},
	}}
}

// pause is how long a customer waits before asking again.
const pause = 20 * time.Millisecond

// order orders, and asks again with the same order while there is no answer.
func (c *counter) order(ctx context.Context, order string, p Purchase) (Receipt, error) {
	begun := time.Now()
	for {
		r, last, err := c.ask(ctx, order, p)
		if last {
			if err == nil {
				c.done(time.Since(begun))
			}
			return r, err
		}
		c.mu.Lock()
		c.again++
		c.mu.Unlock()
		select {
		case <-ctx.Done():
			return Receipt{}, fmt.Errorf("%s has no answer: %w; last: %w", order, context.Cause(ctx), err)
		case <-time.After(pause):
		}
	}
}

// ask asks once. Not last: nothing is known, and it can be asked again.
func (c *counter) ask(ctx context.Context, order string, p Purchase) (r Receipt, last bool, err error) {
	_, app, err := c.front.wait(ctx)
	if err != nil {
		return r, true, err
	}
	body, err := json.Marshal(p)
	if err != nil {
		return r, true, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, app.URL()+"/orders/"+url.PathEscape(order), bytes.NewReader(body))
	if err != nil {
		return r, true, err
	}
	resp, err := c.client.Do(request)
	if err != nil {
		return r, false, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	switch {
	case err != nil:
		return r, false, err
	case resp.StatusCode == http.StatusOK:
		return r, true, json.Unmarshal(b, &r)
	case resp.StatusCode == http.StatusAccepted, resp.StatusCode >= http.StatusInternalServerError:
		return r, false, fmt.Errorf("%s: %s", resp.Status, b)
	}
	return r, true, fmt.Errorf("%s was refused: %s: %s", order, resp.Status, b)
}

func (c *counter) done(took time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sold++
	c.longest = max(c.longest, took)
	close(c.next)
	c.next = make(chan struct{})
}

// wait waits until so many orders are sold, and says how many are.
func (c *counter) wait(ctx context.Context, n int) (int, error) {
	for {
		c.mu.Lock()
		sold, next := c.sold, c.next
		c.mu.Unlock()
		if sold >= n {
			return sold, nil
		}
		select {
		case <-next:
		case <-ctx.Done():
			return sold, context.Cause(ctx)
		}
	}
}
