package db

import (
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/db/dbsqlc"
)

// What columns that may be null come to in Go: the zero value stands for null.

func durationOf(n *int64) *settings.Duration {
	if n == nil {
		return nil
	}
	d := settings.Duration(fromMS(*n))
	return &d
}

func outcomeOf(o *dbsqlc.CrawlOutcome) crawl.Outcome {
	if o == nil {
		return ""
	}
	return crawl.Outcome(*o)
}

func int16Of(n *int16) int { return int(numOf(n)) }

func numOf[T int16 | int32 | int64](n *T) T {
	if n == nil {
		return 0
	}
	return *n
}

func textOf(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func timeOf(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return *t
}

func timeOrNil(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
