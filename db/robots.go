package db

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/mosey-web/mosey/crawl"
)

// Robots returns the stored robots.txt of an origin, or crawl.ErrNotFound.
func (s *Store) Robots(ctx context.Context, origin string) (crawl.Robots, error) {
	row, err := s.q.RobotsGet(ctx, origin)
	if err != nil {
		return crawl.Robots{}, translate("read robots.txt of "+origin, err)
	}
	r := crawl.Robots{
		Origin: row.Origin, Domain: row.Domain, Verdict: crawl.RobotsVerdict(row.Verdict), Agent: row.Agent, Rules: row.Rules,
		BodyHash: row.BodyHash, CrawlDelay: convertPtr(row.CrawlDelayMs, crawl.MillisOf), VisitTimes: valueOf(row.VisitTimes),
		Sitemaps: row.Sitemaps, Reason: row.Reason, StatusCode: int16Of(row.StatusCode),
		ETag: valueOf(row.Etag), LastModified: valueOf(row.LastModified), Failed: row.FailingMs > 0,
		Failing: fromMS(row.FailingMs), Age: fromMS(row.AgeMs), Lifetime: crawl.MillisOf(row.FreshMs),
		Failures: int(row.Failures), UnansweredCount: int(row.UnansweredCount), Version: row.Version,
		FetchedAt: row.FetchedAt, ExpiresAt: row.ExpiresAt,
	}
	if row.Tdm != "" {
		r.TDM = json.RawMessage(row.Tdm)
	}
	r.Missing, err = missingOf(origin, row.Missing)
	return r, err
}

// missingOf reads a stored answer for a page that does not exist.
func missingOf(origin, doc string) (*crawl.MissingPage, error) {
	if doc == "" {
		return nil, nil //nolint:nilnil // not requested
	}
	m := new(crawl.MissingPage)
	if err := json.Unmarshal([]byte(doc), m); err != nil {
		return nil, fmt.Errorf("read the missing page of %s: %w", origin, err)
	}
	return m, nil
}

// storable completes a robots.txt: it holds for a moment at least, and fails if it is unreachable.
func storable(r crawl.Robots) crawl.Robots {
	r.Lifetime = max(r.Lifetime, crawl.Millis(time.Millisecond))
	r.Failed = r.Failed || r.Verdict == crawl.RobotsUnreachable
	return r
}

// SaveRobots stores an origin's robots.txt without a request, and decides again about pages that
// other rules disallowed. It returns the number of consecutive failed fetches.
func (s *Store) SaveRobots(ctx context.Context, r crawl.Robots) (int, error) {
	doc, err := document("robots.txt", storable(r))
	if err != nil {
		return 0, err
	}
	failures, err := retryConflicts(ctx, "store robots.txt of "+r.Origin, func() (int32, error) {
		return s.q.RobotsSave(ctx, doc)
	})
	return int(failures), err
}
