package service

import (
	"context"
	"testing"

	"github.com/pawl-go/pawl/queue"
)

// BenchmarkPassThrough is the time of a message from one queue to the next, and the
// handler does nothing but to send it on: not decoded, and by JSON.
func BenchmarkPassThrough(b *testing.B) {
	b.Run("opaque", func(b *testing.B) { passThrough(b, pass{}) })
	b.Run("json", func(b *testing.B) { passThrough(b, echo{}) })
}

type order struct {
	ID       int
	Customer string
	Cents    int64
}

type echo struct{}

func (echo) Order(c *Context, o *order) error { return c.Send(o) }

func passThrough(b *testing.B, handler any) {
	open := func(name string) *queue.Queue {
		q, err := queue.Open(b.TempDir()+"/"+name, queue.Config{Logger: quiet()})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = q.Close() })
		return q
	}
	in, out := open("in"), open("out")
	h, err := Handle(handler)
	if err != nil {
		b.Fatal(err)
	}
	s, err := New(Config{Name: "pass", Inputs: []Input{{ID: 1, Queue: in}}, Output: Output{Queue: out}, Stateless: true, Logger: quiet()}, h)
	if err != nil {
		b.Fatal(err)
	}
	p := NewPublisher(in, PublisherConfig{})
	for k := range b.N {
		if _, err := p.Publish(&order{k, "somebody whom we do not know", 1999}); err != nil {
			b.Fatal(err)
		}
	}
	if err := s.open(context.Background()); err != nil {
		b.Fatal(err)
	}
	defer s.close()
	b.ReportAllocs()
	b.ResetTimer()
	for n := 1; n > 0; {
		if n, err = s.step(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
}
