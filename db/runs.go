package db

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/kinds"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/db/dbsqlc"
)

// EnsureRun creates a run with defaults for the unset settings, or changes the set settings of an
// existing run. The caller has validated both. by is the operator who sets them.
func (s *Store) EnsureRun(ctx context.Context, name, by string, set settings.Settings) (crawl.Run, error) {
	return s.ensureRun(ctx, name, crawl.RunChange{Action: crawl.ChangeSet, Settings: set, SetBy: by})
}

func (s *Store) ensureRun(ctx context.Context, name string, c crawl.RunChange) (crawl.Run, error) {
	var row dbsqlc.CrawlRun
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) (err error) {
		row, err = s.upsertRun(ctx, s.q.WithTx(tx), name, c)
		return err
	})
	return s.run(row, translate("store run "+name, err))
}

const (
	// MaxObstacles bounds the entries that Obstacles returns.
	MaxObstacles = 1000
	// widenChunk is the number of pages in one transaction of WidenRun.
	widenChunk = 100
	// maxClaimedDomains bounds the domains that ClaimedDomains returns.
	maxClaimedDomains = 10_000
	// recrawlCheckInterval is the interval of a dispatcher's checks for pages to request again.
	recrawlCheckInterval = time.Minute
	// maxWaitsShown bounds the lists of a progress report.
	maxWaitsShown = 10
)

// WidenRun adds to a run the linked pages of some of its pages, as follow says for each crawl, and
// stores its progress. It returns the number of new pages, and whether all pages are done.
func (s *Store) WidenRun(
	ctx context.Context, id int64, follow func(crawl.AttemptFacts) *crawl.KnownLinks,
) (added int, done bool, err error) {
	err = s.change(ctx, "widen a run", func(q *dbsqlc.Queries) (err error) {
		added, done, err = s.widenFrom(ctx, q, id, follow)
		return err
	})
	return added, done, err
}

// reach has a page's kind, its distance from a seed, and its publisher's statement about its use.
type reach struct {
	kind             kinds.Kind
	depth, redirects int16
	usage            string
}

func (s *Store) widenFrom(
	ctx context.Context, q *dbsqlc.Queries, id int64, follow func(crawl.AttemptFacts) *crawl.KnownLinks,
) (added int, done bool, err error) {
	stored, err := q.RunWidening(ctx, id)
	if err != nil || stored == nil {
		return 0, true, err
	}
	var from crawl.WideningProgress
	if err := json.Unmarshal(stored, &from); err != nil {
		return 0, false, fmt.Errorf("read the widening of run %d: %w", id, err)
	}
	rows, err := q.RunCrawledPages(ctx, dbsqlc.RunCrawledPagesParams{RunID: id, Domain: from.Domain, PageID: from.Page, Max: widenChunk})
	if err != nil {
		return 0, false, err
	}
	pages := map[reach][]int64{}
	for _, r := range rows {
		if key := (reach{kinds.Kind(r.Kind), r.Depth, r.Redirects, string(r.Usage)}); r.Known {
			pages[key] = append(pages[key], r.PageID)
		}
	}
	// a page is as near to a seed as the nearest that links to it
	for _, key := range slices.SortedFunc(maps.Keys(pages), func(a, b reach) int {
		return cmp.Or(cmp.Compare(a.depth, b.depth), cmp.Compare(a.redirects, b.redirects), cmp.Compare(a.kind, b.kind),
			cmp.Compare(a.usage, b.usage))
	}) {
		c := crawl.AttemptFacts{Kind: key.kind, Depth: int(key.depth), Redirects: int(key.redirects), Usage: json.RawMessage(key.usage)}
		links, err := document("known links", follow(c))
		if err != nil {
			return 0, false, err
		}
		n, err := q.RunAddLinkedPages(ctx, dbsqlc.RunAddLinkedPagesParams{RunID: id, Pages: pages[key], Links: links})
		if err != nil {
			return 0, false, err
		}
		added += int(n)
	}
	var next []byte
	if done = len(rows) < widenChunk; !done {
		last := rows[len(rows)-1]
		if next, err = document("a widening", crawl.WideningProgress{Domain: last.Domain, Page: last.PageID}); err != nil {
			return 0, false, err
		}
	}
	return added, done, q.RunWidened(ctx, dbsqlc.RunWidenedParams{ID: id, Old: stored, Next: next})
}

// Run returns a run by name, or crawl.ErrNotFound.
func (s *Store) Run(ctx context.Context, name string) (crawl.Run, error) {
	row, err := s.q.RunByName(ctx, name)
	return s.run(row, translate("run "+name, err))
}

// Runs returns all runs, oldest first.
func (s *Store) Runs(ctx context.Context) ([]crawl.Run, error) {
	rows, err := s.q.RunList(ctx)
	if err != nil {
		return nil, translate("list runs", err)
	}
	runs := make([]crawl.Run, len(rows))
	for i, row := range rows {
		if runs[i], err = s.run(row, nil); err != nil {
			return nil, err
		}
	}
	return runs, nil
}

// StartRun starts or resumes a run, whatever its status. Abandoned domains and unreadable
// robots.txt files keep the times of their next requests.
func (s *Store) StartRun(ctx context.Context, id int64) error {
	return retry(ctx, "start run", func() error { return s.q.RunStart(ctx, id) })
}

// Obstacles returns the failing domains and origins that prevent a run from requesting pending
// pages, at most limit and MaxObstacles, the first to be retried first, and their number.
func (s *Store) Obstacles(ctx context.Context, runID int64, limit int) (list []report.Obstacle, total int, err error) {
	rows, err := s.q.RunFailures(ctx, dbsqlc.RunFailuresParams{RunID: runID, Max: int32(min(max(limit, 1), MaxObstacles))})
	for _, r := range rows {
		total = int(r.Total)
		list = append(list, report.Obstacle{
			Name: r.Name, Domain: r.Domain, State: report.ObstacleState(r.State), Until: r.Until, Reason: r.Reason,
		})
	}
	return list, total, translate("list failing sites of a run", err)
}

// StopRun stops a run without an operator's decision, or returns false unless it was running or
// paused.
func (s *Store) StopRun(ctx context.Context, id int64, reason string) (bool, error) {
	n, err := s.q.RunStop(ctx, dbsqlc.RunStopParams{ID: id, Reason: reason})
	return n > 0, translate("stop run", err)
}

// EndRun marks a running run done unless one of its domains is due or served, or returns false.
func (s *Store) EndRun(ctx context.Context, id int64, reason string) (bool, error) {
	var n int64
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) (err error) {
		q := s.q.WithTx(tx)
		if err = q.RunLockByID(ctx, id); err == nil {
			n, err = q.RunEnd(ctx, dbsqlc.RunEndParams{ID: id, Reason: reason})
		}
		return err
	})
	return n > 0, translate("end run", err)
}

// ClaimedDomains returns the domains of a run that any run has claimed.
func (s *Store) ClaimedDomains(ctx context.Context, runID int64) ([]string, error) {
	names, err := s.q.RunClaimed(ctx, dbsqlc.RunClaimedParams{RunID: runID, Max: maxClaimedDomains})
	return names, translate("list claimed domains", err)
}

// NextSeeding increments and returns the number of a run's next SeedWorkflow.
func (s *Store) NextSeeding(ctx context.Context, id int64) (int64, error) {
	n, err := s.q.RunNextSeeding(ctx, id)
	return n, translate("count a seeding", err)
}

// ActivityUpTo counts the active domains of a run, exactly if limit is 0. With fewer than limit,
// Active may include domains that are about to end, and Busy is at most 1.
func (s *Store) ActivityUpTo(ctx context.Context, runID int64, limit int) (crawl.Activity, error) {
	row, err := s.q.RunActivity(ctx, dbsqlc.RunActivityParams{RunID: runID, Bound: crawl.RemainingWorkBound, MaxActive: int64(limit)})
	a := crawl.Activity{Active: int(row.Active), Busy: int(row.Busy), Suspended: int(row.Held)}
	return a, translate("count active domains", err)
}

// RecordRunCheck stores that a run's dispatcher checks now, and when its window opens
// (windowOpensAt); zero means open.
func (s *Store) RecordRunCheck(ctx context.Context, runID int64, windowOpensAt time.Time) error {
	err := s.q.RunRecordPoll(ctx, dbsqlc.RunRecordPollParams{ID: runID, Opens: timeOrNil(windowOpensAt)})
	return translate("store the time of a pass", err)
}

// NextDue returns when the run may make its next request (zero: never), and the database's time.
func (s *Store) NextDue(ctx context.Context, runID int64) (due, now time.Time, err error) {
	row, err := s.q.RunNextDue(ctx, runID)
	if err != nil {
		return time.Time{}, row.Now, translate("read the next due time of a run", err)
	}
	due = timeOrZero(row.Due)
	// many pages become pending at once
	if revisit := timeOrZero(row.RevisitDue); !revisit.IsZero() {
		if soonest := row.Now.Add(recrawlCheckInterval); revisit.Before(soonest) {
			revisit = soonest
		}
		if due.IsZero() || revisit.Before(due) {
			due = revisit
		}
	}
	return due, row.Now, nil
}

// Progress reports the progress of a run.
func (s *Store) Progress(ctx context.Context, r crawl.Run) (report.Progress, error) {
	p := report.Progress{Run: r}
	totals, err := s.q.RunTotals(ctx, r.ID)
	frontier, err2 := s.q.RunFrontier(ctx, dbsqlc.RunFrontierParams{RunID: r.ID, Bound: report.FrontierBound})
	activity, err3 := s.q.RunActivity(ctx, dbsqlc.RunActivityParams{RunID: r.ID, Bound: crawl.RemainingWorkBound})
	waits, err4 := s.q.RunDomainWaits(ctx, dbsqlc.RunDomainWaitsParams{RunID: &r.ID, Max: maxWaitsShown})
	skips, err5 := s.q.RunSkips(ctx, r.ID)
	outages, err6 := s.Outages(ctx)
	use, err7 := s.FleetUse(ctx)
	if err := errors.Join(err, err2, err3, err4, err5, err6, err7); err != nil {
		return p, translate("read the progress of run "+r.Name, err)
	}
	p.Outages, p.Workers, p.WorkerSeenAt = outages, use.Running, use.SeenAt
	if use.Full() {
		p.Limited = &use
	}
	notDue, err := s.q.RunDomainsNotDue(ctx, dbsqlc.RunDomainsNotDueParams{RunID: r.ID, Bound: report.NotDueBound})
	due, err2 := s.q.RunDueCount(ctx, dbsqlc.RunDueCountParams{RunID: r.ID, Bound: crawl.RemainingWorkBound})
	if err := errors.Join(err, err2); err != nil {
		return p, translate("read the progress of run "+r.Name, err)
	}
	p.Due = due
	for _, n := range notDue {
		p.NotDue = append(p.NotDue, report.NotDue{
			Reason: reasons.Reason(n.WaitReason), Domains: n.Domains, Domain: n.Domain, Until: timeOrZero(n.Until),
		})
	}
	p.Totals = report.Totals{
		Success: totals.Success, BlockedRobots: totals.BlockedRobots, Blocked4xx: totals.Blocked4xx,
		Blocked5xx: totals.Blocked5xx, Timeout: totals.Timeout, Failed: totals.Failed,
		Skipped: totals.Skipped, Bytes: totals.Bytes, RequestCount: totals.Requests, NoFollow: totals.NoFollow,
		ImagesFound: totals.ImagesFound, ImageRequests: totals.ImagesStarted, ImagesStored: totals.ImagesStored,
	}
	for _, skip := range skips {
		if p.Skips == nil {
			p.Skips = make(map[reasons.Reason]int64)
		}
		p.Skips[reasons.Reason(skip.Reason)] = skip.Pages
	}
	p.Domains, p.SeedDomains, p.Active = totals.Domains, totals.SeedDomains, activity.Active
	p.ClaimedElsewhere = max(activity.Busy-activity.Active, 0)
	p.Pending, p.InFlight, p.Deferred = frontier.Open, frontier.InFlight, frontier.Deferred
	for _, w := range waits {
		p.Waiting = append(p.Waiting, report.WaitingDomain{
			Domain: w.Domain, Reason: reasons.Reason(w.WaitReason), InFlight: w.WaitReason == string(reasons.InFlight), Until: timeOrZero(w.Until),
		})
	}
	return p, nil
}

// Detail returns the domains that prevent more requests of a run, at most maxEach of each kind.
func (s *Store) Detail(ctx context.Context, runID int64, maxEach int) (_ *report.Detail, err error) {
	var d report.Detail
	if d.Obstacles, d.ObstacleTotal, err = s.Obstacles(ctx, runID, maxEach); err != nil {
		return nil, err
	}
	limit := int32(min(max(maxEach, 1), MaxObstacles))
	forbidden, err := s.q.RunForbiddenDomains(ctx, dbsqlc.RunForbiddenDomainsParams{RunID: runID, Max: limit})
	if err != nil {
		return nil, translate("list forbidden domains of a run", err)
	}
	for _, f := range forbidden {
		d.ForbiddenTotal = int(f.Total)
		d.Forbidden = append(d.Forbidden, report.ForbiddenDomain{Domain: f.Domain, Control: crawl.Control{
			Type: crawl.ControlType(f.Kind), Reason: f.Reason, SetBy: f.SetBy, SetAt: f.SetAt, Until: valueOf(f.Until),
		}})
	}
	if d.NoFollowDomains, err = s.q.RunNoFollow(ctx, dbsqlc.RunNoFollowParams{RunID: runID, Max: limit}); err != nil {
		return nil, translate("list nofollow domains of a run", err)
	}
	return &d, nil
}

// UpdateSpentBudget stores and returns the spent budget of a run, except that of pages. A run with
// a spent budget makes no requests. maxTime counts from the first call; 0 means no limit.
func (s *Store) UpdateSpentBudget(ctx context.Context, runID int64, maxTime time.Duration) (crawl.Budget, error) {
	spent, err := retryConflicts(ctx, "check the budgets of a run", func() (string, error) {
		return s.q.RunSpend(ctx, dbsqlc.RunSpendParams{RunID: runID, MaxTimeMs: ms(maxTime)})
	})
	return crawl.Budget(spent), err
}

// RemainingWork returns the remaining work and budgets of a run without due domains.
func (s *Store) RemainingWork(ctx context.Context, runID int64) (crawl.RemainingWork, error) {
	row, err := s.q.RunRemainingWork(ctx, dbsqlc.RunRemainingWorkParams{ID: runID, Bound: crawl.RemainingWorkBound})
	return crawl.RemainingWork{
		Pending: row.Pending, Due: row.Due, Budget: crawl.Budget(row.Budget), RequestCount: row.PagesStarted, SpentDomains: row.Spent,
	}, translate("read the remaining work of a run", err)
}

func (s *Store) run(row dbsqlc.CrawlRun, err error) (crawl.Run, error) {
	if err != nil {
		return crawl.Run{}, err
	}
	set, err := s.settingsOf(row.Settings)
	if err != nil {
		return crawl.Run{}, fmt.Errorf("read the settings of run %s: %w", row.Name, err)
	}
	return crawl.Run{
		ID: row.ID, Name: row.Name, Status: crawl.RunStatus(row.Status), Reason: row.StatusReason,
		StartedAt: row.StartedAt, FinishedAt: valueOf(row.FinishedAt), PausedUntil: valueOf(row.PausedUntil),
		BeganAt: valueOf(row.BeganAt), CheckedAt: valueOf(row.LastPollAt), WindowOpensAt: valueOf(row.OpensAt),
		HasWaitingDomains: row.HasWaitingDomains, PagesStarted: row.PagesStarted,
		SpentBudget: crawl.Budget(row.SpentBudget), Widening: row.Widening != nil, Settings: set,
	}, nil
}
