package sidecar

import (
	"context"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/internal/v1"
)

// metrics serves GET /metrics: what the host counts, the engine's counts as /v1
// has them, and what a Go process says of itself, as KAR's runtime does.
func (s *sidecar) metrics() http.Handler {
	reg := prometheus.NewRegistry()
	reg.MustRegister(s.host, counts{s.comp.Session()},
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return promhttp.HandlerFor(reg, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError})
}

// counts are an engine's counts as metrics. It describes nothing ahead: the
// gauges are named by internal/v1.
type counts struct{ session engine.Session }

// countsTimeout bounds how long the engine may take to say them.
const countsTimeout = 5 * time.Second

func (counts) Describe(chan<- *prometheus.Desc) {}

func (c counts) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), countsTimeout)
	defer cancel()
	gauges, err := v1.Gauges(ctx, c.session)
	if err != nil {
		ch <- prometheus.NewInvalidMetric(prometheus.NewDesc("pawl_pending", "Requests in the flow.", nil, nil), err)
		return
	}
	for _, g := range gauges {
		ch <- prometheus.MustNewConstMetric(prometheus.NewDesc(g.Name, g.Help, nil, nil), prometheus.GaugeValue, g.Value)
	}
}
