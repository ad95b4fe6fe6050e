package service_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/pawl-go/pawl/queue/replica"
	"github.com/pawl-go/pawl/queue/replica/core"
	"github.com/pawl-go/pawl/service"
)

// replicaHost opens a host of two that share the queues orders and invoices.
func replicaHost(t *testing.T, self replica.HostID, dir, first string) *replica.Host {
	t.Helper()
	cfg := replica.Config{
		Self: self, Insecure: true, Listen: "127.0.0.1:0",
		Peers:             []replica.Peer{{ID: 1, Addr: first}, {ID: 2}},
		HeartbeatInterval: 50 * time.Millisecond, HeartbeatTimeout: 2 * time.Second,
		Logger: quiet(),
	}
	for _, name := range []string{"orders", "invoices"} {
		cfg.Queues = append(cfg.Queues, replica.QueueConfig{
			Name: name, Dir: filepath.Join(dir, fmt.Sprint(self), name),
			Replica: core.Config{Hosts: []replica.HostID{1, 2}, Master: 1, Acknowledge: true, Strategy: core.All()},
		})
	}
	h, err := replica.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// bill runs the service at a host, appends orders there, and returns once as many
// invoices count as there are to be in all.
func bill(ctx context.Context, t *testing.T, h *replica.Host, orders, invoices int) {
	t.Helper()
	in, out := h.Queue("orders"), h.Queue("invoices")
	for _, q := range []*replica.Queue{in, out} {
		if _, err := q.Tenure(ctx); err != nil {
			t.Fatal(err)
		}
	}
	handler, err := service.Handle(&Billing{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := service.New(service.Config{
		Name: "billing", Logger: quiet(),
		Inputs: []service.Input{{ID: 1, Queue: in.Local(), Acknowledged: in.WaitReplicated, Type: "Order"}},
		Output: service.Output{Queue: out.Local(), Append: out.AppendBatch, Committed: out.WaitReplicated},
	}, handler)
	if err != nil {
		t.Fatal(err)
	}
	running, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- s.Run(running) }()
	for k := range orders {
		if _, err := in.Append(ctx, fmt.Appendf(nil, `{"Item":"tea","Cents":%d}`, k+1)); err != nil {
			t.Fatal(err)
		}
	}
	numbers := readInvoices(ctx, t, out, invoices)
	stop()
	if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	for k, n := range numbers {
		if n != k+1 {
			t.Fatalf("host %d has invoices %v", h.Self(), numbers)
		}
	}
}

func readInvoices(ctx context.Context, t *testing.T, q *replica.Queue, n int) (numbers []int) {
	t.Helper()
	tl := q.NewTailer(0)
	defer tl.Close()
	for len(numbers) < n {
		_, p, err := tl.Next(ctx)
		if err != nil {
			t.Fatalf("after invoices %v: %v", numbers, err)
		}
		e, err := service.Decode(p)
		if err != nil {
			t.Fatal(err)
		}
		var invoice Invoice
		if e.Type != "Invoice" {
			continue
		}
		if err := json.Unmarshal(e.Payload, &invoice); err != nil {
			t.Fatal(err)
		}
		numbers = append(numbers, invoice.Number)
	}
	return numbers
}

// TestServiceOnManyHosts: the service goes on at the host that takes over, where it was:
// no order is billed twice, none is lost, and its state is that of all orders.
func TestServiceOnManyHosts(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	dir := t.TempDir()
	one := replicaHost(t, 1, dir, "")
	two := replicaHost(t, 2, dir, one.Addr().String())
	bill(ctx, t, one, 3, 3)
	for _, q := range two.Queues() {
		if _, err := q.TakeOver(ctx, false); err != nil {
			t.Fatal(err)
		}
	}
	bill(ctx, t, two, 2, 5)
	readInvoices(ctx, t, one.Queue("invoices"), 5) // as a sink has them
	if err := errors.Join(two.Close(), one.Close()); err != nil {
		t.Fatal(err)
	}
}
