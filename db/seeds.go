package db

import (
	"context"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/db/dbsqlc"
)

// AddSeeds stores seeds and makes them part of a run, in one transaction; a seed
// that the run already has is left alone. It returns how many are new.
func (s *Store) AddSeeds(ctx context.Context, runID int64, seeds []urls.URL) (int, error) {
	p := dbsqlc.SeedsAddParams{RunID: runID}
	for _, u := range seeds {
		p.Urls = append(p.Urls, u.String())
		p.Domains = append(p.Domains, u.Domain())
		p.Origins = append(p.Origins, u.Origin())
	}
	n, err := retryConflicts(ctx, "store seeds", func() (int32, error) { return s.q.SeedsAdd(ctx, p) })
	return int(n), err
}

// StageSeeds hands raw seeds over to the run's next SeedWorkflow.
func (s *Store) StageSeeds(ctx context.Context, runID int64, raw []string) error {
	rows := make([]dbsqlc.SeedsStageParams, len(raw))
	for i, u := range raw {
		rows[i] = dbsqlc.SeedsStageParams{RunID: runID, Url: u}
	}
	_, err := s.q.SeedsStage(ctx, rows)
	return translate("stage seeds", err)
}

// StagedSeeds returns up to most of a run's staged seeds, in the order they were
// staged.
func (s *Store) StagedSeeds(ctx context.Context, runID int64, most int) ([]crawl.StagedSeed, error) {
	rows, err := s.q.SeedsStaged(ctx, dbsqlc.SeedsStagedParams{RunID: runID, Max: int32(most)}) //nolint:gosec // a constant
	if err != nil {
		return nil, translate("read staged seeds", err)
	}
	seeds := make([]crawl.StagedSeed, len(rows))
	for i, r := range rows {
		seeds[i] = crawl.StagedSeed{ID: r.ID, URL: r.Url}
	}
	return seeds, nil
}

// UnstageSeeds forgets a run's staged seeds up to one, which have been stored.
func (s *Store) UnstageSeeds(ctx context.Context, runID, lastID int64) error {
	err := s.q.SeedsUnstage(ctx, dbsqlc.SeedsUnstageParams{RunID: runID, LastID: lastID})
	return translate("unstage seeds", err)
}

// OpenSeeds returns the crawls of seeds that no attempt has been made for: their
// pages, and what is known of their robots.txt.
func (s *Store) OpenSeeds(ctx context.Context, runID int64, seeds []urls.URL) ([]crawl.SeedCrawl, error) {
	texts := make([]string, len(seeds))
	for i, u := range seeds {
		texts[i] = u.String()
	}
	rows, err := s.q.SeedsOpen(ctx, dbsqlc.SeedsOpenParams{Urls: texts, RunID: runID})
	if err != nil {
		return nil, translate("read seeds", err)
	}
	open := make([]crawl.SeedCrawl, len(rows))
	for i, r := range rows {
		open[i] = crawl.SeedCrawl{Domain: r.Domain, Next: crawl.Next{
			CrawlID: r.ID, URL: r.Url, Origin: r.Origin, TDMKnown: r.TdmKnown,
			RobotsVerdict: crawl.RobotsVerdict(r.RobotsVerdict), RobotsVersion: r.RobotsVersion,
			RobotsFresh: fromMS(r.RobotsFreshMs), RobotsReason: r.RobotsReason,
		}}
	}
	return open, nil
}
