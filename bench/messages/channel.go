package messages

import (
	"time"
)

// Channel is an actor that is a goroutine with a Go channel, and no more: the limit
// of what is local.
type Channel struct {
	mailbox chan envelope
	ended   chan struct{}
}

type envelope struct {
	m       []byte
	replyTo chan []byte
}

// NewChannel starts the goroutine.
func NewChannel() *Channel {
	c := &Channel{mailbox: make(chan envelope, 1024), ended: make(chan struct{})} // as a mailbox holds more than one
	go func() {
		defer close(c.ended)
		var told uint64
		for e := range c.mailbox {
			if e.replyTo == nil {
				told++
				continue
			}
			e.replyTo <- Answer(e.m, told)
		}
	}()
	return c
}

// Close ends it.
func (c *Channel) Close() { close(c.mailbox); <-c.ended }

// Name is that in the report.
func (c *Channel) Name() string { return "channel" }

// CPU is none: there is no other process.
func (c *Channel) CPU() time.Duration { return 0 }

// Teller has Here only.
func (c *Channel) Teller(p Place) func([]byte) error {
	if p != Here {
		return nil
	}
	return func(m []byte) error { c.mailbox <- envelope{m: m}; return nil }
}

// Asker has Here only.
func (c *Channel) Asker(p Place) func([]byte) ([]byte, error) {
	if p != Here {
		return nil
	}
	return func(m []byte) ([]byte, error) {
		replyTo := make(chan []byte, 1)
		c.mailbox <- envelope{m, replyTo}
		return <-replyTo, nil
	}
}
