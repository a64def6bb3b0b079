package db

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/traps"
	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/db/dbsqlc"
)

// AddSeeds stores seeds and makes them part of a run, in one transaction; a seed
// that the run already has is left alone. It returns how many are new.
func (s *Store) AddSeeds(ctx context.Context, runID int64, seeds []urls.URL) (int, error) {
	pages := make([]crawl.Link, len(seeds))
	for i, u := range seeds {
		pages[i] = crawl.Link{URL: u.String(), Domain: u.Domain(), Origin: u.Origin(), Patterns: traps.Patterns(u)}
	}
	doc, err := document("seeds", pages)
	if err != nil {
		return 0, err
	}
	n, err := retryConflicts(ctx, "store seeds", func() (int32, error) {
		return s.q.SeedsAdd(ctx, dbsqlc.SeedsAddParams{RunID: runID, Pages: doc})
	})
	return int(n), err
}

// BareSeeds notes that the domains of seeds were given without a scheme, and turns
// those seeds into http that are known to be reached by it alone.
func (s *Store) BareSeeds(ctx context.Context, seeds []urls.URL) ([]urls.URL, error) {
	var p dbsqlc.SeedsBareParams
	for _, u := range seeds {
		p.Domains, p.Origins = append(p.Domains, u.Domain()), append(p.Origins, u.Origin())
	}
	plain, err := s.q.SeedsBare(ctx, p)
	if err != nil {
		return nil, translate("note seeds without a scheme", err)
	}
	byHTTP := make(map[string]bool, len(plain))
	for _, origin := range plain {
		byHTTP[origin] = true
	}
	seeds = slices.Clone(seeds)
	for i, u := range seeds {
		if byHTTP[u.Origin()] {
			if seeds[i], err = u.WithHTTP(); err != nil {
				return nil, err
			}
		}
	}
	return seeds, nil
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

// OpenSeeds returns up to most of a run's seeds that no attempt has been made for,
// those after a crawl.
func (s *Store) OpenSeeds(ctx context.Context, runID, after int64, most int) ([]crawl.SeedCrawl, error) {
	rows, err := s.q.SeedsOpen(ctx, dbsqlc.SeedsOpenParams{RunID: runID, After: after, Max: int32(most)}) //nolint:gosec // a constant
	if err != nil {
		return nil, translate("read seeds", err)
	}
	open := make([]crawl.SeedCrawl, len(rows))
	for i, r := range rows {
		open[i].Domain, open[i].Now = r.Domain, r.Now
		if err := json.Unmarshal(r.Facts, &open[i].CrawlFacts); err != nil {
			return nil, fmt.Errorf("read seeds: %w", err)
		}
	}
	return open, nil
}
