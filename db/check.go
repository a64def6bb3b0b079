package db

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/db/dbsqlc"
)

// Discrepancy is that rows do not agree with each other: a domain, and, where it is about one,
// the id of a run, a page or a crawl.
type Discrepancy struct {
	Domain string
	ID     int64
	What   string
}

// checkSpan bounds each statement of a check: what it is about must not wait for it for long.
const checkSpan = 20 * time.Second

// discrepancies are rows as discrepancies.
func discrepancies[T any](
	ctx context.Context, s *Store, op string, query func(*dbsqlc.Queries) ([]T, error), of func(T) Discrepancy,
) (all []Discrepancy, err error) {
	err = s.reading(ctx, checkSpan, func(q *dbsqlc.Queries) error {
		rows, err := query(q)
		for _, r := range rows {
			all = append(all, of(r))
		}
		return err
	})
	return all, translate(op, err)
}

// DomainsAfter returns the next domains after an id, and the id of the last; none is the end.
func (s *Store) DomainsAfter(ctx context.Context, after int64, most int) (domains []string, last int64, err error) {
	rows, err := s.q.CheckDomains(ctx, dbsqlc.CheckDomainsParams{After: after, Max: int32Of(most)})
	for _, r := range rows {
		domains, last = append(domains, r.Domain), r.ID
	}
	return domains, last, translate("list domains", err)
}

// LastIDs are those of the last page and the last crawl.
func (s *Store) LastIDs(ctx context.Context) (page, crawl int64, err error) {
	row, err := s.q.CheckLastIDs(ctx)
	return row.Page, row.Crawl, translate("look for the last page", err)
}

// CheckDue finds domains that are due earlier than is noted.
func (s *Store) CheckDue(ctx context.Context, domains []string) ([]Discrepancy, error) {
	return discrepancies(ctx, s, "compare when domains are due",
		func(q *dbsqlc.Queries) ([]dbsqlc.CheckDueRow, error) { return q.CheckDue(ctx, domains) },
		func(r dbsqlc.CheckDueRow) Discrepancy {
			return Discrepancy{r.Domain, r.RunID, "due at " + r.Due + ", noted as " + r.Noted}
		})
}

// RepairDue notes anew when domains are due.
func (s *Store) RepairDue(ctx context.Context, domains []string) error {
	return retry(ctx, "note when domains are due", func() error { return s.q.RepairDue(ctx, domains) })
}

// CheckTotals finds domains whose totals in a run are not what their rows add up to.
func (s *Store) CheckTotals(ctx context.Context, domains []string) ([]Discrepancy, error) {
	return discrepancies(ctx, s, "add up totals",
		func(q *dbsqlc.Queries) ([]dbsqlc.CheckTotalsRow, error) { return q.CheckTotals(ctx, domains) },
		func(r dbsqlc.CheckTotalsRow) Discrepancy {
			return Discrepancy{r.Domain, r.RunID, "noted " + r.Noted + ", counted " + r.Counted}
		})
}

// RepairTotals counts those of a domain anew, in all its runs. What is recorded meanwhile waits,
// and is counted on top.
func (s *Store) RepairTotals(ctx context.Context, domain string) error {
	return s.change(ctx, "count the totals of "+domain, func(q *dbsqlc.Queries) error {
		if _, err := q.RunDomainsLock(ctx, domain); err != nil {
			return err
		}
		_, err := q.RepairTotals(ctx, domain)
		return err
	})
}

// CheckBudgets finds runs whose budgets are not charged with what their domains have used.
func (s *Store) CheckBudgets(ctx context.Context) ([]Discrepancy, error) {
	return discrepancies(ctx, s, "add up budgets",
		func(q *dbsqlc.Queries) ([]dbsqlc.CheckBudgetsRow, error) { return q.CheckBudgets(ctx) },
		func(r dbsqlc.CheckBudgetsRow) Discrepancy {
			what := fmt.Sprintf("%s: noted %d pages", r.Name, r.PagesStarted)
			if r.Bytes != nil {
				what += fmt.Sprintf(" and %d bytes", *r.Bytes)
			}
			return Discrepancy{ID: r.ID, What: fmt.Sprintf("%s, counted %d and %d", what, r.Pages, r.Read)}
		})
}

// RepairBudgets counts those of a run anew.
func (s *Store) RepairBudgets(ctx context.Context, runID int64) error {
	return s.change(ctx, "count what a run has used", func(q *dbsqlc.Queries) error {
		if _, err := q.RunBudgetLock(ctx, runID); err != nil {
			return err
		}
		return q.RepairBudgets(ctx, runID)
	})
}

// CheckOpen finds attempts that are in flight by their rows, and that nobody makes.
func (s *Store) CheckOpen(ctx context.Context, domains []string) ([]Discrepancy, error) {
	return discrepancies(ctx, s, "look for attempts that nobody makes",
		func(q *dbsqlc.Queries) ([]dbsqlc.CheckOpenRow, error) { return q.CheckOpen(ctx, domains) },
		func(r dbsqlc.CheckOpenRow) Discrepancy {
			return Discrepancy{r.Domain, r.ID, r.Url + " since " + r.Since.UTC().Format(time.RFC3339)}
		})
}

// RepairOpen closes such an attempt as one whose worker has died, unless somebody makes it after
// all.
func (s *Store) RepairOpen(ctx context.Context, domain string, crawlID int64) error {
	return s.change(ctx, "close an attempt to "+domain, func(q *dbsqlc.Queries) error {
		slot, err := q.SlotLock(ctx, domain)
		if err != nil && !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		if slot.Holder == fmt.Sprintf("crawl:%d", crawlID) && !slot.Free {
			return nil
		}
		if err := q.RepairOpen(ctx, crawlID); err != nil {
			return err
		}
		if err := q.SlotForget(ctx, dbsqlc.SlotForgetParams{Domain: domain, ID: crawlID}); err != nil {
			return err
		}
		return q.RepairDue(ctx, []string{domain})
	})
}

// CheckKeywords finds pages that this program has read and that lack their terms, by id after
// one id and up to another.
func (s *Store) CheckKeywords(ctx context.Context, after, upto int64) ([]Discrepancy, error) {
	return discrepancies(ctx, s, "look for pages without terms",
		func(q *dbsqlc.Queries) ([]dbsqlc.CheckKeywordsRow, error) {
			return q.CheckKeywords(ctx, dbsqlc.CheckKeywordsParams{After: after, Upto: upto, Extractor: crawl.ExtractorVersion})
		},
		func(r dbsqlc.CheckKeywordsRow) Discrepancy { return Discrepancy{ID: r.ID, What: r.Url} })
}

// RepairKeywords has pages read anew with their next request, if they still lack their terms.
func (s *Store) RepairKeywords(ctx context.Context, pages []int64) error {
	return retry(ctx, "have pages read anew", func() error {
		_, err := s.q.RepairKeywords(ctx, pages)
		return err
	})
}

// CheckReferences finds attempts of pages or runs that are not there, likewise.
func (s *Store) CheckReferences(ctx context.Context, after, upto int64) ([]Discrepancy, error) {
	return discrepancies(ctx, s, "look for what attempts are about",
		func(q *dbsqlc.Queries) ([]dbsqlc.CheckReferencesRow, error) {
			return q.CheckReferences(ctx, dbsqlc.CheckReferencesParams{After: after, Upto: upto})
		},
		func(r dbsqlc.CheckReferencesRow) Discrepancy { return Discrepancy{ID: r.ID, What: r.Url} })
}

// CheckEnded finds runs that have ended, of which something has become due since.
func (s *Store) CheckEnded(ctx context.Context) ([]Discrepancy, error) {
	return discrepancies(ctx, s, "look at runs that have ended",
		func(q *dbsqlc.Queries) ([]string, error) { return q.CheckEnded(ctx) },
		func(name string) Discrepancy { return Discrepancy{What: name} })
}
