package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/internal/v1"
)

func cellPath(a engine.Actor, key, entry string) string {
	path := v1.ActorPath(a) + "/state/" + v1.Segment(key)
	if entry != "" {
		path += "/" + v1.Segment(entry)
	}
	return path
}

// SetCell sets a cell, or the entry of a map if entry is not empty, to JSON.
func (c *Client) SetCell(ctx context.Context, a engine.Actor, key, entry string, value []byte) error {
	_, _, err := c.do(ctx, http.MethodPut, cellPath(a, key, entry), nil, nil, value)
	return err
}

// DropCell removes a cell, all of a map, or one entry of it.
func (c *Client) DropCell(ctx context.Context, a engine.Actor, key, entry string) error {
	_, _, err := c.do(ctx, http.MethodDelete, cellPath(a, key, entry), nil, nil, nil)
	return err
}

// Reminders lists the reminders of an actor by name.
func (c *Client) Reminders(ctx context.Context, a engine.Actor) ([]v1.Reminder, error) {
	var p v1.Page[v1.Reminder]
	err := c.get(ctx, v1.ActorPath(a)+"/reminders", nil, &p)
	return p.Items, err
}

// Remind sets a reminder.
func (c *Client) Remind(ctx context.Context, a engine.Actor, name string, r v1.SetReminder) error {
	b, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encode reminder: %w", err)
	}
	_, _, err = c.do(ctx, http.MethodPut, v1.ActorPath(a)+"/reminders/"+v1.Segment(name), nil, nil, b)
	return err
}

// Unremind removes a reminder.
func (c *Client) Unremind(ctx context.Context, a engine.Actor, name string) error {
	_, _, err := c.do(ctx, http.MethodDelete, v1.ActorPath(a)+"/reminders/"+v1.Segment(name), nil, nil, nil)
	return err
}

// Deactivate drops the instance of an actor from memory.
func (c *Client) Deactivate(ctx context.Context, a engine.Actor) error {
	_, _, err := c.do(ctx, http.MethodPost, v1.ActorPath(a)+"/deactivate", nil, nil, nil)
	return err
}

// Tree tells who waits for whom, from the outermost caller of an invocation.
func (c *Client) Tree(ctx context.Context, id string) (v1.Tree, error) {
	var t v1.Tree
	err := c.get(ctx, "/v1/invocations/"+v1.Segment(id)+"/tree", nil, &t)
	return t, err
}
