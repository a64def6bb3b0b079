package db

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/db/dbsqlc"
)

// EnsureRun creates the run with its defaults, or changes the settings that are
// set of an existing one, and returns it. The caller has validated both. Domains
// that wait are looked at again if settings change.
func (s *Store) EnsureRun(ctx context.Context, name string, set crawl.Settings) (crawl.Run, error) {
	all, err := json.Marshal(set.WithDefaults())
	changes, err2 := json.Marshal(set)
	if err := errors.Join(err, err2); err != nil {
		return crawl.Run{}, fmt.Errorf("store run %s: %w", name, err)
	}
	row, err := s.q.RunUpsert(ctx, dbsqlc.RunUpsertParams{Name: name, Settings: all, Changes: changes})
	if err == nil && string(changes) != "{}" {
		err = s.q.RunWake(ctx, row.ID)
	}
	if err != nil {
		return crawl.Run{}, translate("store run "+name, err)
	}
	return s.run(row)
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
	_, err := retryConflicts(ctx, "start run", func() (struct{}, error) { return struct{}{}, s.q.RunStart(ctx, id) })
	return err
}

// TroubledMost bounds what Troubled returns.
const TroubledMost = 1000

// Troubled returns up to most, at most TroubledMost, of what keeps a run from
// requesting pages that are pending, those asked again soonest first, and how many
// there are in all.
func (s *Store) Troubled(ctx context.Context, runID int64, most int) (list []crawl.Troubled, total int, err error) {
	rows, err := s.q.RunTroubled(ctx, dbsqlc.RunTroubledParams{
		RunID: runID, Max: int32(min(max(most, 1), TroubledMost)),
	})
	if err != nil {
		return nil, 0, translate("what a run has trouble with", err)
	}
	for _, r := range rows {
		total = int(r.Total)
		list = append(list, crawl.Troubled{
			Name: r.Name, Domain: r.Domain, State: crawl.TroubleState(r.State), Until: r.Until, Reason: r.Reason,
		})
	}
	return list, total, nil
}

// StopRun makes a running run stop: none of its pages is requested any more. It
// returns whether the run was running.
func (s *Store) StopRun(ctx context.Context, id int64, reason string) (bool, error) {
	n, err := s.q.RunStop(ctx, dbsqlc.RunStopParams{ID: id, Reason: reason})
	return n > 0, translate("stop run", err)
}

// EndRun marks a running run done, and returns whether it did: not if a domain is due
// or being served after all.
func (s *Store) EndRun(ctx context.Context, id int64, reason string) (bool, error) {
	ended, err := s.q.RunEnd(ctx, dbsqlc.RunEndParams{ID: id, Reason: reason})
	return ended, translate("end run", err)
}

// claimedMost bounds the claimed domains that are named.
const claimedMost = 10_000

// ClaimedDomains returns the claimed domains, by whichever run, that have work for a
// run.
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
	row, err := s.q.RunActivity(ctx, &runID)
	return crawl.Activity{
		Active: int(row.Active), Busy: int(row.Busy), Paused: int(row.Paused),
	}, translate("count active domains", err)
}

// NextDue returns when a run has something due next that is not due yet, zero is
// never, and what time it is now, both on the database's clock.
func (s *Store) NextDue(ctx context.Context, runID int64) (due, now time.Time, err error) {
	row, err := s.q.RunNextDue(ctx, runID)
	if err != nil || row.Due.Unix() == 0 {
		return time.Time{}, row.Now, translate("next due of a run", err)
	}
	return row.Due, row.Now, nil
}

// waitsShown bounds the lists of a progress report.
const waitsShown = 10

// Progress reports how far a run has come.
func (s *Store) Progress(ctx context.Context, r crawl.Run) (crawl.Progress, error) {
	p := crawl.Progress{Run: r}
	totals, err := s.q.RunTotals(ctx, r.ID)
	frontier, err2 := s.q.RunFrontier(ctx, dbsqlc.RunFrontierParams{RunID: r.ID, Bound: crawl.FrontierBound})
	activity, err3 := s.q.RunActivity(ctx, &r.ID)
	waits, err4 := s.q.RunWaits(ctx, dbsqlc.RunWaitsParams{RunID: &r.ID, Max: waitsShown})
	deferred, err5 := s.q.RunDeferred(ctx, dbsqlc.RunDeferredParams{RunID: r.ID, Max: waitsShown})
	outages, err6 := s.Outages(ctx)
	if err := errors.Join(err, err2, err3, err4, err5, err6); err != nil {
		return p, translate("progress of run "+r.Name, err)
	}
	p.Outages = outages
	p.Totals = crawl.Totals{
		Success: totals.Success, BlockedRobots: totals.BlockedRobots, Blocked4xx: totals.Blocked4xx,
		Blocked5xx: totals.Blocked5xx, Timeout: totals.Timeout, Failed: totals.Failed,
		Skipped: totals.Skipped, Bytes: totals.Bytes,
	}
	p.Domains, p.SeedDomains, p.Active = totals.Domains, totals.SeedDomains, activity.Active
	p.Pending, p.InFlight, p.Deferred = frontier.Open, frontier.InFlight, frontier.Deferred
	for _, w := range waits {
		p.Waiting = append(p.Waiting, crawl.Waiting{
			Domain: w.Domain, Reason: crawl.Reason(w.Reason), InFlight: w.InFlight, Until: w.FreeAt,
		})
	}
	for _, w := range deferred {
		p.DeferredDomains = append(p.DeferredDomains, crawl.DeferredDomain{
			Domain: w.Domain, Reason: w.StatusReason, Until: timeOf(w.NextCrawlAfter),
		})
	}
	return p, nil
}

func (s *Store) run(row dbsqlc.CrawlRun) (crawl.Run, error) {
	set, err := s.settingsOf(row.Settings)
	if err != nil {
		return crawl.Run{}, fmt.Errorf("read the settings of run %s: %w", row.Name, err)
	}
	return crawl.Run{
		ID: row.ID, Name: row.Name, Status: crawl.RunStatus(row.Status), Reason: row.StatusReason,
		StartedAt: row.StartedAt, FinishedAt: timeOf(row.FinishedAt), Settings: set,
	}, nil
}
