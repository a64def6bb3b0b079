package temporal

import (
	"slices"
	"time"

	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/metrics"
)

// metricsHandler returns the metrics handler of the server. It drops the unwanted metrics.
func metricsHandler(cfg Config) metrics.Handler {
	if cfg.MetricReader == nil {
		return metrics.NoopMetricsHandler
	}
	return selectedMetrics{Handler: metrics.NoopMetricsHandler, reader: cfg.MetricReader}
}

// selectedMetrics passes on the wanted metrics. It is safe for concurrent use.
type selectedMetrics struct {
	metrics.Handler // for unwanted metrics

	reader func(measure string) (tags []string, take func(tags []string, value float64))
	tags   []metrics.Tag
}

func (m selectedMetrics) WithTags(tags ...metrics.Tag) metrics.Handler {
	m.tags = append(slices.Clip(m.tags), tags...)
	return m
}

// taker returns the function that takes a metric's values, or nil to skip them.
func (m selectedMetrics) taker(measure string) func(value float64, tags []metrics.Tag) {
	wanted, take := m.reader(measure)
	if take == nil {
		return nil
	}
	return func(value float64, tags []metrics.Tag) {
		values := make([]string, len(wanted))
		for _, all := range [][]metrics.Tag{m.tags, tags} { // later tags override earlier ones
			for _, tag := range all {
				if i := slices.Index(wanted, tag.Key); i >= 0 {
					values[i] = tag.Value
				}
			}
		}
		take(values, value)
	}
}

func (m selectedMetrics) Counter(measure string) metrics.CounterIface {
	if take := m.taker(measure); take != nil {
		return metrics.CounterFunc(func(n int64, tags ...metrics.Tag) { take(float64(n), tags) })
	}
	return m.Handler.Counter(measure)
}

func (m selectedMetrics) Timer(measure string) metrics.TimerIface {
	if take := m.taker(measure); take != nil {
		return metrics.TimerFunc(func(d time.Duration, tags ...metrics.Tag) { take(d.Seconds(), tags) })
	}
	return m.Handler.Timer(measure)
}

func (m selectedMetrics) StartBatch(string) metrics.BatchHandler { return m }
func (selectedMetrics) Close() error                             { return nil }
func (selectedMetrics) Stop(log.Logger)                          {}
