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
	return crawlsOf(rows), nil
}

// Ended returns the latest attempts of domains that are served, of so many of them, at most most.
func (s *Store) Ended(ctx context.Context, domains, most int) ([]report.Crawl, error) {
	p := dbsqlc.HistoryOfServedParams{Domains: int32(domains), Max: int32(most)} //nolint:gosec // the caller bounds them
	served, err := s.q.HistoryOfServed(ctx, p)
	if err != nil {
		return nil, translate("read the latest attempts", err)
	}
	rows := make([]dbsqlc.HistoryRow, len(served))
	for i, r := range served {
		rows[i] = dbsqlc.HistoryRow(r)
	}
	return crawlsOf(rows), nil
}

func crawlsOf(rows []dbsqlc.HistoryRow) []report.Crawl {
	list := make([]report.Crawl, len(rows))
	for i, r := range rows {
		list[i] = report.Crawl{
			ID: r.ID, URL: r.Url, Domain: r.Domain, Kind: kinds.Kind(r.Kind), Run: r.Run, Outcome: outcomeOf(r.Outcome),
			StatusCode: int16Of(r.StatusCode), Error: textOf(r.ErrorMessage), Depth: int(r.Depth), Bytes: numOf(r.Bytes),
			Truncated: r.Truncated != nil, ContentType: textOf(r.ContentType), IP: r.Ip,
			Duration: settings.Duration(fromMS(int64(numOf(r.DurationMs)))), CompletedAt: r.CompletedAt,
			Skipped: reasons.Reason(textOf(r.Skipped)), Unchanged: textOf(r.Unchanged),
			Delay: settings.Duration(fromMS(numOf(r.DelayMs))), DelayReason: reasons.Reason(textOf(r.DelayReason)),
			RetryAfter: settings.Duration(fromMS(numOf(r.RetryAfterMs))), Worker: r.Worker,
		}
	}
	return list
}

// DomainHistory returns what has happened to a domain, of each kind the latest, at most most.
func (s *Store) DomainHistory(ctx context.Context, domain string, most int) (h report.DomainHistory, err error) {
	if h.Attempts, err = s.History(ctx, domain, "", time.Time{}, most); err != nil {
		return h, err
	}
	bound := int32(most) //nolint:gosec // the caller bounds it
	controls, err := s.q.ControlsOfDomain(ctx, dbsqlc.ControlsOfDomainParams{Domain: domain, Max: bound})
	robots, err2 := s.q.RobotsOfDomainEver(ctx, dbsqlc.RobotsOfDomainEverParams{Domain: domain, Max: bound})
	if err := errors.Join(err, err2); err != nil {
		return h, translate("read the history of "+domain, err)
	}
	for _, c := range controls {
		h.Controls = append(h.Controls, report.PastControl{
			Control: crawl.Control{
				Type: crawl.ControlType(c.Kind), Value: c.Value, Reason: c.Reason, SetBy: c.SetBy, SetAt: c.SetAt, Until: timeOf(c.Until),
			},
			LiftedAt: timeOf(c.LiftedAt), LiftedBy: textOf(c.LiftedBy),
		})
	}
	for i, r := range robots {
		// the next row is the fetch before, if it is of the same origin
		first := i+1 == len(robots) || robots[i+1].Origin != r.Origin
		h.Robots = append(h.Robots, report.RobotsFetch{
			Origin: r.Origin, Verdict: crawl.RobotsVerdict(r.Verdict), FetchedAt: r.FetchedAt,
			Changed: first || !bytes.Equal(robots[i+1].RulesHash, r.RulesHash) || robots[i+1].Verdict != r.Verdict,
		})
	}
	return h, nil
}
