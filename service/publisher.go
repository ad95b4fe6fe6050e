package service

import (
	"fmt"
	"time"

	"github.com/pawl-go/pawl/queue"
)

// Publisher puts messages from outside on a queue, for services to read. Its
// methods may be called concurrently.
type Publisher struct {
	q     *queue.Queue
	codec Codec
	now   func() time.Time
	names typeNames
}

// PublisherConfig holds the settings of a Publisher. The zero value is ready for
// use.
type PublisherConfig struct {
	Codec Codec            // nil: JSON
	Now   func() time.Time // that messages are dated by; nil: time.Now
}

// NewPublisher makes a publisher for a queue that is open for appending. An output
// queue is written by its service only.
func NewPublisher(q *queue.Queue, cfg PublisherConfig) *Publisher {
	p := &Publisher{q: q, codec: cfg.Codec, now: cfg.Now}
	if p.codec == nil {
		p.codec = JSON
	}
	if p.now == nil {
		p.now = time.Now
	}
	return p
}

// Publish appends a message and returns its index. It is as durable as an append;
// wait with WaitDurable of the queue. Errors are those of the codec and of Append.
func (p *Publisher) Publish(msg any) (queue.Index, error) {
	b, err := p.Encode(nil, msg)
	if err != nil {
		return 0, err
	}
	return p.q.Append(b)
}

// Encode writes a message behind b, as Publish does on the queue: for batches, and
// for queues that are replicated.
func (p *Publisher) Encode(b []byte, msg any) ([]byte, error) {
	f := frame{kind: Message, time: p.now().UnixNano()}
	b, err := appendMessage(b, &f, msg, p.codec, &p.names)
	if err != nil {
		return nil, fmt.Errorf("publish %T: %w", msg, err)
	}
	return b, nil
}
