package db

import (
	"context"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/db/dbsqlc"
)

const (
	// minuteRetention bounds the age of outcomes by the minute; older outcomes are stored by the hour.
	minuteRetention = 3 * 24 * time.Hour
	// maxMinuteAge bounds the age of the minutes that AddUpHours adds up.
	maxMinuteAge = 30 * 24 * time.Hour
)

// Outcomes counts attempts of a run by outcome since an instant, in spans of the length step. A
// run of 0 means all runs. step divides an hour into whole minutes, or is a number of hours. since
// is the start of a minute or, with hours, of an hour.
func (s *Store) Outcomes(ctx context.Context, runID int64, since time.Time, step time.Duration, spans int) (report.OutcomeSeries, error) {
	series := report.OutcomeSeries{Step: settings.Duration(step), Spans: make([]report.OutcomeSpan, spans)}
	for i := range series.Spans {
		series.Spans[i].BeganAt = since.Add(time.Duration(i) * step)
	}
	rows, err := s.q.Outcomes(ctx, dbsqlc.OutcomesParams{StepMs: ms(step), Since: since, RunID: valueOrNil(runID)})
	for _, r := range rows {
		i := int(r.BeganAt.Sub(since) / step)
		if i >= spans {
			continue // ended after the spans
		}
		span := &series.Spans[i]
		if span.Outcomes == nil {
			span.Outcomes = make(map[crawl.Outcome]int64)
		}
		span.Outcomes[crawl.Outcome(r.Outcome)] += r.Attempts
	}
	return series, translate("read outcomes", err)
}

// AddUpOutcomes adds up new attempts by outcome. One process calls it, every minute or so.
func (s *Store) AddUpOutcomes(ctx context.Context) error {
	return retry(ctx, "add up outcomes", func() error { return s.q.OutcomesAddUp(ctx) })
}

// AddUpHours adds up old minutes by the hour.
func (s *Store) AddUpHours(ctx context.Context, now time.Time) error {
	until := now.Add(-minuteRetention).Truncate(time.Hour)
	return retry(ctx, "add up outcomes by the hour", func() error {
		return s.q.OutcomesAddUpHours(ctx, dbsqlc.OutcomesAddUpHoursParams{Since: until.Add(-maxMinuteAge), Until: until})
	})
}
