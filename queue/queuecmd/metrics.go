package queuecmd

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/pawl-go/pawl/queue/replica"
	"github.com/pawl-go/pawl/queue/replica/gauges"
)

// serveMetrics serves the gauges of a host at /metrics, until the result is called.
func serveMetrics(ctx context.Context, addr string, host *replica.Host) (at net.Addr, stop func(), err error) {
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, nil, fmt.Errorf("serve metrics: %w", err)
	}
	reg := prometheus.NewRegistry()
	reg.MustRegister(gauges.New(host))
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(reg, promhttp.HandlerOpts{}))
	s := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.Serve(ln) // it ends when it is closed
	}()
	return ln.Addr(), func() { _ = s.Close(); <-done }, nil
}
