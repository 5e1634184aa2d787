package main

import (
	"context"
	"math"
	"strconv"
	"time"

	"github.com/backsight/backsight/service/intake"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// metrics are what /metrics tells.
type metrics struct {
	registry         *prometheus.Registry
	taken, bytes     *prometheus.CounterVec
	refused, dropped *prometheus.CounterVec
	backtraces       *prometheus.CounterVec
	seconds          prometheus.Histogram
	queue            *prometheus.GaugeVec
	stored           prometheus.Gauge
}

// newMetrics makes metrics; waiting counts captures without a result.
func newMetrics(waiting func() float64) *metrics {
	r := prometheus.NewRegistry()
	r.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "backsight_waiting", Help: "Captures that wait for their result."}, waiting))
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	make := promauto.With(r)
	count := func(name, help, label string) *prometheus.CounterVec {
		return make.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{label})
	}
	return &metrics{
		registry:   r,
		taken:      count("backsight_captures_total", "Captures that were acknowledged.", "kind"),
		bytes:      count("backsight_capture_bytes_total", "Bytes of these, as they came.", "kind"),
		refused:    count("backsight_refused_total", "Requests that were refused.", "status"),
		dropped:    count("backsight_dropped_total", "What was acknowledged and not kept.", "why"),
		backtraces: count("backsight_backtraces_total", "Captures that were worked on.", "outcome"),
		seconds: make.NewHistogram(prometheus.HistogramOpts{Name: "backsight_backtrace_seconds", Help: "How long a capture is worked on.",
			Buckets: []float64{.02, .05, .1, .2, .5, 1, 2, 5, 10, 30}}),
		queue:  make.NewGaugeVec(prometheus.GaugeOpts{Name: "backsight_jobs", Help: "Jobs by their state."}, []string{"state"}),
		stored: make.NewGauge(prometheus.GaugeOpts{Name: "backsight_stored_bytes", Help: "Bytes of captures on the disk."}),
	}
}

func (m *metrics) intake() *intake.Metrics {
	return &intake.Metrics{
		Taken: func(kind string, bytes int64) {
			m.taken.WithLabelValues(kind).Inc()
			m.bytes.WithLabelValues(kind).Add(float64(bytes))
		},
		Refused: func(status int) { m.refused.WithLabelValues(strconv.Itoa(status)).Inc() },
		Dropped: func(why string) { m.dropped.WithLabelValues(why).Inc() },
	}
}

func (m *metrics) backtraced(took time.Duration, err error) {
	outcome := "done"
	if err != nil {
		outcome = "again"
	}
	m.backtraces.WithLabelValues(outcome).Inc()
	m.seconds.Observe(took.Seconds())
}

// gauge reads what is counted elsewhere.
func (s *service) gauge(ctx context.Context) error {
	size, err := s.store.Size()
	if err != nil {
		return err
	}
	s.metrics.stored.Set(float64(size))
	for _, state := range []string{"available", "running", "scheduled", "retryable"} {
		var n float64
		if err := s.db.Read.QueryRowContext(ctx, "SELECT count(*) FROM river_job WHERE state = $1", state).Scan(&n); err != nil {
			return err
		}
		s.metrics.queue.WithLabelValues(state).Set(n)
	}
	return nil
}

// waiting counts captures that wait for their result.
func (s *service) waiting() float64 {
	var n float64
	if err := s.db.Read.QueryRow("SELECT count(*) FROM captures WHERE status = 'queued'").Scan(&n); err != nil {
		return math.NaN()
	}
	return n
}
