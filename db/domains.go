package db

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/traps"
	"github.com/mosey-web/mosey/db/dbsqlc"
)

// ClaimDomains claims up to most domains that have due work for a run, by
// priority. The claims last a minute; the first fetch renews them.
func (s *Store) ClaimDomains(ctx context.Context, runID int64, most int) ([]string, error) {
	domains, err := retryConflicts(ctx, "claim domains", func() ([]string, error) {
		return s.q.DomainsClaim(ctx, dbsqlc.DomainsClaimParams{RunID: &runID, Max: int32(most)}) //nolint:gosec // bounded by Settings
	})
	return domains, err
}

// Activity returns how many domains the run has claimed, and how many claimed
// domains, whoever claimed them, have work for it.
func (s *Store) Activity(ctx context.Context, runID int64) (active, busy int, err error) {
	row, err := s.q.RunActivity(ctx, &runID)
	return int(row.Active), int(row.Busy), translate("count active domains", err)
}

// HoldDomain keeps a domain's claim for a wait that is longer than a lease.
func (s *Store) HoldDomain(ctx context.Context, domain string, hold time.Duration) error {
	err := s.q.DomainHold(ctx, dbsqlc.DomainHoldParams{Domain: domain, HoldMs: ms(hold)})
	return translate("hold domain "+domain, err)
}

// FinishDomain gives a domain's claim back, unless something is due: then it
// returns false and changes nothing. A putAway that is not negative leaves the
// domain alone for that long, whatever is due; reason says why.
func (s *Store) FinishDomain(ctx context.Context, domain string, putAway time.Duration, reason string) (bool, error) {
	until := int64(-1)
	if putAway >= 0 {
		until = ms(putAway)
	}
	return retryConflicts(ctx, "finish domain "+domain, func() (bool, error) {
		return s.q.DomainFinish(ctx, dbsqlc.DomainFinishParams{Domain: domain, UntilMs: until, Reason: reason})
	})
}

// SetDomain sets a domain's own delay, budget or window, which an empty text takes
// away; nil leaves it as it is.
func (s *Store) SetDomain(ctx context.Context, domain string, delay *time.Duration, maxPages *int64, window *string) error {
	p := dbsqlc.DomainSetParams{Domain: domain, MaxPages: maxPages, TimeWindow: window}
	if delay != nil {
		n := ms(*delay)
		p.DelayMs = &n
	}
	n, err := s.q.DomainSet(ctx, p)
	return changedOne("set domain "+domain, n, err)
}

// BlockDomain makes sure that no further request to a domain is begun.
func (s *Store) BlockDomain(ctx context.Context, domain, reason string) error {
	n, err := s.q.DomainBlock(ctx, dbsqlc.DomainBlockParams{Domain: domain, Reason: reason})
	return changedOne("block domain "+domain, n, err)
}

// GiveUpDomain makes a domain unreachable: nothing of it is requested until it is
// seeded again.
func (s *Store) GiveUpDomain(ctx context.Context, domain, reason string) error {
	err := s.q.DomainGiveUp(ctx, dbsqlc.DomainGiveUpParams{Domain: domain, Reason: reason})
	return translate("give up "+domain, err)
}

// BanDomain blocks a domain, known or not, for all runs until UnbanDomain: no
// further request to it is begun, and seeding does not revive it.
func (s *Store) BanDomain(ctx context.Context, domain, reason string) error {
	err := s.q.DomainBan(ctx, dbsqlc.DomainBanParams{Domain: domain, Reason: reason})
	return translate("block "+domain, err)
}

// Banned says whether BanDomain holds for a domain.
func (s *Store) Banned(ctx context.Context, domain string) (bool, error) {
	banned, err := s.q.DomainBanned(ctx, domain)
	return banned, translate("block of "+domain, err)
}

// UnbanDomain lets a blocked domain be crawled again, or returns crawl.ErrNotFound
// if it is not blocked.
func (s *Store) UnbanDomain(ctx context.Context, domain string) error {
	n, err := s.q.DomainUnban(ctx, domain)
	return changedOne("unblock "+domain, n, err)
}

func changedOne(op string, n int64, err error) error {
	if err == nil && n == 0 {
		return fmt.Errorf("%s: %w", op, crawl.ErrNotFound)
	}
	return translate(op, err)
}

// recentShown bounds the attempts in a report.
const recentShown = 10

// Domain reports what is known about a domain, or crawl.ErrNotFound.
func (s *Store) Domain(ctx context.Context, domain string) (crawl.DomainReport, error) {
	d, err := s.q.DomainGet(ctx, domain)
	if err != nil {
		return crawl.DomainReport{}, translate("domain "+domain, err)
	}
	rep := crawl.DomainReport{
		Domain: d.Domain, Status: crawl.DomainStatus(d.Status), Reason: d.StatusReason, MaxPages: d.MaxPages,
		PutAway: timeOf(d.NextCrawlAfter), ClaimEnd: timeOf(d.ClaimExpiresAt), Delay: durationOf(d.DelayMs), Window: textOf(d.TimeWindow),
	}
	if d.ClaimedBy != nil {
		rep.Claimed = *d.ClaimedBy
	}
	slot, err := s.q.SlotGet(ctx, "domain:"+domain)
	if err = translate("slot of "+domain, err); err != nil && !errors.Is(err, crawl.ErrNotFound) {
		return rep, err
	}
	rep.SlotFree, rep.SlotReason = slot.FreeAt, crawl.Reason(slot.Reason)
	health, err := s.q.DomainHealth(ctx, domain)
	switch err = translate("health of "+domain, err); {
	case err == nil:
		if err := json.Unmarshal(health, &rep.Health); err != nil {
			return rep, fmt.Errorf("read the health of %s: %w", domain, err)
		}
	case !errors.Is(err, crawl.ErrNotFound):
		return rep, err
	}
	robots, err := s.q.RobotsOfDomain(ctx, domain)
	runs, err2 := s.q.DomainTotals(ctx, domain)
	recent, err3 := s.q.DomainRecent(ctx, dbsqlc.DomainRecentParams{Domain: domain, Max: recentShown})
	spent, err5 := s.q.DomainSpentPatterns(ctx, dbsqlc.DomainSpentPatternsParams{Domain: domain, Max: recentShown})
	open, err4 := s.q.DomainOpen(ctx, dbsqlc.DomainOpenParams{Domain: domain, Bound: crawl.FrontierBound})
	if err := errors.Join(err, err2, err3, err4, err5); err != nil {
		return rep, translate("domain "+domain, err)
	}
	rep.Pending = open.Open
	if open.Open > 0 {
		rep.NextDue = open.NextDue
	}
	for _, p := range spent {
		if trap, found := traps.FindPattern(p.Pattern, int(p.Seen), int(p.Duplicates)); found {
			rep.Traps = append(rep.Traps, trap)
		}
	}
	for _, r := range robots {
		rep.Robots = append(rep.Robots, crawl.RobotsReport{
			Origin: r.Origin, Verdict: crawl.RobotsVerdict(r.Verdict), Reason: r.Reason,
			CrawlDelay: durationOf(r.CrawlDelayMs), Sitemaps: r.Sitemaps, StatusCode: int16Of(r.StatusCode),
			Failures: int(r.Failures), FailingAt: timeOf(r.FailingSince), ReadAt: timeOf(r.ReadAt), FetchedAt: r.FetchedAt, ExpiresAt: r.ExpiresAt,
		})
	}
	for _, r := range runs {
		rep.Runs = append(rep.Runs, crawl.DomainRun{
			Run: r.Run, Status: crawl.RunStatus(r.RunStatus), Seed: r.Seed,
			Window: r.TimeWindow, Started: r.PagesStarted, Budget: r.Budget, RunStarted: r.RunStarted, RunBudget: r.RunBudget,
			Totals: crawl.Totals{
				Success: r.Success, BlockedRobots: r.BlockedRobots, Blocked4xx: r.Blocked4xx,
				Blocked5xx: r.Blocked5xx, Timeout: r.Timeout, Failed: r.Failed, Skipped: r.Skipped, Bytes: r.Bytes,
			},
		})
	}
	for _, c := range recent {
		rep.Recent = append(rep.Recent, crawl.CrawlReport{
			ID: c.ID, URL: c.Url, Run: c.Run, Outcome: outcomeOf(c.Outcome),
			StatusCode: int16Of(c.StatusCode), Error: textOf(c.ErrorMessage), CompletedAt: timeOf(c.CompletedAt),
			Duration: crawl.Duration(fromMS(int64(numOf(c.DurationMs)))), Bytes: numOf(c.Bytes),
			Skipped: crawl.Reason(textOf(c.Skipped)), Unchanged: textOf(c.Unchanged),
		})
	}
	return rep, nil
}

// Page reports what is known about a page by its canonical URL, or
// crawl.ErrNotFound.
func (s *Store) Page(ctx context.Context, url string) (crawl.PageReport, error) {
	p, err := s.q.PageGet(ctx, url)
	if err != nil {
		return crawl.PageReport{}, translate("page "+url, err)
	}
	rep := crawl.PageReport{
		URL: p.Url, Domain: p.Domain, Status: string(p.Status), Title: textOf(p.Title),
		Canonical: textOf(p.CanonicalUrl), NoIndex: p.Noindex, NoFollow: p.Nofollow,
		FetchedAt: timeOf(p.FetchedAt), FailedAt: timeOf(p.FailedAt), FoundAt: p.CreatedAt, FreshUntil: timeOf(p.FreshUntil),
		Permits: p.Permits,
		Trap:    crawl.Trap{Kind: crawl.TrapKind(textOf(p.Trap)), Evidence: textOf(p.TrapEvidence)},
	}
	links, err := s.q.PageLinkCounts(ctx, p.ID)
	crawls, err2 := s.q.PageCrawls(ctx, dbsqlc.PageCrawlsParams{PageID: p.ID, Max: recentShown})
	to, err3 := s.q.PageRedirect(ctx, p.ID)
	if err3 = translate("redirect of "+url, err3); errors.Is(err3, crawl.ErrNotFound) {
		err3 = nil
	}
	if err := errors.Join(err, err2, err3); err != nil {
		return rep, translate("page "+url, err)
	}
	rep.LinksOut, rep.LinksIn, rep.RedirectTo = links.Outgoing, links.Incoming, to
	for _, c := range crawls {
		rep.Crawls = append(rep.Crawls, crawl.CrawlReport{
			ID: c.ID, Run: c.Run, Outcome: outcomeOf(c.Outcome), StatusCode: int16Of(c.StatusCode),
			Error: textOf(c.ErrorMessage), Depth: int(c.Depth), Bytes: numOf(c.Bytes), ContentType: textOf(c.ContentType),
			IP: c.Ip, Duration: crawl.Duration(fromMS(int64(numOf(c.DurationMs)))), ScheduledFor: c.ScheduledFor,
			LockedAt: timeOf(c.LockedAt), CompletedAt: timeOf(c.CompletedAt),
			Skipped: crawl.Reason(textOf(c.Skipped)), Unchanged: textOf(c.Unchanged),
		})
	}
	return rep, nil
}

func durationOf(n *int64) *crawl.Duration {
	if n == nil {
		return nil
	}
	d := crawl.Duration(fromMS(*n))
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
