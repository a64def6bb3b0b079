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

// EnsureRun creates the run with its defaults, or changes the settings that are
// set of an existing one, and returns it. The caller has validated both. Domains
// that wait are looked at again if settings change. by names who wants that.
func (s *Store) EnsureRun(ctx context.Context, name, by string, set settings.Settings) (crawl.Run, error) {
	return s.ensureRun(ctx, name, crawl.RunChange{Action: crawl.ChangeSet, Settings: set, SetBy: by})
}

func (s *Store) ensureRun(ctx context.Context, name string, c crawl.RunChange) (crawl.Run, error) {
	var row dbsqlc.CrawlRun
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) (err error) {
		row, err = s.upsertRun(ctx, s.q.WithTx(tx), name, c)
		return err
	})
	if err != nil {
		return crawl.Run{}, translate("store run "+name, err)
	}
	return s.run(row)
}

// widenChunk is how many pages' links one transaction looks at.
const widenChunk = 100

// WidenRun makes the pages that some pages of a run link to part of it, as follow
// says for each crawl, and notes how far it has come. It returns how many pages are
// new to the run, and whether there is nothing left to look at.
func (s *Store) WidenRun(
	ctx context.Context, id int64, follow func(crawl.CrawlFacts) *crawl.KnownLinks,
) (added int, done bool, err error) {
	err = s.change(ctx, "widen a run", func(q *dbsqlc.Queries) (err error) {
		added, done, err = s.widenFrom(ctx, q, id, follow)
		return err
	})
	return added, done, err
}

// reach is what decides about a page's links: what it is, how far from a seed, and what
// its publisher says about its use.
type reach struct {
	kind             kinds.Kind
	depth, redirects int16
	said             string
}

func (s *Store) widenFrom(
	ctx context.Context, q *dbsqlc.Queries, id int64, follow func(crawl.CrawlFacts) *crawl.KnownLinks,
) (added int, done bool, err error) {
	was, err := q.RunWidening(ctx, id)
	if err != nil || was == nil {
		return 0, true, err
	}
	var from crawl.Widening
	if err := json.Unmarshal(was, &from); err != nil {
		return 0, false, fmt.Errorf("read how far run %d is widened: %w", id, err)
	}
	rows, err := q.RunCrawled(ctx, dbsqlc.RunCrawledParams{RunID: id, Domain: from.Domain, PageID: from.Page, Max: widenChunk})
	if err != nil {
		return 0, false, err
	}
	pages := map[reach][]int64{}
	for _, r := range rows {
		if at := (reach{kinds.Kind(r.Kind), r.Depth, r.Redirects, string(r.Said)}); r.Known {
			pages[at] = append(pages[at], r.PageID)
		}
	}
	// a page is as near to a seed as the nearest that links to it
	for _, at := range slices.SortedFunc(maps.Keys(pages), func(a, b reach) int {
		return cmp.Or(cmp.Compare(a.depth, b.depth), cmp.Compare(a.redirects, b.redirects), cmp.Compare(a.kind, b.kind),
			cmp.Compare(a.said, b.said))
	}) {
		c := crawl.CrawlFacts{Kind: at.kind, Depth: int(at.depth), Redirects: int(at.redirects), Usage: json.RawMessage(at.said)}
		links, err := document("known links", follow(c))
		if err != nil {
			return 0, false, err
		}
		n, err := q.RunWidenFrom(ctx, dbsqlc.RunWidenFromParams{RunID: id, Pages: pages[at], Links: links})
		if err != nil {
			return 0, false, err
		}
		added += int(n)
	}
	var next []byte
	if done = len(rows) < widenChunk; !done {
		last := rows[len(rows)-1]
		if next, err = document("a widening", crawl.Widening{Domain: last.Domain, Page: last.PageID}); err != nil {
			return 0, false, err
		}
	}
	return added, done, q.RunWidened(ctx, dbsqlc.RunWidenedParams{ID: id, Was: was, Next: next})
}

// Run returns a run by name, or crawl.ErrNotFound.
func (s *Store) Run(ctx context.Context, name string) (crawl.Run, error) {
	row, err := s.q.RunByName(ctx, name)
	if err != nil {
		return crawl.Run{}, translate("run "+name, err)
	}
	return s.run(row)
}

// Runs returns all runs, oldest first.
func (s *Store) Runs(ctx context.Context) ([]crawl.Run, error) {
	rows, err := s.q.RunList(ctx)
	if err != nil {
		return nil, translate("list runs", err)
	}
	runs := make([]crawl.Run, len(rows))
	for i, row := range rows {
		if runs[i], err = s.run(row); err != nil {
			return nil, err
		}
	}
	return runs, nil
}

// StartRun makes a run go on, whatever its status was. One that had ended asks again
// those of its domains that were given up, and for the robots.txt that could not be
// read.
func (s *Store) StartRun(ctx context.Context, id int64) error {
	return retry(ctx, "start run", func() error { return s.q.RunStart(ctx, id) })
}

// TroubledMost bounds what Troubled returns.
const TroubledMost = 1000

// Troubled returns what keeps a run from requesting pending pages, up to most and
// TroubledMost entries, those asked again soonest first, and how many there are in
// all.
func (s *Store) Troubled(ctx context.Context, runID int64, most int) (list []report.Troubled, total int, err error) {
	rows, err := s.q.RunTroubled(ctx, dbsqlc.RunTroubledParams{
		RunID: runID, Max: int32(min(max(most, 1), TroubledMost)),
	})
	if err != nil {
		return nil, 0, translate("what a run has trouble with", err)
	}
	for _, r := range rows {
		total = int(r.Total)
		list = append(list, report.Troubled{
			Name: r.Name, Domain: r.Domain, State: report.TroubleState(r.State), Until: r.Until, Reason: r.Reason,
		})
	}
	return list, total, nil
}

// StopRun stops a run, for other reasons than a person's decision, which goes through
// ChangeRun. It returns false if the run neither ran nor was paused.
func (s *Store) StopRun(ctx context.Context, id int64, reason string) (bool, error) {
	n, err := s.q.RunStop(ctx, dbsqlc.RunStopParams{ID: id, Reason: reason})
	return n > 0, translate("stop run", err)
}

// EndRun marks a running run done, and returns whether it did: not if a domain is due
// or being served after all.
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

// claimedMost bounds the claimed domains that are named.
const claimedMost = 10_000

// ClaimedDomains returns the claimed domains, by whichever run, that are part of a run.
func (s *Store) ClaimedDomains(ctx context.Context, runID int64) ([]string, error) {
	names, err := s.q.RunClaimed(ctx, dbsqlc.RunClaimedParams{RunID: runID, Max: claimedMost})
	return names, translate("claimed domains", err)
}

// NextSeeding counts up and returns the number of a run's next SeedWorkflow.
func (s *Store) NextSeeding(ctx context.Context, id int64) (int64, error) {
	n, err := s.q.RunNextSeeding(ctx, id)
	return n, translate("count a seeding", err)
}

// Activity returns what keeps a run going.
func (s *Store) Activity(ctx context.Context, runID int64) (crawl.Activity, error) {
	return s.ActivityUpTo(ctx, runID, 0)
}

// ActivityUpTo does so for a dispatcher that may have up to most domains active: while it has
// fewer, Active may be too many by those that are about to end, and Busy is 1 at the most.
func (s *Store) ActivityUpTo(ctx context.Context, runID int64, most int) (crawl.Activity, error) {
	row, err := s.q.RunActivity(ctx, dbsqlc.RunActivityParams{RunID: runID, Bound: crawl.LeftBound, Most: int64(most)})
	return crawl.Activity{
		Active: int(row.Active), Busy: int(row.Busy), Held: int(row.Held),
	}, translate("count active domains", err)
}

// RunLooked notes that a run's dispatcher looks now, and when the run's window opens; zero
// where it is open.
func (s *Store) RunLooked(ctx context.Context, runID int64, opens time.Time) error {
	err := s.q.RunLooked(ctx, dbsqlc.RunLookedParams{ID: runID, Opens: timeOrNil(opens)})
	return translate("note when a run is looked at", err)
}

// NextDue returns when something will next become due that the run may ask, and the present
// time, both on the database's clock. A zero due means never.
func (s *Store) NextDue(ctx context.Context, runID int64) (due, now time.Time, err error) {
	row, err := s.q.RunNextDue(ctx, runID)
	if err != nil {
		return time.Time{}, row.Now, translate("next due of a run", err)
	}
	if row.Due.Unix() != 0 {
		due = row.Due
	}
	// pages are made pending many at once
	if row.Again.Unix() != 0 {
		again := row.Again
		if soonest := row.Now.Add(recrawlEvery); again.Before(soonest) {
			again = soonest
		}
		if due.IsZero() || again.Before(due) {
			due = again
		}
	}
	return due, row.Now, nil
}

// recrawlEvery is how often pages are looked for that are due again.
const recrawlEvery = time.Minute

// waitsShown bounds the lists of a progress report.
const waitsShown = 10

// Progress reports how far a run has come.
func (s *Store) Progress(ctx context.Context, r crawl.Run) (report.Progress, error) {
	p := report.Progress{Run: r}
	totals, err := s.q.RunTotals(ctx, r.ID)
	frontier, err2 := s.q.RunFrontier(ctx, dbsqlc.RunFrontierParams{RunID: r.ID, Bound: report.FrontierBound})
	activity, err3 := s.q.RunActivity(ctx, dbsqlc.RunActivityParams{RunID: r.ID, Bound: crawl.LeftBound})
	waits, err4 := s.q.RunWaits(ctx, dbsqlc.RunWaitsParams{RunID: &r.ID, Max: waitsShown})
	skips, err5 := s.q.RunSkips(ctx, r.ID)
	outages, err6 := s.Outages(ctx)
	use, err7 := s.FleetUse(ctx)
	if err := errors.Join(err, err2, err3, err4, err5, err6, err7); err != nil {
		return p, translate("progress of run "+r.Name, err)
	}
	p.Outages = outages
	if use.Full() {
		p.Limited = &use
	}
	notDue, err := s.q.RunNotDue(ctx, dbsqlc.RunNotDueParams{RunID: r.ID, Bound: report.NotDueBound})
	due, err2 := s.q.RunDueCount(ctx, dbsqlc.RunDueCountParams{RunID: r.ID, Bound: crawl.LeftBound})
	if err := errors.Join(err, err2); err != nil {
		return p, translate("progress of run "+r.Name, err)
	}
	p.Due = due
	for _, n := range notDue {
		d := report.NotDue{Reason: reasons.Reason(n.Waits), Domains: n.Domains, Domain: n.Domain}
		if n.Until.Unix() != 0 {
			d.Until = n.Until
		}
		p.NotDue = append(p.NotDue, d)
	}
	p.Totals = report.Totals{
		Success: totals.Success, BlockedRobots: totals.BlockedRobots, Blocked4xx: totals.Blocked4xx,
		Blocked5xx: totals.Blocked5xx, Timeout: totals.Timeout, Failed: totals.Failed,
		Skipped: totals.Skipped, Bytes: totals.Bytes, Asked: totals.Requests, NoFollow: totals.NoFollow,
		ImagesFound: totals.ImagesFound, ImagesAsked: totals.ImagesStarted, ImagesStored: totals.ImagesStored,
	}
	for _, skip := range skips {
		if p.Skips == nil {
			p.Skips = make(map[reasons.Reason]int64)
		}
		p.Skips[reasons.Reason(skip.Reason)] = skip.Pages
	}
	p.Domains, p.SeedDomains, p.Active = totals.Domains, totals.SeedDomains, activity.Active
	p.Pending, p.InFlight, p.Deferred = frontier.Open, frontier.InFlight, frontier.Deferred
	for _, w := range waits {
		p.Waiting = append(p.Waiting, report.Waiting{
			Domain: w.Domain, Reason: reasons.Reason(w.Reason), InFlight: w.InFlight, Until: w.FreeAt,
		})
	}
	return p, nil
}

// Detail names up to most of each kind of what keeps a run from more.
func (s *Store) Detail(ctx context.Context, runID int64, most int) (*report.Detail, error) {
	var d report.Detail
	var err error
	if d.Troubled, d.TroubledTotal, err = s.Troubled(ctx, runID, most); err != nil {
		return nil, err
	}
	limit := int32(min(max(most, 1), TroubledMost))
	forbidden, err := s.q.RunForbidden(ctx, dbsqlc.RunForbiddenParams{RunID: runID, Max: limit})
	if err != nil {
		return nil, translate("what a run may not ask", err)
	}
	for _, f := range forbidden {
		d.ForbiddenTotal = int(f.Total)
		d.Forbidden = append(d.Forbidden, report.Forbidden{Domain: f.Domain, Control: crawl.Control{
			Type: crawl.ControlType(f.Kind), Reason: f.Reason, SetBy: f.SetBy, SetAt: f.SetAt, Until: timeOf(f.Until),
		}})
	}
	if d.NoFollowDomains, err = s.q.RunNoFollow(ctx, dbsqlc.RunNoFollowParams{RunID: runID, Max: limit}); err != nil {
		return nil, translate("what a run may not follow", err)
	}
	return &d, nil
}

// SpendRun notes which budget of a run is spent, but for that of pages, and returns it; then
// nothing of it is asked any more. A time of 0 means no limit; it counts from the first call.
func (s *Store) SpendRun(ctx context.Context, runID int64, maxTime time.Duration) (crawl.Budget, error) {
	spent, err := retryConflicts(ctx, "look at the budgets of a run", func() (string, error) {
		return s.q.RunSpend(ctx, dbsqlc.RunSpendParams{RunID: runID, MaxTimeMs: ms(maxTime)})
	})
	return crawl.Budget(spent), err
}

// Left returns what a run has left when nothing of it is due.
func (s *Store) Left(ctx context.Context, runID int64) (crawl.Left, error) {
	row, err := s.q.RunLeft(ctx, dbsqlc.RunLeftParams{ID: runID, Bound: crawl.LeftBound})
	return crawl.Left{
		Pending: row.Pending, Due: row.Due, Budget: crawl.Budget(row.Budget), Started: row.PagesStarted, Spent: row.Spent,
	}, translate("what a run has left", err)
}

func (s *Store) run(row dbsqlc.CrawlRun) (crawl.Run, error) {
	set, err := s.settingsOf(row.Settings)
	if err != nil {
		return crawl.Run{}, fmt.Errorf("read the settings of run %s: %w", row.Name, err)
	}
	return crawl.Run{
		ID: row.ID, Name: row.Name, Status: crawl.RunStatus(row.Status), Reason: row.StatusReason,
		StartedAt: row.StartedAt, FinishedAt: timeOf(row.FinishedAt), PausedUntil: timeOf(row.PausedUntil),
		BeganAt: timeOf(row.BeganAt), LookedAt: timeOf(row.LookedAt), OpensAt: timeOf(row.OpensAt),
		Crowded: row.Crowded, PagesStarted: row.PagesStarted, Spent: crawl.Budget(row.Spent), Widening: row.Widening != nil, Settings: set,
	}, nil
}
