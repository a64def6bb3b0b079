package db

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/db/dbsqlc"
)

const (
	// recrawlChunk is the number of pages in one transaction of RecrawlOlder.
	recrawlChunk = 1000
	// revisitsChunk is the number of pages in one call of ScheduleRevisits.
	revisitsChunk = 5000
	// planLifetime is the lifetime of a domain's plan.
	planLifetime = 7 * 24 * time.Hour
	// maxPlanPages bounds the pages of a plan: more add nothing.
	maxPlanPages = 20_000
)

// RecrawlDue makes at most limit due pages pending, in a run that recrawls, and returns their
// number.
func (s *Store) RecrawlDue(ctx context.Context, runID int64, limit int) (int, error) {
	row, err := retryConflicts(ctx, "find due revisits", func() (dbsqlc.RecrawlsDueRow, error) {
		return s.q.RecrawlsDue(ctx, dbsqlc.RecrawlsDueParams{RunID: runID, Max: int32Of(limit)})
	})
	return int(row.Selected), err
}

// RecrawlOlder makes pages pending again in a run, its own pages or those of another run. It
// resumes from from, and reports its progress to onProgress after each step.
func (s *Store) RecrawlOlder(
	ctx context.Context, selection crawl.RecrawlSelection, from crawl.RecrawlProgress, onProgress func(crawl.RecrawlProgress),
) error {
	p := dbsqlc.RecrawlsOlderParams{
		RunID: selection.RunID, IntoID: selection.IntoID, Domain: valueOrNil(selection.Domain), Before: selection.Before,
		After: from.Page, Max: recrawlChunk,
		Pages: selection.RefreshKind != settings.RefreshImages, Images: selection.RefreshKind != settings.RefreshPages,
	}
	for {
		row, err := retryConflicts(ctx, "schedule a recrawl", func() (dbsqlc.RecrawlsOlderRow, error) {
			return s.q.RecrawlsOlder(ctx, p)
		})
		if err != nil || row.Last == 0 {
			return err
		}
		p.After = row.Last
		from.Page, from.Pending = row.Last, from.Pending+int(row.Added)
		onProgress(from)
	}
}

// RefreshRun returns the run that requests pages of a run again; with an empty name, the run
// itself. A new run has the other's settings, changed by settings.Refresh and own. by is their
// author.
func (s *Store) RefreshRun(
	ctx context.Context, source crawl.Run, name, by string, kind settings.RefreshKind, changes settings.Settings,
) (crawl.Run, error) {
	if name == "" {
		return source, nil
	}
	c := crawl.RunChange{Action: crawl.ChangeSet, Settings: changes, SetBy: by}
	_, err := s.Run(ctx, name)
	if errors.Is(err, crawl.ErrNotFound) {
		c.Settings, c.Reason, err = source.Settings.Refresh(kind, changes), "refresh of run "+source.Name, nil
		if kind != "" {
			c.Reason += ", " + string(kind) + " alone"
		}
	}
	if err != nil {
		return crawl.Run{}, err
	}
	return s.ensureRun(ctx, name, c)
}

// RecrawlNow makes a run request pages before all others of their domains, even if it has fetched
// them. Other pages become seeds of the run. Politeness, robots.txt and operators' decisions still
// hold. It returns the number of pages, except pages in flight and pages that a list forbids. It
// refuses a run that an operator has stopped (crawl.ErrInvalid).
func (s *Store) RecrawlNow(ctx context.Context, run crawl.Run, pages []urls.URL) (int, error) {
	if run.Status == crawl.RunStopped {
		return 0, fmt.Errorf("%w: run %q is stopped: resume it first", crawl.ErrInvalid, run.Name)
	}
	ids, others, err := s.pagesNamed(ctx, run.ID, pages)
	if err != nil {
		return 0, err
	}
	if len(others) > 0 {
		if _, err := s.AddSeeds(ctx, run.ID, others); err != nil {
			return 0, err
		}
		if ids, _, err = s.pagesNamed(ctx, run.ID, pages); err != nil {
			return 0, err
		}
	}
	first, err := retryConflicts(ctx, "schedule pages now", func() (int32, error) {
		return s.q.RecrawlsPrioritize(ctx, dbsqlc.RecrawlsPrioritizeParams{RunID: run.ID, Pages: ids})
	})
	return int(first), err
}

// pagesNamed returns the ids of the pages in the run, and the other pages.
func (s *Store) pagesNamed(ctx context.Context, runID int64, pages []urls.URL) (ids []int64, others []urls.URL, err error) {
	type named struct {
		Domain string `json:"domain"`
		URL    string `json:"url"`
	}
	all := mapRows(pages, func(u urls.URL) named { return named{u.Domain(), u.String()} })
	doc, err := document("pages to request", all)
	if err != nil {
		return nil, nil, err
	}
	rows, err := s.q.PagesByURL(ctx, dbsqlc.PagesByURLParams{RunID: runID, Named: doc})
	if err != nil {
		return nil, nil, translate("find pages", err)
	}
	inRun := make([]bool, len(pages))
	for _, r := range rows {
		if r.IsInRun {
			inRun[r.N-1] = true
			ids = append(ids, r.ID)
		}
	}
	for i, u := range pages {
		if !inRun[i] {
			others = append(others, u)
		}
	}
	return ids, others, nil
}

// ScheduleRevisits sets the next visits of pages that a run crawled before it began to recrawl, by
// their history; a zero due means never. A call reads some pages, and reports whether all are done.
func (s *Store) ScheduleRevisits(
	ctx context.Context, runID int64, due func(history json.RawMessage, fetched time.Time) (time.Time, error),
) (done bool, err error) {
	from, err := s.q.RevisitsGetProgress(ctx, runID)
	if err != nil || from == nil {
		return true, translate("read the progress of planned revisits", err)
	}
	rows, err := s.q.RevisitsUnscheduledPages(ctx, dbsqlc.RevisitsUnscheduledPagesParams{RunID: runID, After: *from, Max: revisitsChunk})
	if err != nil {
		return false, translate("find pages to revisit", err)
	}
	type revisit struct {
		ID    int64        `json:"id"`
		Due   time.Time    `json:"due"`
		Every crawl.Millis `json:"every_ms"`
	}
	pages := []revisit{}
	p := dbsqlc.RevisitsAddParams{RunID: runID, Old: *from}
	for _, r := range rows {
		if r.Last != 0 {
			p.Next = &r.Last
		}
		if r.PageID == 0 || r.FetchedAt.Unix() == 0 {
			continue // not requested yet: it is pending, or was skipped
		}
		at, err := due(r.History, r.FetchedAt)
		if err != nil {
			return false, err
		}
		if !at.IsZero() {
			pages = append(pages, revisit{r.PageID, at, crawl.Millis(at.Sub(r.FetchedAt))})
		}
	}
	if p.Pages, err = document("pages to revisit", pages); err != nil {
		return false, err
	}
	err = retry(ctx, "store pages to revisit", func() error { return s.q.RevisitsAdd(ctx, p) })
	return p.Next == nil, err
}

// HintRecrawl updates by hint when pages of a run are due that a list reports as changed in
// notices. It skips pending pages and pages without another visit. notices has at most
// crawl.ChangeNoticesMax pages.
func (s *Store) HintRecrawl(
	ctx context.Context, runID int64, notices []crawl.ChangeNotice,
	hint func(history json.RawMessage, fetched time.Time) (json.RawMessage, time.Time, error),
) error {
	data, err := document("news of pages", notices)
	if err != nil {
		return err
	}
	rows, err := s.q.RecrawlChangedPages(ctx, dbsqlc.RecrawlChangedPagesParams{RunID: runID, Announced: data})
	if err != nil || len(rows) == 0 {
		return translate("find changed pages", err)
	}
	type hinted struct {
		ID      int64           `json:"id"`
		History json.RawMessage `json:"history"`
		Due     time.Time       `json:"due"`
	}
	var hints []hinted
	for _, r := range rows {
		history, due, err := hint(r.History, r.FetchedAt)
		if err != nil {
			return err
		}
		if !due.IsZero() {
			hints = append(hints, hinted{r.ID, history, due})
		}
	}
	if data, err = document("hints of pages", hints); err != nil {
		return err
	}
	return retry(ctx, "store news of pages", func() error {
		return s.q.RecrawlStoreHints(ctx, dbsqlc.RecrawlStoreHintsParams{RunID: runID, Hints: data})
	})
}

// PlanRecrawl makes a new plan of a domain's requests by plan, if a run recrawls its pages and the
// last plan is old. minDelay is the shortest delay of such runs.
func (s *Store) PlanRecrawl(
	ctx context.Context, domain string,
	plan func(histories []json.RawMessage, minDelay time.Duration, current crawl.DomainRecrawl) (json.RawMessage, error),
) error {
	due, err := s.q.RecrawlPlanDue(ctx, dbsqlc.RecrawlPlanDueParams{Domain: domain, SpanMs: ms(planLifetime)})
	if err != nil || len(due) == 0 {
		return translate("find the plan of "+domain, err)
	}
	var current crawl.DomainRecrawl
	if err := unmarshalNullable(due[0].Recrawl, &current); err != nil {
		return fmt.Errorf("read the plan of %s: %w", domain, err)
	}
	var minDelay time.Duration
	for i, run := range due {
		set, err := s.settingsOf(run.Settings)
		if err != nil {
			return err
		}
		if delay := time.Duration(*set.Delay); i == 0 || delay < minDelay {
			minDelay = delay
		}
	}
	rows, err := s.q.RecrawlHistories(ctx, dbsqlc.RecrawlHistoriesParams{Domain: domain, Max: maxPlanPages})
	if err != nil {
		return translate("read the histories of "+domain, err)
	}
	histories := mapRows(rows, func(r []byte) json.RawMessage { return r })
	doc, err := plan(histories, minDelay, current)
	if err != nil {
		return err
	}
	return translate("plan "+domain, s.q.RecrawlPlan(ctx, dbsqlc.RecrawlPlanParams{Domain: domain, Plan: doc}))
}

// Outdated counts the pages, of one domain or, if it is empty, of all, that an earlier extractor
// read.
func (s *Store) Outdated(ctx context.Context, domain string) (report.OutdatedCounts, error) {
	row, err := read(ctx, s, wholeTableSettings, func(q *dbsqlc.Queries) (dbsqlc.ReprocessDueRow, error) {
		return q.ReprocessDue(ctx, dbsqlc.ReprocessDueParams{Extractor: crawl.ExtractorVersion, Domain: valueOrNil(domain)})
	})
	out := report.OutdatedCounts{Pages: row.Due, Domains: row.Domains, Closed: row.Closed}
	return out, translate("count pages to reread", err)
}

// StageOutdated hands these pages, except Closed ones, to a run's next SeedWorkflow.
func (s *Store) StageOutdated(ctx context.Context, runID int64, domain string) (int64, error) {
	n, err := s.q.ReprocessStage(ctx, dbsqlc.ReprocessStageParams{
		RunID: runID, Extractor: crawl.ExtractorVersion, Domain: valueOrNil(domain),
	})
	return n, translate("stage pages to reread", err)
}
