package db

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/kinds"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/db/dbsqlc"
)

// History returns at most limit closed attempts, the newest first. It filters by domain and
// outcome, unless these are empty, and by the start since, unless that is zero.
func (s *Store) History(ctx context.Context, domain string, outcome crawl.Outcome, since time.Time, limit int) ([]report.Attempt, error) {
	p := dbsqlc.HistoryParams{
		Outcome: valueOrNil(dbsqlc.CrawlOutcome(outcome)), Since: timeOrNil(since),
		Max: int32(limit), //nolint:gosec // the caller bounds it
	}
	if domain == "" {
		rows, err := s.q.History(ctx, p)
		return mapRows(rows, attemptReport), translate("read the history", err)
	}
	rows, err := s.q.HistoryOfDomain(ctx, dbsqlc.HistoryOfDomainParams{Domain: domain, Outcome: p.Outcome, Since: p.Since, Max: p.Max})
	return mapRows(rows, func(r dbsqlc.HistoryOfDomainRow) report.Attempt {
		return attemptReport(dbsqlc.HistoryRow(r))
	}), translate("read the history of "+domain, err)
}

// LatestRequests returns at most limit of a run's latest requests, the newest first. It misses
// requests that are older than the newest 200 attempts of all runs.
func (s *Store) LatestRequests(ctx context.Context, runID int64, limit int) ([]report.LatestRequest, error) {
	rows, err := s.q.RunLatestRequests(ctx, dbsqlc.RunLatestRequestsParams{
		RunID: runID, Max: int32(limit), //nolint:gosec // the caller bounds it
	})
	return mapRows(rows, func(r dbsqlc.RunLatestRequestsRow) report.LatestRequest {
		return report.LatestRequest{
			URL: r.Url, Outcome: crawl.Outcome(r.Outcome), StatusCode: int16Of(r.StatusCode), Title: r.Title, CompletedAt: r.CompletedAt,
		}
	}), translate("read the latest requests", err)
}

func attemptReport(r dbsqlc.HistoryRow) report.Attempt {
	return report.Attempt{
		ID: r.ID, URL: r.Url, Domain: r.Domain, Kind: kinds.Kind(r.Kind), Run: r.Run, Outcome: crawl.Outcome(valueOf(r.Outcome)),
		StatusCode: int16Of(r.StatusCode), Error: valueOf(r.ErrorMessage), Depth: int(r.Depth), Bytes: valueOf(r.Bytes),
		Truncated: r.Truncated != nil, ContentType: valueOf(r.ContentType), IP: r.Ip,
		Duration: durationMS(valueOf(r.DurationMs)), CompletedAt: r.CompletedAt,
		Skipped: reasons.Reason(valueOf(r.Skipped)), Unchanged: valueOf(r.UnchangedReason),
		Delay: durationMS(valueOf(r.DelayMs)), DelayReason: reasons.Reason(valueOf(r.DelayReason)),
		RetryAfter: durationMS(valueOf(r.RetryAfterMs)), Worker: r.Worker,
	}
}

// DomainHistory returns a domain's latest attempts, controls and robots.txt fetches, at most limit
// of each.
func (s *Store) DomainHistory(ctx context.Context, domain string, limit int) (h report.DomainHistory, err error) {
	if h.Attempts, err = s.History(ctx, domain, "", time.Time{}, limit); err != nil {
		return h, err
	}
	bound := int32(limit) //nolint:gosec // the caller bounds it
	controls, err := s.q.ControlsOfDomain(ctx, dbsqlc.ControlsOfDomainParams{Domain: domain, Max: bound})
	robots, err2 := s.q.RobotsHistoryOfDomain(ctx, dbsqlc.RobotsHistoryOfDomainParams{Domain: domain, Max: bound})
	if err := errors.Join(err, err2); err != nil {
		return h, translate("read the history of "+domain, err)
	}
	for _, c := range controls {
		h.Controls = append(h.Controls, report.PastControl{
			Control: crawl.Control{
				Type: crawl.ControlType(c.Kind), Value: c.Value, Reason: c.Reason, SetBy: c.SetBy, SetAt: c.SetAt, Until: valueOf(c.Until),
			},
			LiftedAt: valueOf(c.LiftedAt), LiftedBy: valueOf(c.LiftedBy),
		})
	}
	for i, r := range robots {
		// the next row is the previous fetch, if it is of the same origin
		first := i+1 == len(robots) || robots[i+1].Origin != r.Origin
		h.Robots = append(h.Robots, report.RobotsFetch{
			Origin: r.Origin, Verdict: crawl.RobotsVerdict(r.Verdict), FetchedAt: r.FetchedAt,
			Changed: first || !bytes.Equal(robots[i+1].RulesHash, r.RulesHash) || robots[i+1].Verdict != r.Verdict,
		})
	}
	return h, nil
}
