package db

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/decide"
	"github.com/mosey-web/mosey/crawl/seeds"
	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/db/dbsqlc"
)

// AddSeeds is StoreSeeds for pages that an operator has named. It returns how many are new.
func (s *Store) AddSeeds(ctx context.Context, runID int64, pages []urls.URL) (int, error) {
	stored, err := s.StoreSeeds(ctx, runID, seeds.URLs, mapRows(pages, seeds.Of))
	return stored.Added, err
}

// StoreSeeds stores seeds of a source and adds them to a run, in one transaction. It skips seeds in
// the run or forbidden by a list. Seeds without a scheme become http if only http recently reached
// their site.
func (s *Store) StoreSeeds(ctx context.Context, runID int64, source seeds.Source, all []seeds.Seed) (seeds.StoreResult, error) {
	all, err := s.withHTTPSeeds(ctx, all)
	if err != nil {
		return seeds.StoreResult{}, err
	}
	doc, err := document("seeds", all)
	if err != nil {
		return seeds.StoreResult{}, err
	}
	row, err := retryConflicts(ctx, "store seeds", func() (dbsqlc.SeedsAddRow, error) {
		return s.q.SeedsAdd(ctx, dbsqlc.SeedsAddParams{RunID: runID, Source: string(source), Seeds: doc})
	})
	stored := seeds.StoreResult{Added: int(row.Added), Listed: int(row.Listed)}
	if err == nil {
		stored.Known = len(all) - stored.Added - stored.Listed
	}
	return stored, err
}

// withHTTPSeeds changes the bare seeds of such sites to http.
func (s *Store) withHTTPSeeds(ctx context.Context, all []seeds.Seed) ([]seeds.Seed, error) {
	var origins []string
	for _, seed := range all {
		if seed.Schemeless {
			origins = append(origins, seed.Origin)
		}
	}
	if len(origins) == 0 {
		return all, nil
	}
	plain, err := s.q.SeedOriginsOverHTTP(ctx, dbsqlc.SeedOriginsOverHTTPParams{
		Origins: origins, Tries: decide.RobotsAttempts, RecentMs: decide.SchemeLifetime.Milliseconds(),
	})
	if err != nil || len(plain) == 0 {
		return all, translate("find sites without https", err)
	}
	byHTTP := make(map[string]bool, len(plain))
	for _, origin := range plain {
		byHTTP[origin] = true
	}
	all = slices.Clone(all)
	for i, seed := range all {
		if seed.Schemeless && byHTTP[seed.Origin] {
			if all[i], err = seed.WithHTTP(); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

// SeedFileProgress returns the number of stored entries of an interrupted version of a list, or 0.
func (s *Store) SeedFileProgress(ctx context.Context, runID int64, file, version string) (int64, error) {
	n, err := orZero(s.q.SeedFileStored(ctx, dbsqlc.SeedFileStoredParams{RunID: runID, File: file, Version: version}))
	return n, translate("read the progress of a seed file", err)
}

// StoreSeedFileProgress stores the number of stored entries.
func (s *Store) StoreSeedFileProgress(ctx context.Context, runID int64, file, version string, entries int64) error {
	p := dbsqlc.SeedFileNoteParams{RunID: runID, File: file, Version: version, Entries: entries}
	return translate("store the progress of a seed file", s.q.SeedFileNote(ctx, p))
}

// DeleteSeedFileProgress deletes that number once the whole file is stored.
func (s *Store) DeleteSeedFileProgress(ctx context.Context, runID int64, file string) error {
	return translate("delete the progress of a seed file", s.q.SeedFileForget(ctx, dbsqlc.SeedFileForgetParams{RunID: runID, File: file}))
}

// StageSeeds hands raw seeds over to the run's next SeedWorkflow.
func (s *Store) StageSeeds(ctx context.Context, runID int64, raw []string) error {
	_, err := s.q.SeedsStage(ctx, mapRows(raw, func(u string) dbsqlc.SeedsStageParams {
		return dbsqlc.SeedsStageParams{RunID: runID, Url: u}
	}))
	return translate("stage seeds", err)
}

// StagedSeeds returns at most limit staged seeds of a run, in their order.
func (s *Store) StagedSeeds(ctx context.Context, runID int64, limit int) ([]crawl.StagedSeed, error) {
	rows, err := s.q.SeedsStaged(ctx, dbsqlc.SeedsStagedParams{RunID: runID, Max: int32(limit)}) //nolint:gosec // a constant
	return mapRows(rows, func(r dbsqlc.SeedsStagedRow) crawl.StagedSeed {
		return crawl.StagedSeed{ID: r.ID, URL: r.Url}
	}), translate("read staged seeds", err)
}

// UnstageSeeds deletes a run's staged seeds up to one, which are stored.
func (s *Store) UnstageSeeds(ctx context.Context, runID, lastID int64) error {
	err := s.q.SeedsUnstage(ctx, dbsqlc.SeedsUnstageParams{RunID: runID, LastID: lastID})
	return translate("unstage seeds", err)
}

// OpenSeeds returns at most limit seeds of a run without an attempt, after a crawl.
func (s *Store) OpenSeeds(ctx context.Context, runID, after int64, limit int) ([]crawl.SeedCrawl, error) {
	rows, err := s.q.SeedsUnattempted(ctx, dbsqlc.SeedsUnattemptedParams{
		RunID: runID, After: after, Max: int32(limit), //nolint:gosec // a constant
	})
	if err != nil {
		return nil, translate("read seeds", err)
	}
	open := make([]crawl.SeedCrawl, len(rows))
	for i, r := range rows {
		open[i].Domain, open[i].Now = r.Domain, r.Now
		if err := json.Unmarshal(r.Facts, &open[i].AttemptFacts); err != nil {
			return nil, fmt.Errorf("read seeds: %w", err)
		}
	}
	return open, nil
}
