package db

import (
	"context"
	"errors"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/db/dbsqlc"
)

// EnsureRun creates the run with its defaults, or changes the settings that are
// set of an existing one, and returns it. The caller has validated both.
func (s *Store) EnsureRun(ctx context.Context, name string, set crawl.Settings) (crawl.Run, error) {
	d := set.WithDefaults()
	row, err := s.q.RunUpsert(ctx, dbsqlc.RunUpsertParams{
		Name:    name,
		DelayMs: *durationMS(d.Delay), IpDelayMs: *durationMS(d.IPDelay), SubnetDelayMs: *durationMS(d.SubnetDelay),
		PatienceMs: *durationMS(d.Patience), MinRefetchMs: *durationMS(d.MinRefetch), TimeWindow: *d.Window,
		LatencyFactor: *d.LatencyFactor, GraylistMs: *durationMS(d.Graylist), MaxGraylistings: *int32Of(d.MaxGraylistings),
		MaxPages: *d.MaxPages, MaxPagesPerDomain: *d.MaxPagesPerDomain, MaxDepth: *int32Of(d.MaxDepth),
		MaxAttempts: *int32Of(d.MaxAttempts), MaxActiveDomains: *int32Of(d.MaxDomains),
		PagesPerActivity: *int32Of(d.PagesPerActivity), Scope: string(*d.Scope), Purpose: string(*d.Purpose), BlockOnLogin: *d.BlockOnLogin,
		Standing:   *d.Standing,
		SetDelayMs: durationMS(set.Delay), SetIpDelayMs: durationMS(set.IPDelay), SetSubnetDelayMs: durationMS(set.SubnetDelay),
		SetPatienceMs: durationMS(set.Patience), SetMinRefetchMs: durationMS(set.MinRefetch), SetTimeWindow: set.Window,
		SetMaxPages:      set.MaxPages,
		SetLatencyFactor: set.LatencyFactor, SetGraylistMs: durationMS(set.Graylist),
		SetMaxGraylistings:   int32Of(set.MaxGraylistings),
		SetMaxPagesPerDomain: set.MaxPagesPerDomain, SetMaxDepth: int32Of(set.MaxDepth),
		SetMaxAttempts: int32Of(set.MaxAttempts), SetMaxActiveDomains: int32Of(set.MaxDomains),
		SetPagesPerActivity: int32Of(set.PagesPerActivity), SetScope: (*string)(set.Scope),
		SetPurpose: (*string)(set.Purpose), SetBlockOnLogin: set.BlockOnLogin,
		SetStanding: set.Standing,
	})
	if err != nil {
		return crawl.Run{}, translate("store run "+name, err)
	}
	return run(row), nil
}

// Run returns a run by name, or crawl.ErrNotFound.
func (s *Store) Run(ctx context.Context, name string) (crawl.Run, error) {
	row, err := s.q.RunByName(ctx, name)
	if err != nil {
		return crawl.Run{}, translate("run "+name, err)
	}
	return run(row), nil
}

// Runs returns all runs, oldest first.
func (s *Store) Runs(ctx context.Context) ([]crawl.Run, error) {
	rows, err := s.q.RunList(ctx)
	if err != nil {
		return nil, translate("list runs", err)
	}
	runs := make([]crawl.Run, len(rows))
	for i, row := range rows {
		runs[i] = run(row)
	}
	return runs, nil
}

// StartRun makes a run go on, whatever its status was.
func (s *Store) StartRun(ctx context.Context, id int64) error {
	return translate("start run", s.q.RunStart(ctx, id))
}

// StopRun makes a running run stop: none of its pages is requested any more. It
// returns whether the run was running.
func (s *Store) StopRun(ctx context.Context, id int64, reason string) (bool, error) {
	n, err := s.q.RunStop(ctx, dbsqlc.RunStopParams{ID: id, Reason: reason})
	return n > 0, translate("stop run", err)
}

// EndRun marks a running run done. It returns whether the run was running.
func (s *Store) EndRun(ctx context.Context, id int64, reason string) (bool, error) {
	n, err := s.q.RunEnd(ctx, dbsqlc.RunEndParams{ID: id, Reason: reason})
	return n > 0, translate("end run", err)
}

// NextSeeding counts up and returns the number of a run's next SeedWorkflow.
func (s *Store) NextSeeding(ctx context.Context, id int64) (int64, error) {
	n, err := s.q.RunNextSeeding(ctx, id)
	return n, translate("count a seeding", err)
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
	away, err5 := s.q.RunPutAway(ctx, dbsqlc.RunPutAwayParams{RunID: r.ID, Max: waitsShown})
	if err := errors.Join(err, err2, err3, err4, err5); err != nil {
		return p, translate("progress of run "+r.Name, err)
	}
	p.Totals = crawl.Totals{
		Success: totals.Success, BlockedRobots: totals.BlockedRobots, Blocked4xx: totals.Blocked4xx,
		Blocked5xx: totals.Blocked5xx, Timeout: totals.Timeout, Failed: totals.Failed,
		Skipped: totals.Skipped, Bytes: totals.Bytes,
	}
	p.Domains, p.SeedDomains, p.Active = totals.Domains, totals.SeedDomains, activity.Active
	p.Pending, p.InFlight, p.Deferred = frontier.Open, frontier.InFlight, frontier.Deferred
	for _, w := range waits {
		p.Waiting = append(p.Waiting, crawl.Waiting{Domain: w.Domain, Reason: crawl.Reason(w.Reason), Until: w.FreeAt})
	}
	for _, w := range away {
		p.PutAway = append(p.PutAway, crawl.PutAwayDomain{
			Domain: w.Domain, Reason: w.StatusReason, Until: timeOf(w.NextCrawlAfter),
		})
	}
	return p, nil
}

func run(row dbsqlc.CrawlRun) crawl.Run {
	delay, ipDelay := crawl.Duration(fromMS(row.DelayMs)), crawl.Duration(fromMS(row.IpDelayMs))
	patience, graylist := crawl.Duration(fromMS(row.PatienceMs)), crawl.Duration(fromMS(row.GraylistMs))
	graylistings, subnet := int(row.MaxGraylistings), crawl.Duration(fromMS(row.SubnetDelayMs))
	depth, attempts, domains, pages := int(row.MaxDepth), int(row.MaxAttempts), int(row.MaxActiveDomains), int(row.PagesPerActivity)
	purpose := crawl.Purpose(row.Purpose)
	scope, refetch := crawl.Scope(row.Scope), crawl.Duration(fromMS(row.MinRefetchMs))
	return crawl.Run{
		ID: row.ID, Name: row.Name, Status: crawl.RunStatus(row.Status), Reason: row.StatusReason,
		StartedAt: row.StartedAt, FinishedAt: timeOf(row.FinishedAt),
		Settings: crawl.Settings{
			Delay: &delay, IPDelay: &ipDelay, SubnetDelay: &subnet, Patience: &patience, LatencyFactor: &row.LatencyFactor,
			Graylist: &graylist, MaxGraylistings: &graylistings, MaxAttempts: &attempts, MaxDepth: &depth,
			MaxDomains: &domains, MaxPages: &row.MaxPages, MaxPagesPerDomain: &row.MaxPagesPerDomain,
			MinRefetch: &refetch, Window: &row.TimeWindow, PagesPerActivity: &pages, Scope: &scope,
			Purpose: &purpose, BlockOnLogin: &row.BlockOnLogin, Standing: &row.Standing,
		},
	}
}

func durationMS(d *crawl.Duration) *int64 {
	if d == nil {
		return nil
	}
	n := ms(time.Duration(*d))
	return &n
}

// int32Of narrows a setting, whose bounds crawl.Settings.Validate has checked.
func int32Of(n *int) *int32 {
	if n == nil {
		return nil
	}
	v := int32(*n) //nolint:gosec // see above
	return &v
}

func timeOrNil(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

func textOrNil(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// afterEpoch is zero for the epoch, which stands for null.
func afterEpoch(t time.Time) time.Time {
	if t.Unix() == 0 {
		return time.Time{}
	}
	return t
}

func timeOf(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return *t
}
