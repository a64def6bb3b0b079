package db

import (
	"context"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/kinds"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/db/dbsqlc"
)

// History returns closed attempts, the newest first, at most most: of one domain and
// with one outcome, unless those are empty, and from an instant on, unless that is zero.
// Those of all domains are in the order in which they were scheduled.
func (s *Store) History(ctx context.Context, domain string, outcome crawl.Outcome, since time.Time, most int) ([]report.Crawl, error) {
	p := dbsqlc.HistoryParams{Max: int32(most)} //nolint:gosec // the caller bounds it
	if outcome != "" {
		p.Outcome = new(dbsqlc.CrawlOutcome(outcome))
	}
	if !since.IsZero() {
		p.Since = &since
	}
	var rows []dbsqlc.HistoryRow
	if domain == "" {
		var err error
		if rows, err = s.q.History(ctx, p); err != nil {
			return nil, translate("read the history", err)
		}
	} else {
		ofDomain, err := s.q.HistoryOfDomain(ctx, dbsqlc.HistoryOfDomainParams{Domain: domain, Outcome: p.Outcome, Since: p.Since, Max: p.Max})
		if err != nil {
			return nil, translate("read the history of "+domain, err)
		}
		for _, r := range ofDomain {
			rows = append(rows, dbsqlc.HistoryRow(r))
		}
	}
	list := make([]report.Crawl, len(rows))
	for i, r := range rows {
		list[i] = report.Crawl{
			ID: r.ID, URL: r.Url, Domain: r.Domain, Kind: kinds.Kind(r.Kind), Run: r.Run, Outcome: outcomeOf(r.Outcome),
			StatusCode: int16Of(r.StatusCode), Error: textOf(r.ErrorMessage), Depth: int(r.Depth), Bytes: numOf(r.Bytes),
			Truncated: r.Truncated != nil, ContentType: textOf(r.ContentType), IP: r.Ip,
			Duration: settings.Duration(fromMS(int64(numOf(r.DurationMs)))), CompletedAt: r.CompletedAt,
			Skipped: reasons.Reason(textOf(r.Skipped)), Unchanged: textOf(r.Unchanged),
		}
	}
	return list, nil
}
