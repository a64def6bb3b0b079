package db

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/db/dbsqlc"
)

// RecrawlDue makes up to most pages pending of a run that crawls its pages again, of which
// the time has come, and returns how many those were.
func (s *Store) RecrawlDue(ctx context.Context, runID int64, most int) (int, error) {
	n, err := retryConflicts(ctx, "look for pages that are due again", func() (int32, error) {
		return s.q.RecrawlsDue(ctx, dbsqlc.RecrawlsDueParams{RunID: runID, Max: int32Of(most)})
	})
	return int(n), err
}

// recrawlChunk is how many pages one transaction makes pending.
const recrawlChunk = 1000

// RecrawlOlder has a run ask again for those of its pages that were fetched before an
// instant, of one domain or, where that is empty, of all; told is called now and then with
// how many are pending by it.
func (s *Store) RecrawlOlder(ctx context.Context, runID int64, domain string, before time.Time, told func(pages int)) error {
	p := dbsqlc.RecrawlsOlderParams{RunID: runID, Before: before, Max: recrawlChunk}
	if domain != "" {
		p.Domain = &domain
	}
	for added := 0; ; {
		row, err := retryConflicts(ctx, "crawl pages again", func() (dbsqlc.RecrawlsOlderRow, error) {
			return s.q.RecrawlsOlder(ctx, p)
		})
		if err != nil || row.Last == 0 {
			return err
		}
		p.After = row.Last
		added += int(row.Added)
		told(added)
	}
}

// HintRecrawl has hint say when pages of a run are due that a list says have changed since
// they were fetched. Those that are pending, or that the run does not ask for again, are
// left alone. Told is what the list says, at most some thousand pages.
func (s *Store) HintRecrawl(
	ctx context.Context, runID int64, told []crawl.ListNews,
	hint func(history json.RawMessage, fetched time.Time) (json.RawMessage, time.Time, error),
) error {
	data, err := document("news of a list", told)
	if err != nil {
		return err
	}
	rows, err := s.q.RecrawlNews(ctx, dbsqlc.RecrawlNewsParams{RunID: runID, Told: data})
	if err != nil || len(rows) == 0 {
		return translate("look for news of a list", err)
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
	if data, err = document("hints of a list", set); err != nil {
		return err
	}
	_, err = retryConflicts(ctx, "keep news of a list", func() (struct{}, error) { return struct{}{}, s.q.RecrawlHint(ctx, data) })
	return err
}

const (
	// planEvery is how long a domain's plan holds.
	planEvery = 7 * 24 * time.Hour
	// planPages is how many pages it is made from: more tell nothing more.
	planPages = 20_000
)

// PlanRecrawl has plan say how the requests to a domain are spent on its pages, if some
// run crawls them again and that was not said lately. least is the shortest delay of such
// runs.
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
