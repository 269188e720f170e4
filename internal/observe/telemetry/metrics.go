// Package telemetry keeps the Prometheus metrics of a process, and exports its traces.
package telemetry

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	exporter "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/opentelemetry"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/observe/events"
)

// Metrics are the metrics of a process. They are safe for concurrent use.
type Metrics struct {
	registry *prometheus.Registry

	work     *prometheus.HistogramVec // seconds of operations, by kind
	failures *prometheus.CounterVec   // failed operations, by kind
	running  *prometheus.GaugeVec     // operations in progress, by kind

	episodes *prometheus.CounterVec   // episodes by outcome
	steps    *prometheus.HistogramVec // seconds of a step, by part
	labels   *prometheus.CounterVec   // cells by label
	pairs    prometheus.Counter
	training *prometheus.GaugeVec   // share of an update's steps, by job
	epochs   *prometheus.GaugeVec   // figures of the newest epoch, by run
	updates  *prometheus.CounterVec // updates by outcome
	gaps     *prometheus.GaugeVec   // newest gap, by run, agent and kind
	wide     *prometheus.CounterVec // gaps above their limit, by kind
	places   prometheus.Gauge
	taken    *prometheus.GaugeVec // environments in use, by adapter
	warnings prometheus.Counter

	models *prometheus.HistogramVec // seconds of calls, by role
	tokens *prometheus.CounterVec   // by role and kind
	cost   *prometheus.CounterVec   // by role

	limits prometheus.Counter // turns that Redis did not grant

	store       *prometheus.HistogramVec // seconds, by operation
	storeErrors *prometheus.CounterVec   // by operation
}

// seconds are the bounds of buckets, from a millisecond to an hour.
var seconds = []float64{.001, .005, .02, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600}

// New returns metrics that begin at zero, including the metrics of the Go runtime and of the process.
func New() *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry()}
	m.registry.MustRegister(collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.work = m.histogram("work_seconds", "How long activities and calls of policy servers took.", "kind")
	m.failures = m.counter("work_failures_total", "Activities and calls of policy servers that failed.", "kind")
	m.running = gauge(m, "work_running", "Activities and calls of policy servers that are open.", "kind")
	m.episodes = m.counter("episodes_total", "Rollouts that ended, by outcome: success, failure or void.", "outcome")
	m.steps = m.histogram("step_seconds",
		"How long the parts of a step took: reset, screenshot, decide, record, execute.", "part")
	m.labels = m.counter("labels_total", "Cells that the critic labelled: right, wrong or unsure.", "label")
	m.pairs = m.counter("pairs_total", "Preference pairs of episodes.").WithLabelValues()
	m.updates = m.counter("updates_total", "Policy updates, by outcome: updated, or kept the parent.", "outcome")
	m.training = gauge(m, "training_progress", "The share of an open update's steps that it has made.", "update")
	m.epochs = gauge(m, "run_epoch",
		"Of a run's newest epoch: its number, rollouts and val (rates), pairs, positive (share of labels), "+
			"failed (slots), quarantined (templates).", "run", "figure")
	m.gaps = gauge(m, "train_serve_gap",
		"The newest mean difference, in nats per token, between log π of the trainer and of policy servers (served) "+
			"or rollouts (played).", "run", "agent", "of")
	m.wide = m.counter("train_serve_gaps_wide_total", "Gaps above the limit of the trainer's precision.", "of")
	m.places = gauge(m, "places", "Episodes that browsers of this worker can play concurrently.").WithLabelValues()
	m.taken = gauge(m, "places_taken", "Environments that play an episode: tabs, emulators, sessions.", "environment")
	m.warnings = m.counter("warnings_total", "Warnings that people were given.").WithLabelValues()
	m.models = m.histogram("model_seconds", "How long calls of models took, by role.", "role")
	m.tokens = m.counter("tokens_total", "Tokens by role and kind: prompt, cached or answer.", "role", "kind")
	m.cost = m.counter("cost_total", "Money that calls cost at the specification's prices, by role.", "role")
	m.limits = m.counter("limit_failures_total",
		"Turns of a limit that Redis did not give, so that this worker kept to its own part.").WithLabelValues()
	m.store = m.histogram("store_seconds", "How long the object store took, by operation.", "operation")
	m.storeErrors = m.counter("store_errors_total", "Calls of the object store that failed.", "operation", "kind")
	m.begin()

	return m
}

// begin creates series with the value zero, because an increase from nothing to one would not be noticed.
func (m *Metrics) begin() {
	for _, outcome := range []string{"success", "failure", "void"} {
		m.episodes.WithLabelValues(outcome)
	}
	for _, outcome := range []string{updated, kept} {
		m.updates.WithLabelValues(outcome)
	}
	for _, of := range []string{events.GapServed, events.GapPlayed} {
		m.wide.WithLabelValues(of)
	}
	for _, label := range []string{"right", "wrong", "unsure"} {
		m.labels.WithLabelValues(label)
	}
	for _, operation := range []string{"put", "get", "list"} {
		m.storeErrors.WithLabelValues(operation, string(fault.Transient))
	}
}

// The outcomes of updates.
const (
	updated = "updated"
	kept    = "kept the parent"
)

func (m *Metrics) histogram(name, help string, labels ...string) *prometheus.HistogramVec {
	histogramVec := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Namespace: "collabui", Name: name, Help: help, Buckets: seconds,
	}, labels)
	m.registry.MustRegister(histogramVec)

	return histogramVec
}

func (m *Metrics) counter(name, help string, labels ...string) *prometheus.CounterVec {
	vec := prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "collabui", Name: name, Help: help}, labels)
	m.registry.MustRegister(vec)

	return vec
}

func gauge(metrics *Metrics, name, help string, labels ...string) *prometheus.GaugeVec {
	gaugeVec := prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: "collabui", Name: name, Help: help}, labels)
	metrics.registry.MustRegister(gaugeVec)

	return gaugeVec
}

// Handler answers GET /metrics.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{Registry: m.registry})
}

// Register adds metrics that are read on every scrape. It panics if a name is taken.
func (m *Metrics) Register(collector prometheus.Collector) { m.registry.MustRegister(collector) }

// Temporal returns the handler for the metrics of Temporal's client and workers. Their names begin with temporal_.
func (m *Metrics) Temporal() (client.MetricsHandler, error) {
	e, err := exporter.New(
		exporter.WithRegisterer(m.registry), exporter.WithoutScopeInfo(), exporter.WithoutTargetInfo())
	if err != nil {
		return nil, fault.As(fault.Fatal, err)
	}

	fewer := []float64{.005, .05, .25, 1, 5, 30, 300, 3600}
	inSeconds := metric.NewView(metric.Instrument{Kind: metric.InstrumentKindHistogram}, metric.Stream{
		Aggregation: metric.AggregationExplicitBucketHistogram{Boundaries: fewer},
	})

	return opentelemetry.NewMetricsHandler(opentelemetry.MetricsHandlerOptions{
		Meter: metric.NewMeterProvider(metric.WithReader(e), metric.WithView(inSeconds)).Meter("temporal"),
	}), nil
}

// Begin counts the beginning of an operation. The returned function counts its end.
func (m *Metrics) Begin(kind string) (end func(error)) {
	began := time.Now()
	m.running.WithLabelValues(kind).Inc()
	m.failures.WithLabelValues(kind) // both begin at zero
	m.work.WithLabelValues(kind)

	return func(err error) {
		m.running.WithLabelValues(kind).Dec()
		m.work.WithLabelValues(kind).Observe(time.Since(began).Seconds())
		if err != nil {
			m.failures.WithLabelValues(kind).Inc()
		}
	}
}

// Parts returns a function that records the time since its previous call, or since Parts was called, as a part of a
// step.
func (m *Metrics) Parts() (part func(name string)) {
	last := time.Now()

	return func(name string) {
		now := time.Now()
		if m != nil {
			m.steps.WithLabelValues(name).Observe(now.Sub(last).Seconds())
		}
		last = now
	}
}

// Places sets the number of episodes that the browsers of this process can play concurrently.
func (m *Metrics) Places(n int) { m.places.Set(float64(n)) }

// Take counts an environment of an adapter that begins to play. The returned function counts its end.
func (m *Metrics) Take(adapter string) (free func()) {
	if m == nil {
		return func() {}
	}
	g := m.taken.WithLabelValues(adapter)
	g.Inc()

	return g.Dec
}

// Training records the progress of an update.
func (m *Metrics) Training(job string, point domain.TrainPoint) {
	if m != nil && point.Steps > 0 {
		m.training.WithLabelValues(job).Set(float64(point.Step) / float64(point.Steps))
	}
}

// Trained removes the progress of an update that has ended.
func (m *Metrics) Trained(job string) {
	if m != nil {
		m.training.DeleteLabelValues(job)
	}
}

// Call counts a call of the model that plays a role.
func (m *Metrics) Call(role string, took time.Duration, usage domain.Usage, cost float64) {
	m.models.WithLabelValues(role).Observe(took.Seconds())
	m.tokens.WithLabelValues(role, "prompt").Add(float64(usage.Prompt))
	m.tokens.WithLabelValues(role, "cached").Add(float64(usage.Cached))
	m.tokens.WithLabelValues(role, "answer").Add(float64(usage.Answer))
	m.cost.WithLabelValues(role).Add(cost)
}

// LimitFailed counts a turn that Redis did not grant.
func (m *Metrics) LimitFailed() { m.limits.Inc() }

// Event updates the metrics that an event of a run concerns.
func (m *Metrics) Event(run string, event events.Event) {
	switch e := event.(type) {
	case events.Void:
		m.episodes.WithLabelValues("void").Inc()
	case events.Labels:
		m.labels.WithLabelValues("right").Add(float64(e.Right))
		m.labels.WithLabelValues("wrong").Add(float64(e.Wrong))
		m.labels.WithLabelValues("unsure").Add(float64(e.Unsure))
		m.pairs.Add(float64(e.Pairs))
	case events.Epoch:
		m.epochs.WithLabelValues(run, "number").Set(float64(e.Epoch))
		m.epochs.WithLabelValues(run, "rollouts").Set(e.Rollouts)
		m.epochs.WithLabelValues(run, "pairs").Set(float64(e.Pairs))
		if e.Val >= 0 { // it was evaluated
			m.epochs.WithLabelValues(run, "val").Set(e.Val)
		}
		if e.Positive >= 0 {
			m.epochs.WithLabelValues(run, "positive").Set(e.Positive)
		}
		m.epochs.WithLabelValues(run, "failed").Set(float64(e.Failed))
		m.epochs.WithLabelValues(run, "quarantined").Set(float64(e.Quarantined))
	case events.Gap:
		agent := strconv.Itoa(e.Agent)
		m.gaps.WithLabelValues(run, agent, e.Of).Set(e.Mean)
		if e.Mean > e.Limit {
			m.wide.WithLabelValues(e.Of).Inc()
		}
	case events.End:
		m.epochs.DeletePartialMatch(prometheus.Labels{"run": run})
		m.gaps.DeletePartialMatch(prometheus.Labels{"run": run})
	case events.Episode:
		outcome := "failure"
		if e.Success {
			outcome = "success"
		}
		m.episodes.WithLabelValues(outcome).Inc()
	case events.Update:
		outcome := updated
		if e.Kept != "" {
			outcome = kept
		}
		m.updates.WithLabelValues(outcome).Inc()
	case events.Warning:
		m.warnings.Inc()
	}
}
