package db

import (
	"context"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/db/dbsqlc"
)

// Outdated counts the pages that have to be read again, for an earlier extractor has
// read them; of one domain, unless that is empty.
func (s *Store) Outdated(ctx context.Context, domain string) (report.Outdated, error) {
	var out report.Outdated
	err := s.readingAll(ctx, func(q *dbsqlc.Queries) error {
		row, err := q.ReprocessDue(ctx, dbsqlc.ReprocessDueParams{Extractor: crawl.ExtractorVersion, Domain: textOrNull(domain)})
		out = report.Outdated{Pages: row.Due, Domains: row.Domains, Closed: row.Closed}
		return err
	})
	return out, translate("count the pages to read again", err)
}

// StageOutdated hands the pages that Outdated counts over to a run's next SeedWorkflow,
// but for those that are Closed, and returns how many they are.
func (s *Store) StageOutdated(ctx context.Context, runID int64, domain string) (int64, error) {
	n, err := s.q.ReprocessStage(ctx, dbsqlc.ReprocessStageParams{
		RunID: runID, Extractor: crawl.ExtractorVersion, Domain: textOrNull(domain),
	})
	return n, translate("stage the pages to read again", err)
}

// textOrNull is nil for an empty text.
func textOrNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
