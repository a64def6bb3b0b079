package db

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/db/dbsqlc"
)

// MaxQueueDomains bounds the domains that Queue returns.
const MaxQueueDomains = 100_000

// Queue returns the pending work of a run, or, if runID is nil, of all running or paused runs. It
// reads all of it: some seconds for ten million pages. delay is the least time between two requests
// to a domain, for Queue.MinRemaining.
func (s *Store) Queue(ctx context.Context, runID *int64, limit int, delay time.Duration) (q report.Queue, err error) {
	rows, err := s.q.Queue(ctx, dbsqlc.QueueParams{
		RunID: runID, Max: int32(min(max(limit, 1), MaxQueueDomains)), DelayMs: delay.Milliseconds(),
	})
	if err != nil {
		return q, translate("count the queue", err)
	}
	for _, r := range rows {
		q.Total, q.Pending, q.Due, q.Open, q.MinRemaining = r.Total, r.TotalPending, r.TotalDue, r.TotalOpen, durationMS(r.MinRemainingMs)
		q.Domains = append(q.Domains, report.QueuedDomain{
			Domain: r.Domain, Status: crawl.DomainStatus(r.Status), Pending: r.Pending, Due: r.Due, InFlight: r.InFlight,
			Oldest: r.Oldest, WaitReason: reasons.Reason(r.WaitReason),
			Until: timeOrZero(r.Until), NextDue: timeOrZero(r.NextDue),
		})
	}
	return q, nil
}

const (
	// maxWorstShown bounds the domains of a kind in a run's report, maxChangesShown its changes, and
	// maxExamplesShown the pages for each reason to skip pages.
	maxWorstShown    = 5
	maxChangesShown  = 20
	maxExamplesShown = 3
)

// RunReport reports on a run in detail. It names at most maxFailing failing domains.
func (s *Store) RunReport(ctx context.Context, run crawl.Run, maxFailing int) (r report.Run, err error) {
	if r.Progress, err = s.Progress(ctx, run); err != nil {
		return r, err
	}
	if r.Detail, err = s.Detail(ctx, run.ID, maxFailing); err != nil {
		return r, err
	}
	changes, err := s.RunChanges(ctx, run.ID, maxChangesShown)
	queue, err2 := s.Queue(ctx, &run.ID, maxWorstShown, time.Duration(max(*run.Settings.Delay, *run.Settings.IPDelay)))
	rate, err3 := s.q.RunRate(ctx, dbsqlc.RunRateParams{RunID: run.ID, SpanMs: report.RateWindow.Milliseconds()})
	failing, err4 := s.q.RunWorstDomains(ctx, dbsqlc.RunWorstDomainsParams{RunID: run.ID, Max: maxWorstShown})
	slowest, err5 := s.q.RunWorstDomains(ctx, dbsqlc.RunWorstDomainsParams{RunID: run.ID, Max: maxWorstShown, Slowest: true})
	if err := errors.Join(err, err2, err3, err4, err5); err != nil {
		return r, translate("read the report of run "+run.Name, err)
	}
	r.Changes, r.Longest = changes, queue.Domains
	if limit := *run.Settings.MaxSubdomains; limit >= 0 && *run.Settings.Scope == settings.ScopeWeb {
		rows, err := s.q.RunSubdomains(ctx, dbsqlc.RunSubdomainsParams{RunID: run.ID, MinDomains: int64(limit), Max: maxWorstShown})
		if err != nil {
			return r, translate("read the report of run "+run.Name, err)
		}
		for _, row := range rows {
			r.Subdomains = append(r.Subdomains, report.RunSubdomains{Registered: *row.Registered, Domains: row.Domains})
		}
	}
	r.Failing, r.Slowest = mapRows(failing, runDomain), mapRows(slowest, runDomain)
	r.Budgets = r.BudgetUses(time.Now())
	if r.Skipped, err = s.skipRules(ctx, r.Progress); err != nil {
		return r, err
	}
	if run.Status == crawl.RunRunning && r.Workers > 0 {
		r.PagesPerSecond = float64(rate.Requests) / max(rate.Seconds, 1)
		if limit := *run.Settings.MaxPages; limit >= 0 {
			queue.Open = min(queue.Open, max(limit-run.PagesStarted, 0))
		}
		r.ETA = settings.Duration(queue.Estimate(r.PagesPerSecond))
	}
	return r, nil
}

// skipRules returns the reasons for skipped pages of a run, with examples.
func (s *Store) skipRules(ctx context.Context, p report.Progress) ([]report.SkipRule, error) {
	all := p.SkipRules()
	if p.BlockedRobots > 0 {
		all = append(all, report.SkipRule{Reason: reasons.Reason(crawl.OutcomeBlockedRobots), Pages: p.BlockedRobots})
		report.SortSkipRules(all)
	}
	names := mapRows(all, func(rule report.SkipRule) string { return string(rule.Reason) })
	rows, err := s.q.RunSkipExamples(ctx, dbsqlc.RunSkipExamplesParams{RunID: p.ID, Reasons: names, Max: maxExamplesShown})
	for _, row := range rows {
		rule := &all[slices.Index(names, row.Reason)]
		rule.Examples = append(rule.Examples, row.Url)
	}
	return all, translate("list skipped pages of run "+p.Name, err)
}

func runDomain(r dbsqlc.RunWorstDomainsRow) report.RunDomain {
	return report.RunDomain{Domain: r.Domain, Requests: r.Requests, Failed: r.Failed, Response: durationMS(r.ResponseMs)}
}
