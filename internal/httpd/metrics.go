package httpd

import (
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Metrics are a server's metrics for Prometheus. They are safe for concurrent use.
type Metrics struct {
	prefix   string
	registry *prometheus.Registry
	requests *prometheus.CounterVec

	mu    sync.Mutex
	paths map[string]bool // paths with counters of their own
}

// maxPaths is the number of paths that are counted separately. Clients choose paths, and each path costs memory.
const maxPaths = 64

// NewMetrics returns metrics whose names begin with a prefix and an underscore. They count requests by path and status.
func NewMetrics(prefix string) *Metrics {
	metrics := &Metrics{prefix: prefix, registry: prometheus.NewRegistry(), paths: map[string]bool{}}
	metrics.requests = prometheus.NewCounterVec(prometheus.CounterOpts{
		Namespace: prefix,
		Name:      "requests_total",
		Help:      "Answered requests.",
	}, []string{"path", "status"})
	metrics.registry.MustRegister(metrics.requests)

	return metrics
}

// Counter adds a counter. It panics if the name is taken.
func (m *Metrics) Counter(name, help string) prometheus.Counter {
	counter := prometheus.NewCounter(prometheus.CounterOpts{Namespace: m.prefix, Name: name, Help: help})
	m.registry.MustRegister(counter)

	return counter
}

// Gauge adds a gauge that is read on every scrape. It panics if the name is taken.
func (m *Metrics) Gauge(name, help string, value func() float64) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(
		prometheus.GaugeOpts{Namespace: m.prefix, Name: name, Help: help}, value))
}

// Count counts an answered request. path may be any path that a client sent; beyond maxPaths, further paths are counted
// together.
func (m *Metrics) Count(path string, status int) {
	m.mu.Lock()
	if !m.paths[path] && len(m.paths) >= maxPaths {
		path = "other"
	}
	m.paths[path] = true
	m.mu.Unlock()
	m.requests.WithLabelValues(strings.ToValidUTF8(path, "?"), strconv.Itoa(status)).Inc()
}

// Handler answers requests for /metrics.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{DisableCompression: true})
}
