package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/pawl-go/pawl/internal/v1"
)

// Many does an act on many invocations: cancel, resume, skip or answer.
func (c *Client) Many(ctx context.Context, verb string, in v1.Many) (v1.Acted, error) {
	return c.acted(ctx, "/v1/invocations:"+verb, in)
}

// PurgeMany purges many actors.
func (c *Client) PurgeMany(ctx context.Context, in v1.PurgeMany) (v1.Acted, error) {
	return c.acted(ctx, "/v1/actors:purge", in)
}

func (c *Client) acted(ctx context.Context, path string, in any) (out v1.Acted, err error) {
	b, err := json.Marshal(in)
	if err != nil {
		return out, fmt.Errorf("encode %s: %w", path, err)
	}
	_, b, err = c.do(ctx, http.MethodPost, path, nil, nil, b)
	if err != nil {
		return out, err
	}
	return out, decode(b, &out)
}

// Drain tells a component to finish what runs, to give the rest back and to end.
// Grace is how long what runs may go on; 0: as the component has it.
func (c *Client) Drain(ctx context.Context, component string, grace time.Duration) error {
	var in v1.Drain
	if grace > 0 {
		in.Grace = grace.String()
	}
	b, err := json.Marshal(in)
	if err != nil {
		return fmt.Errorf("encode drain: %w", err)
	}
	_, _, err = c.do(ctx, http.MethodPost, "/v1/components/"+v1.Segment(component)+"/drain", nil, nil, b)
	return err
}
