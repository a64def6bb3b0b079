package telemetry

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/mosey-web/mosey/crawl/report"
)

// Store is what is sampled.
type Store interface {
	Watch(ctx context.Context) (report.Watch, error)
	EndedGaps(ctx context.Context, since, until time.Time, bounds []float64) ([]report.EndedGaps, error)
}

const (
	// sampleEvery is how often the database is looked at.
	sampleEvery = 15 * time.Second
	// sampleSettled is how old a gap is before it is counted: by then those that ended
	// earlier are stored too.
	sampleSettled = 5 * time.Second
	// sampleBack is how far a look goes back at the most, after an outage of the database.
	sampleBack = 5 * time.Minute
)

// Sample looks at the database every 15 s until the context ends. What cannot be looked up is
// counted, and looked up again the next time.
func (m *Metrics) Sample(ctx context.Context, store Store, logger *slog.Logger) {
	ticker := time.NewTicker(sampleEvery)
	defer ticker.Stop()
	var since time.Time
	failing := false
	for {
		next, err := m.sample(ctx, store, since)
		switch {
		case err == nil:
			since, failing = next, false
		case ctx.Err() != nil:
			return
		default:
			m.failures.Inc()
			if !failing {
				logger.WarnContext(ctx, "could not look at the database for the metrics; it is looked at again", "error", err)
			}
			failing = true
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// sample looks once. since is when the last look ended, on the database's clock; zero at the
// first, which counts no gaps.
func (m *Metrics) sample(ctx context.Context, store Store, since time.Time) (until time.Time, err error) {
	w, err := store.Watch(ctx)
	if err != nil {
		return since, err
	}
	m.sampled(w)
	until = w.Now.Add(-sampleSettled)
	if since.IsZero() {
		return until, nil
	}
	if earliest := until.Add(-sampleBack); since.Before(earliest) {
		since = earliest
	}
	gaps, err := store.EndedGaps(ctx, since, until, LateBounds)
	if err != nil {
		return since, err
	}
	for _, g := range gaps {
		m.gaps.WithLabelValues(g.Kind).Add(float64(g.Gaps))
		m.violations.WithLabelValues(g.Kind).Add(float64(g.Violations))
		if g.Kind == "domain" {
			m.overshoot.add(g)
		}
	}
	return until, nil
}

// lateness is a histogram that is filled by the counts of its buckets: the database has counted.
type lateness struct {
	desc *prometheus.Desc

	mu    sync.Mutex
	count uint64
	sum   float64
	upTo  []uint64 // counts the gaps of at most each of LateBounds
}

func (l *lateness) add(g report.EndedGaps) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var below uint64
	for i := range l.upTo {
		below += uint64(max(g.Late[i], 0))
		l.upTo[i] += below
	}
	l.count += uint64(max(g.Gaps, 0))
	l.sum += g.LateSeconds
}

func (l *lateness) Describe(ch chan<- *prometheus.Desc) { ch <- l.desc }

func (l *lateness) Collect(ch chan<- prometheus.Metric) {
	l.mu.Lock()
	defer l.mu.Unlock()
	buckets := make(map[float64]uint64, len(LateBounds))
	for i, bound := range LateBounds {
		buckets[bound] = l.upTo[i]
	}
	ch <- prometheus.MustNewConstHistogram(l.desc, l.count, l.sum, buckets)
}
