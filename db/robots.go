package db

import (
	"context"
	"encoding/json"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/db/dbsqlc"
)

// Robots returns what is stored of an origin's robots.txt, or crawl.ErrNotFound.
func (s *Store) Robots(ctx context.Context, origin string) (crawl.Robots, error) {
	row, err := s.q.RobotsGet(ctx, origin)
	if err != nil {
		return crawl.Robots{}, translate("robots.txt of "+origin, err)
	}
	r := crawl.Robots{
		Fresh:  fromMS(row.FreshMs),
		Origin: row.Origin, Domain: row.Domain, Verdict: crawl.RobotsVerdict(row.Verdict), Agent: row.Agent, Rules: row.Rules,
		Sitemaps: row.Sitemaps, Reason: row.Reason, StatusCode: int16Of(row.StatusCode),
		ETag: textOf(row.Etag), LastModified: timeOf(row.LastModified), Failed: row.FailingMs > 0,
		Failing: fromMS(row.FailingMs), Age: fromMS(row.AgeMs),
		Failures: int(row.Failures), Version: row.Version, FetchedAt: row.FetchedAt, ExpiresAt: row.ExpiresAt,
	}
	if row.Tdm != "" {
		r.TDM = json.RawMessage(row.Tdm)
	}
	if row.CrawlDelayMs != nil {
		d := fromMS(*row.CrawlDelayMs)
		r.CrawlDelay = &d
	}
	return r, nil
}

// SaveRobots stores what a fetch of robots.txt found, and has pages that other
// rules had disallowed decided again. It returns how many fetches in a row have
// now failed.
func (s *Store) SaveRobots(ctx context.Context, r crawl.Robots) (int, error) {
	p := dbsqlc.RobotsSaveParams{
		Origin: r.Origin, Domain: r.Domain, Verdict: dbsqlc.RobotsVerdict(r.Verdict), Agent: r.Agent, Rules: r.Rules,
		Sitemaps: r.Sitemaps, Reason: r.Reason, FreshMs: ms(max(r.Fresh, time.Millisecond)),
		StatusCode: int32(r.StatusCode), //nolint:gosec // three digits
		Etag:       textOrNil(r.ETag), LastModified: timeOrNil(r.LastModified),
		Tdm:    string(r.TDM),
		Failed: r.Failed || r.Verdict == crawl.RobotsUnreachable,
	}
	if r.Sitemaps == nil {
		p.Sitemaps = []string{}
	}
	if r.CrawlDelay != nil {
		n := ms(*r.CrawlDelay)
		p.CrawlDelayMs = &n
	}
	failures, err := retryConflicts(ctx, "store robots.txt of "+r.Origin, func() (int32, error) {
		return s.q.RobotsSave(ctx, p)
	})
	return int(failures), err
}
