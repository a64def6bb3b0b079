package db

import (
	"context"
	"errors"
	"fmt"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/db/dbsqlc"
)

const (
	// maxViolationsShown bounds the violations of a kind.
	maxViolationsShown = 20
	// auditBatch is the number of pages in one query.
	auditBatch = 1000
)

// AuditGaps computes every gap between two requests to the same domain, address, subnet or
// registered domain, from the log of requests. runID, if not nil, limits it to the domains of a
// run. Shared addresses, subnets and registered domains are judged over all runs.
func (s *Store) AuditGaps(ctx context.Context, runID *int64) (report.Audit, error) {
	return read(ctx, s, wholeTableSettings, func(q *dbsqlc.Queries) (report.Audit, error) { return auditGaps(ctx, q, runID) })
}

func auditGaps(ctx context.Context, q *dbsqlc.Queries, runID *int64) (report.Audit, error) {
	d, err := q.AuditDomainGaps(ctx, runID)
	violations, err2 := q.AuditDomainViolations(ctx, dbsqlc.AuditDomainViolationsParams{RunID: runID, Max: maxViolationsShown})
	moved, err3 := q.MovedGet(ctx, "")
	if err := errors.Join(err, err2, err3); err != nil {
		return report.Audit{}, translate("audit", err)
	}
	a := report.Audit{
		Since: valueOf(moved.MovedBefore),
		Domains: report.Gaps{
			Requests: d.Requests, Gaps: d.Gaps, Violations: d.Violations, Min: d.Min,
			P50: d.P50, P99: d.P99, OverP50: d.OverP50, OverP99: d.OverP99,
		},
		Lost: d.Lost, RetryAfters: d.RetryAfters, RetryAfterViolations: d.RetryAfterViolations,
	}
	for _, v := range violations {
		a.Violations = append(a.Violations, report.Violation{
			Kind: "gap", Key: v.Domain, At: v.NextAt,
			Description: fmt.Sprintf("requested %.0f ms after the last request, want %d ms (%s)", v.GapMs, v.DelayMs, v.DelayReason),
		})
	}
	if a.IPs, err = auditShared(ctx, q, "ip", &a); err == nil {
		a.Subnets, err = auditShared(ctx, q, "subnet", &a)
	}
	if err == nil {
		a.Registered, err = auditShared(ctx, q, "registered", &a)
	}
	return a, err
}

func auditShared(ctx context.Context, q *dbsqlc.Queries, kind string, a *report.Audit) (report.Gaps, error) {
	g, err := q.AuditSharedGaps(ctx, kind)
	violations, err2 := q.AuditSharedViolations(ctx, dbsqlc.AuditSharedViolationsParams{Kind: kind, Max: maxViolationsShown})
	if err := errors.Join(err, err2); err != nil {
		return report.Gaps{}, translate("audit", err)
	}
	for _, v := range violations {
		a.Violations = append(a.Violations, report.Violation{
			Kind: kind + " gap", Key: v.Key, At: v.NextAt,
			Description: fmt.Sprintf("requested %.0f ms after the last request, want %d ms", v.GapMs, v.DelayMs),
		})
	}
	return report.Gaps(g), nil
}

// AuditPages calls fn for every request for a page, oldest first, until fn returns an error. runID,
// if not nil, limits it to a run.
func (s *Store) AuditPages(ctx context.Context, runID *int64, fn func(report.AuditedPage) error) error {
	for after := int64(0); ; {
		rows, err := s.q.AuditPages(ctx, dbsqlc.AuditPagesParams{After: after, RunID: runID, Max: auditBatch})
		if err != nil {
			return translate("audit pages", err)
		}
		for _, r := range rows {
			after = r.ID
			err := fn(report.AuditedPage{
				URL: r.Url, Origin: r.Origin, StartedAt: r.StartedAt, Fetched: r.RobotsVersion, Version: r.Version,
				Agent: r.Agent, Verdict: crawl.RobotsVerdict(r.Verdict),
			})
			if err != nil {
				return err
			}
		}
		if len(rows) < auditBatch {
			return nil
		}
	}
}

// RobotsText returns the text of an origin's robots.txt as fetched, or crawl.ErrNotFound.
func (s *Store) RobotsText(ctx context.Context, origin string, version int64) (crawl.RobotsText, error) {
	row, err := s.q.RobotsText(ctx, dbsqlc.RobotsTextParams{Origin: origin, Version: version})
	return crawl.RobotsText{Body: row.Body, Rules: row.Rules}, translate("robots.txt of "+origin, err)
}
