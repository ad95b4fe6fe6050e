package host

import (
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// maxPaths bounds the values of the label path: methods and paths are the
// callers' to choose.
const maxPaths = 1000

// metrics are what a Host counts.
type metrics struct {
	// took has KAR's name, label and buckets, so that what was made to show it
	// shows this.
	took    *prometheus.HistogramVec
	broken  prometheus.Counter
	running *prometheus.Desc

	mu    sync.Mutex
	paths map[string]bool
}

func newMetrics() *metrics {
	return &metrics{
		took: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "kar_user_code_invocation_durations_histogram_seconds",
			Help:    "How long the application took to answer, by actor type or service and path.",
			Buckets: prometheus.ExponentialBuckets(0.01, 2, 10),
		}, []string{"path"}),
		broken: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "pawl_sidecar_broken_answers_total",
			Help: "Requests to the application that it has not answered whole.",
		}),
		running: prometheus.NewDesc("pawl_sidecar_running", "Attempts that run in the application.", nil, nil),
		paths:   map[string]bool{},
	}
}

// answered notes how long an answer of the application took. Paths that it does
// not know are counted together, and so are those over the bound.
func (m *metrics) answered(owner, path string, status int, took time.Duration) {
	label := owner + ":" + path
	if status == http.StatusNotFound || !m.known(label) {
		label = owner + ":(other)"
	}
	m.took.WithLabelValues(label).Observe(took.Seconds())
}

func (m *metrics) known(label string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.paths[label] && len(m.paths) < maxPaths {
		m.paths[label] = true
	}
	return m.paths[label]
}

var _ prometheus.Collector = (*Host)(nil)

// Describe implements prometheus.Collector.
func (h *Host) Describe(ch chan<- *prometheus.Desc) {
	h.metrics.took.Describe(ch)
	h.metrics.broken.Describe(ch)
	ch <- h.metrics.running
}

// Collect implements prometheus.Collector.
func (h *Host) Collect(ch chan<- prometheus.Metric) {
	h.metrics.took.Collect(ch)
	h.metrics.broken.Collect(ch)
	h.mu.Lock()
	n := len(h.mu.sessions)
	h.mu.Unlock()
	ch <- prometheus.MustNewConstMetric(h.metrics.running, prometheus.GaugeValue, float64(n))
}
