package db

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/crawl/traps"
	"github.com/mosey-web/mosey/db/dbsqlc"
)

// MarkRunCrowded stores whether a run has more due domains than may be active. full is set at the
// limit.
func (s *Store) MarkRunCrowded(ctx context.Context, runID int64, full bool) error {
	err := s.q.RunSetHasWaitingDomains(ctx, dbsqlc.RunSetHasWaitingDomainsParams{RunID: runID, AtCapacity: full})
	return translate("store the crowd of a run", err)
}

// maxExpiredClaims bounds the claims that one call ends.
const maxExpiredClaims = 10_000

// ExpireClaims ends expired claims on domains, and returns their number. A workflow that still
// runs takes its claim again with its next request.
func (s *Store) ExpireClaims(ctx context.Context) (int, error) {
	var n int32
	err := s.change(ctx, "end claims", func(q *dbsqlc.Queries) error {
		domains, err := q.ClaimsExpired(ctx, maxExpiredClaims)
		if err != nil || len(domains) == 0 {
			return err
		}
		// slots are locked before any other row
		if err := q.DomainsReap(ctx, domains); err != nil {
			return err
		}
		n, err = q.ClaimsEnd(ctx, domains)
		return err
	})
	return int(n), err
}

// ClaimDomains claims at most limit domains with due work for a run: those that yielded least, by
// priority. The claims last crawl.ClaimStart; the first request renews them.
func (s *Store) ClaimDomains(ctx context.Context, runID int64, limit int) ([]string, error) {
	return retryConflicts(ctx, "claim domains", func() ([]string, error) {
		return s.q.DomainsClaim(ctx, dbsqlc.DomainsClaimParams{
			RunID: runID, Max: int32(limit), ClaimMs: ms(crawl.ClaimStart), //nolint:gosec // bounded by Settings
		})
	})
}

// RenewClaim extends a domain's claim to duration from now on.
func (s *Store) RenewClaim(ctx context.Context, domain string, duration time.Duration) error {
	err := s.q.DomainClaimRenew(ctx, dbsqlc.DomainClaimRenewParams{Domain: domain, ClaimMs: ms(duration)})
	return translate("renew the claim on "+domain, err)
}

// FinishDomain releases a domain's claim if decide allows it, and reports whether it did. decide
// gets the facts while nothing can be added to the domain.
func (s *Store) FinishDomain(
	ctx context.Context, domain string, decide func(crawl.Facts) (crawl.Finish, bool),
) (finished bool, err error) {
	err = s.change(ctx, "finish domain "+domain, func(q *dbsqlc.Queries) error {
		if _, err := q.DomainLock(ctx, domain); errors.Is(err, pgx.ErrNoRows) {
			finished = true // a domain that is not stored
			return nil
		} else if err != nil {
			return err
		}
		facts, err := s.facts(q.DomainFacts(ctx, domain))
		if err != nil {
			return err
		}
		var end crawl.Finish
		if end, finished = decide(facts); !finished {
			return nil
		}
		return q.DomainFinish(ctx, dbsqlc.DomainFinishParams{
			Domain: domain, Deferred: timeOrNil(end.DeferredUntil), WindowOpensAt: timeOrNil(end.WindowOpensAt), Reason: end.Reason,
			YieldingRunIds: end.YieldingRunIDs,
		})
	})
	if err != nil || !finished {
		return finished, err
	}
	// after the transaction above, because others wait for its lock: many pages take long
	return true, retry(ctx, "count domain "+domain, func() error { return s.countDomains(ctx, []string{domain}) })
}

// RefuseDomain defers a domain if this process may request none of its addresses, addr among them.
func (s *Store) RefuseDomain(ctx context.Context, domain string, addr netip.Addr, wait time.Duration, reason string) error {
	err := s.q.DomainDeferRefused(ctx, dbsqlc.DomainDeferRefusedParams{Domain: domain, Ip: addr, WaitMs: ms(wait), Reason: reason})
	return translate("store the refusal of "+domain, err)
}

// PermitNetworks lifts the deferral of domains whose refused address is in one of these networks,
// which are allowed now. It returns the number of domains.
func (s *Store) PermitNetworks(ctx context.Context, networks []netip.Prefix) (int, error) {
	texts := mapRows(networks, func(n netip.Prefix) string { return n.Masked().String() })
	n, err := retryConflicts(ctx, "permit networks", func() (int32, error) { return s.q.DomainsLiftRefusal(ctx, texts) })
	return int(n), err
}

const (
	// maxDomainRuns bounds the runs of DomainRuns.
	maxDomainRuns = 100
	// maxRecentShown bounds the attempts and the traps in a report.
	maxRecentShown = 10
	// maxPatternsRead bounds the patterns that a report reads.
	maxPatternsRead = 200
)

// DomainRuns returns the names of the running runs with the domain.
func (s *Store) DomainRuns(ctx context.Context, domain string) ([]string, error) {
	names, err := s.q.DomainRuns(ctx, dbsqlc.DomainRunsParams{Domain: domain, Max: maxDomainRuns})
	return names, translate("list the runs of "+domain, err)
}

// Domain reports on a domain, or returns crawl.ErrNotFound.
func (s *Store) Domain(ctx context.Context, domain string) (report.Domain, error) {
	d, err := s.q.DomainGet(ctx, domain)
	if err != nil {
		return report.Domain{}, translate("domain "+domain, err)
	}
	var state crawl.DomainFacts
	if err := json.Unmarshal(d.State, &state); err != nil {
		return report.Domain{}, fmt.Errorf("read the facts of %s: %w", domain, err)
	}
	rep := report.Domain{
		DomainListing: domainListing(d.Domain), Controls: state.Controls, SlotFree: state.SlotFree, SlotReason: state.SlotReason,
		Health: state.Health, ScoredAt: valueOf(d.Domain.PriorityComputedAt), LastRun: d.LastRun, Version: d.Domain.Version,
	}
	robots, err := s.q.RobotsOfDomain(ctx, domain)
	runs, err2 := s.q.DomainTotals(ctx, domain)
	recent, err3 := s.History(ctx, domain, "", time.Time{}, maxRecentShown)
	open, err4 := s.q.DomainOpen(ctx, dbsqlc.DomainOpenParams{Domain: domain, Bound: s.maxShownCount})
	patterns, err5 := s.q.DomainPatterns(ctx, dbsqlc.DomainPatternsParams{Domain: domain, Max: maxPatternsRead})
	forgotten, err6 := s.Forgotten(ctx, domain)
	moved, err7 := movedOf(ctx, s.q, domain)
	priority, err8 := s.priorityParts(ctx, domain)
	if err := errors.Join(err, err2, err3, err4, err5, err6, err7, err8); err != nil {
		return rep, translate("domain "+domain, err)
	}
	rep.Forgotten, rep.Moved, rep.Priority = forgotten, moved, priority
	rep.Pending, rep.HasMorePending, rep.Recent = open.Open, open.Open >= int64(s.maxShownCount), recent
	if open.Open > 0 {
		rep.NextDue = open.NextDue
	}
	rep.Traps = exhaustedTraps(patterns)
	for _, r := range robots {
		rep.Robots = append(rep.Robots, robotsReport(r))
	}
	var crawled int64 // until now, and not until the last count
	for _, r := range runs {
		crawled += r.Success
		run, err := s.domainRun(r)
		if err != nil {
			return rep, err
		}
		rep.Runs = append(rep.Runs, run)
	}
	rep.Crawled = max(rep.Crawled, crawled)
	return rep, nil
}

// priorityParts returns the terms of a domain's priority.
func (s *Store) priorityParts(ctx context.Context, domain string) (map[string]float32, error) {
	rows, err := s.q.DomainPriority(ctx, domain)
	parts := make(map[string]float32)
	for _, r := range rows {
		if r.Adds != 0 {
			parts[r.Part] = r.Adds
		}
	}
	return parts, translate("read the priority of "+domain, err)
}

// exhaustedTraps returns at most maxRecentShown patterns that the latest run does not request any
// more.
func exhaustedTraps(rows []dbsqlc.DomainPatternsRow) (found []crawl.Trap) {
	factsByPattern := make(map[string]crawl.PatternFacts, len(rows))
	wider := make(map[string]bool)
	for _, r := range rows {
		factsByPattern[r.Pattern] = crawl.PatternFacts{
			Pattern: r.Pattern, Seen: int(r.Seen), Duplicates: int(r.Duplicates), Copies: int(r.Copies),
		}
		for _, p := range traps.Parents(r.Pattern) {
			wider[p] = true
		}
	}
	for _, r := range rows {
		if wider[r.Pattern] {
			continue // it stops nothing by itself
		}
		var patterns []crawl.PatternFacts
		for _, p := range append(traps.Parents(r.Pattern), r.Pattern) {
			patterns = append(patterns, factsByPattern[p])
		}
		if trap, spent := traps.FindPattern(patterns); spent && len(found) < maxRecentShown {
			found = append(found, trap)
		}
	}
	return found
}

// ResetTraps clears the counts of a domain's URL patterns, and decides again about stopped pages.
func (s *Store) ResetTraps(ctx context.Context, domain string) error {
	return retry(ctx, "reset the traps of "+domain, func() error { return s.q.DomainResetPatterns(ctx, domain) })
}

func robotsReport(r dbsqlc.RobotsOfDomainRow) report.Robots {
	return report.Robots{
		Origin: r.Origin, Verdict: crawl.RobotsVerdict(r.Verdict), Reason: r.Reason,
		CrawlDelay: convertPtr(r.CrawlDelayMs, durationMS), VisitTimes: valueOf(r.VisitTimes), Sitemaps: r.Sitemaps,
		StatusCode: int16Of(r.StatusCode), SoftNotFound: r.SoftNotFound,
		Failures: int(r.Failures), FailingAt: valueOf(r.FailingSince), ReadAt: valueOf(r.ReadAt),
		FetchedAt: r.FetchedAt, ExpiresAt: r.ExpiresAt,
	}
}

func (s *Store) domainRun(r dbsqlc.DomainTotalsRow) (report.DomainRun, error) {
	set, err := s.settingsOf(r.Settings)
	if err != nil {
		return report.DomainRun{}, fmt.Errorf("read the settings of run %s: %w", r.Run, err)
	}
	var skips map[reasons.Reason]int64
	if string(r.Skips) != "{}" {
		if err := json.Unmarshal(r.Skips, &skips); err != nil {
			return report.DomainRun{}, fmt.Errorf("read the totals of run %s: %w", r.Run, err)
		}
	}
	return report.DomainRun{
		Run: r.Run, Status: crawl.RunStatus(r.RunStatus), Seed: r.Seed, Window: *set.Window,
		Started: r.PagesStarted, Budget: r.Budget, RunStarted: r.RunStarted, RunBudget: *set.MaxPages,
		BudgetSpent: r.Spent,
		Totals: report.Totals{
			Success: r.Success, BlockedRobots: r.BlockedRobots, Blocked4xx: r.Blocked4xx,
			Blocked5xx: r.Blocked5xx, Timeout: r.Timeout, Failed: r.Failed, Skipped: r.Skipped, Bytes: r.Bytes,
			RequestCount: r.Requests, NoFollow: r.NoFollow, Skips: skips,
			ImagesFound: r.ImagesFound, ImageRequests: r.ImagesStarted, ImagesStored: r.ImagesStored,
		},
	}, nil
}
