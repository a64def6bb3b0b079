package db

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/decide"
	"github.com/mosey-web/mosey/crawl/seeds"
	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/db/dbsqlc"
)

// AddSeeds is StoreSeeds for pages that a person has named. It returns how many are new.
func (s *Store) AddSeeds(ctx context.Context, runID int64, pages []urls.URL) (int, error) {
	all := make([]seeds.Seed, len(pages))
	for i, u := range pages {
		all[i] = seeds.Of(u)
	}
	stored, err := s.StoreSeeds(ctx, runID, seeds.URLs, all)
	return stored.Added, err
}

// StoreSeeds stores seeds of a source and makes them part of a run, in one transaction; one
// that the run already has is left alone, and so is one that a list keeps from being crawled.
// Bare seeds become http if their site was recently reached by http alone.
func (s *Store) StoreSeeds(ctx context.Context, runID int64, source seeds.Source, all []seeds.Seed) (seeds.Stored, error) {
	all, err := s.byHTTP(ctx, all)
	if err != nil {
		return seeds.Stored{}, err
	}
	doc, err := document("seeds", all)
	if err != nil {
		return seeds.Stored{}, err
	}
	row, err := retryConflicts(ctx, "store seeds", func() (dbsqlc.SeedsAddRow, error) {
		return s.q.SeedsAdd(ctx, dbsqlc.SeedsAddParams{RunID: runID, Source: string(source), Seeds: doc})
	})
	stored := seeds.Stored{Added: int(row.Added), Listed: int(row.Listed)}
	if err == nil {
		stored.Known = len(all) - stored.Added - stored.Listed
	}
	return stored, err
}

// byHTTP turns bare seeds into http of sites that were lately found to be reached by it
// alone.
func (s *Store) byHTTP(ctx context.Context, all []seeds.Seed) ([]seeds.Seed, error) {
	var origins []string
	for _, seed := range all {
		if seed.Bare {
			origins = append(origins, seed.Origin)
		}
	}
	if len(origins) == 0 {
		return all, nil
	}
	plain, err := s.q.SeedsByHTTP(ctx, dbsqlc.SeedsByHTTPParams{
		Origins: origins, Tries: decide.RobotsTries, LatelyMs: decide.SchemeHolds.Milliseconds(),
	})
	if err != nil {
		return nil, translate("look for sites that are reached by http alone", err)
	}
	if len(plain) == 0 {
		return all, nil
	}
	byHTTP := make(map[string]bool, len(plain))
	for _, origin := range plain {
		byHTTP[origin] = true
	}
	all = slices.Clone(all)
	for i, seed := range all {
		if seed.Bare && byHTTP[seed.Origin] {
			if all[i], err = seed.WithHTTP(); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

// SeedFileStored is how many entries of a version of a list were stored for a run before
// that was interrupted; 0 if it was not.
func (s *Store) SeedFileStored(ctx context.Context, runID int64, list, version string) (int64, error) {
	n, err := s.q.SeedFileStored(ctx, dbsqlc.SeedFileStoredParams{RunID: runID, List: list, Version: version})
	if err = translate("how far a list was stored", err); errors.Is(err, crawl.ErrNotFound) {
		return 0, nil
	}
	return n, err
}

// NoteSeedFile notes it.
func (s *Store) NoteSeedFile(ctx context.Context, runID int64, list, version string, entries int64) error {
	p := dbsqlc.SeedFileNoteParams{RunID: runID, List: list, Version: version, Entries: entries}
	return translate("note how far a list is stored", s.q.SeedFileNote(ctx, p))
}

// ForgetSeedFile forgets it: the whole list is stored.
func (s *Store) ForgetSeedFile(ctx context.Context, runID int64, list string) error {
	return translate("forget how far a list was stored", s.q.SeedFileForget(ctx, dbsqlc.SeedFileForgetParams{RunID: runID, List: list}))
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
	staged := make([]crawl.StagedSeed, len(rows))
	for i, r := range rows {
		staged[i] = crawl.StagedSeed{ID: r.ID, URL: r.Url}
	}
	return staged, nil
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
