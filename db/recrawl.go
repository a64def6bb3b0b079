package db

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/db/dbsqlc"
)

// RecrawlDue makes up to most pages pending whose time has come, in a run that crawls its
// pages again. It returns how many.
func (s *Store) RecrawlDue(ctx context.Context, runID int64, most int) (int, error) {
	row, err := retryConflicts(ctx, "look for pages that are due again", func() (dbsqlc.RecrawlsDueRow, error) {
		return s.q.RecrawlsDue(ctx, dbsqlc.RecrawlsDueParams{RunID: runID, Max: int32Of(most)})
	})
	return int(row.Looked), err
}

// recrawlChunk is how many pages one transaction looks at.
const recrawlChunk = 1000

// RecrawlOlder has a run ask again for those of its pages that were fetched before an
// instant, of one domain or, where that is empty, of all. It goes on from progress, and tells
// after each step how far it has come.
func (s *Store) RecrawlOlder(
	ctx context.Context, runID int64, domain string, before time.Time, from crawl.RecrawlProgress, told func(crawl.RecrawlProgress),
) error {
	p := dbsqlc.RecrawlsOlderParams{RunID: runID, Domain: textOrNull(domain), Before: before, After: from.Page, Max: recrawlChunk}
	for {
		row, err := retryConflicts(ctx, "crawl pages again", func() (dbsqlc.RecrawlsOlderRow, error) {
			return s.q.RecrawlsOlder(ctx, p)
		})
		if err != nil || row.Last == 0 {
			return err
		}
		p.After = row.Last
		from.Page, from.Pending = row.Last, from.Pending+int(row.Added)
		told(from)
	}
}

// ScheduleRevisits sets the next visits of pages that a run crawled before it began to ask
// for pages again. due returns the time of each by its history; zero means never. It looks
// at some thousand pages, and returns whether all were looked at.
func (s *Store) ScheduleRevisits(
	ctx context.Context, runID int64, due func(history json.RawMessage, fetched time.Time) (time.Time, error),
) (done bool, err error) {
	from, err := s.q.RevisitsFrom(ctx, runID)
	if err != nil || from == nil {
		return true, translate("how far a run has noted its pages", err)
	}
	rows, err := s.q.RevisitsMissing(ctx, dbsqlc.RevisitsMissingParams{RunID: runID, After: *from, Most: revisitsChunk})
	if err != nil {
		return false, translate("look for pages to ask for again", err)
	}
	type revisit struct {
		ID    int64        `json:"id"`
		Due   time.Time    `json:"due"`
		Every crawl.Millis `json:"every_ms"`
	}
	pages := []revisit{}
	p := dbsqlc.RevisitsAddParams{RunID: runID, Was: *from}
	for _, r := range rows {
		if r.Last != 0 {
			p.Next = &r.Last
		}
		if r.PageID == 0 || r.FetchedAt.Unix() == 0 {
			continue // nothing was asked of it yet: it is pending, or was skipped
		}
		at, err := due(r.History, r.FetchedAt)
		if err != nil {
			return false, err
		}
		if !at.IsZero() {
			pages = append(pages, revisit{r.PageID, at, crawl.Millis(at.Sub(r.FetchedAt))})
		}
	}
	if p.Pages, err = document("pages to ask for again", pages); err != nil {
		return false, err
	}
	return p.Next == nil, retry(ctx, "note pages to ask for again", func() error { return s.q.RevisitsAdd(ctx, p) })
}

// revisitsChunk is how many pages one call looks at.
const revisitsChunk = 5000

// HintRecrawl updates when pages of a run are due that a sitemap or a feed says have
// changed; hint computes it. Pages that are pending, or that the run does not ask for again,
// are left alone. told is what it says, for at most crawl.NewsMax pages.
func (s *Store) HintRecrawl(
	ctx context.Context, runID int64, told []crawl.News,
	hint func(history json.RawMessage, fetched time.Time) (json.RawMessage, time.Time, error),
) error {
	data, err := document("news of pages", told)
	if err != nil {
		return err
	}
	rows, err := s.q.RecrawlNews(ctx, dbsqlc.RecrawlNewsParams{RunID: runID, Told: data})
	if err != nil || len(rows) == 0 {
		return translate("look for news of pages", err)
	}
	type hinted struct {
		ID      int64           `json:"id"`
		History json.RawMessage `json:"history"`
		Due     time.Time       `json:"due"`
	}
	var set []hinted
	for _, r := range rows {
		history, due, err := hint(r.History, r.FetchedAt)
		if err != nil {
			return err
		}
		if !due.IsZero() {
			set = append(set, hinted{r.ID, history, due})
		}
	}
	if data, err = document("hints of pages", set); err != nil {
		return err
	}
	return retry(ctx, "keep news of pages", func() error {
		return s.q.RecrawlHint(ctx, dbsqlc.RecrawlHintParams{RunID: runID, Hints: data})
	})
}

const (
	// planEvery is how long a domain's plan holds.
	planEvery = 7 * 24 * time.Hour
	// planPages is how many pages it is made from: more tell nothing more.
	planPages = 20_000
)

// PlanRecrawl makes a new plan of a domain's requests by plan, if some run crawls its
// pages again and the last plan is old. least is the shortest delay of such runs.
func (s *Store) PlanRecrawl(
	ctx context.Context, domain string,
	plan func(histories []json.RawMessage, least time.Duration, kept crawl.DomainRecrawl) (json.RawMessage, error),
) error {
	due, err := s.q.RecrawlPlanDue(ctx, dbsqlc.RecrawlPlanDueParams{Domain: domain, SpanMs: ms(planEvery)})
	if err != nil || len(due) == 0 {
		return translate("look for the plan of "+domain, err)
	}
	var kept crawl.DomainRecrawl
	if err := unmarshalOr(due[0].Recrawl, &kept); err != nil {
		return fmt.Errorf("read the plan of %s: %w", domain, err)
	}
	var least time.Duration
	for i, run := range due {
		set, err := s.settingsOf(run.Settings)
		if err != nil {
			return err
		}
		if delay := time.Duration(*set.Delay); i == 0 || delay < least {
			least = delay
		}
	}
	rows, err := s.q.RecrawlHistories(ctx, dbsqlc.RecrawlHistoriesParams{Domain: domain, Max: planPages})
	if err != nil {
		return translate("histories of "+domain, err)
	}
	histories := make([]json.RawMessage, len(rows))
	for i, r := range rows {
		histories[i] = r
	}
	doc, err := plan(histories, least, kept)
	if err != nil {
		return err
	}
	return translate("plan "+domain, s.q.RecrawlPlan(ctx, dbsqlc.RecrawlPlanParams{Domain: domain, Plan: doc}))
}
