package db

import (
	"context"
	"fmt"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/db/dbsqlc"
)

// Discrepancy describes inconsistent rows. ID is the id of a run, a page or a crawl, if any.
type Discrepancy struct {
	Domain      string
	ID          int64
	Description string
}

// checkTimeout bounds each statement of a check, so that workers do not wait long for it.
const checkTimeout = 20 * time.Second

// discrepancyRow is a row of a Check query.
type discrepancyRow interface {
	~struct {
		Domain      string
		ID          int64
		Description string
	}
}

func discrepancies[T discrepancyRow](
	ctx context.Context, s *Store, op string, query func(*dbsqlc.Queries) ([]T, error),
) ([]Discrepancy, error) {
	rows, err := read(ctx, s, []string{timeLimit(checkTimeout)}, query)
	return mapRows(rows, func(row T) Discrepancy { return Discrepancy(row) }), translate(op, err)
}

// DomainsAfter returns the next domains after an id, and the id of the last; no domains at the end.
func (s *Store) DomainsAfter(ctx context.Context, after int64, limit int) (domains []string, last int64, err error) {
	rows, err := s.q.DomainsAfter(ctx, dbsqlc.DomainsAfterParams{After: after, Max: int32Of(limit)})
	for _, r := range rows {
		domains, last = append(domains, r.Domain), r.ID
	}
	return domains, last, translate("list domains", err)
}

// LastIDs returns the ids of the last page and the last crawl.
func (s *Store) LastIDs(ctx context.Context) (page, crawl int64, err error) {
	row, err := s.q.CheckLastIDs(ctx)
	return row.Page, row.Crawl, translate("find the last page", err)
}

// CheckDue finds domains that are due earlier than their rows state.
func (s *Store) CheckDue(ctx context.Context, domains []string) ([]Discrepancy, error) {
	return discrepancies(ctx, s, "check due times of domains",
		func(q *dbsqlc.Queries) ([]dbsqlc.CheckDueRow, error) { return q.CheckDue(ctx, domains) })
}

// RepairDue recomputes when domains are due.
func (s *Store) RepairDue(ctx context.Context, domains []string) error {
	return retry(ctx, "store due times of domains", func() error { return s.q.RepairDue(ctx, domains) })
}

// CheckTotals finds domains whose totals in a run differ from the sums of their rows.
func (s *Store) CheckTotals(ctx context.Context, domains []string) ([]Discrepancy, error) {
	return discrepancies(ctx, s, "add up totals",
		func(q *dbsqlc.Queries) ([]dbsqlc.CheckTotalsRow, error) { return q.CheckTotals(ctx, domains) })
}

// RepairTotals recounts the totals of a domain in all its runs. Attempts meanwhile wait.
func (s *Store) RepairTotals(ctx context.Context, domain string) error {
	return s.change(ctx, "count the totals of "+domain, func(q *dbsqlc.Queries) error {
		if _, err := q.RunDomainsLock(ctx, domain); err != nil {
			return err
		}
		_, err := q.RepairTotals(ctx, domain)
		return err
	})
}

// CheckBudgets finds runs whose used budgets differ from the sums of their domains.
func (s *Store) CheckBudgets(ctx context.Context) ([]Discrepancy, error) {
	return discrepancies(ctx, s, "add up budgets",
		func(q *dbsqlc.Queries) ([]dbsqlc.CheckBudgetsRow, error) { return q.CheckBudgets(ctx) })
}

// RepairBudgets recounts the used budgets of a run.
func (s *Store) RepairBudgets(ctx context.Context, runID int64) error {
	return s.change(ctx, "count used budgets of a run", func(q *dbsqlc.Queries) error {
		if _, err := q.RunBudgetLock(ctx, runID); err != nil {
			return err
		}
		return q.RepairBudgets(ctx, runID)
	})
}

// CheckOpen finds attempts that are in flight by their rows but have no worker.
func (s *Store) CheckOpen(ctx context.Context, domains []string) ([]Discrepancy, error) {
	return discrepancies(ctx, s, "find attempts without a worker",
		func(q *dbsqlc.Queries) ([]dbsqlc.CheckOpenRow, error) { return q.CheckOpen(ctx, domains) })
}

// RepairOpen closes such an attempt as one whose worker has died, unless a worker makes it now.
func (s *Store) RepairOpen(ctx context.Context, domain string, attemptID int64) error {
	return s.change(ctx, "close an attempt to "+domain, func(q *dbsqlc.Queries) error {
		slot, err := orZero(q.SlotLock(ctx, domain))
		if err != nil || slot.Holder == fmt.Sprintf("crawl:%d", attemptID) && !slot.Free {
			return err
		}
		if err := q.RepairOpen(ctx, attemptID); err != nil {
			return err
		}
		if err := q.SlotClearHolder(ctx, dbsqlc.SlotClearHolderParams{Domain: domain, ID: attemptID}); err != nil {
			return err
		}
		return q.RepairDue(ctx, []string{domain})
	})
}

// CheckKeywords finds pages with ids in (after, through] that this program has read, without terms.
func (s *Store) CheckKeywords(ctx context.Context, after, through int64) ([]Discrepancy, error) {
	return discrepancies(ctx, s, "find pages without terms",
		func(q *dbsqlc.Queries) ([]dbsqlc.CheckKeywordsRow, error) {
			return q.CheckKeywords(ctx, dbsqlc.CheckKeywordsParams{After: after, UpToID: through, Extractor: crawl.ExtractorVersion})
		})
}

// RepairKeywords makes the next request to these pages read them anew, if they still lack terms.
func (s *Store) RepairKeywords(ctx context.Context, pages []int64) error {
	_, err := retryConflicts(ctx, "schedule rereading of pages", func() (int64, error) { return s.q.RepairKeywords(ctx, pages) })
	return err
}

// CheckRevisits finds pages with ids in (after, through] that lack a time for their next visit.
func (s *Store) CheckRevisits(ctx context.Context, after, through int64) ([]Discrepancy, error) {
	return discrepancies(ctx, s, "find pages without a next visit",
		func(q *dbsqlc.Queries) ([]dbsqlc.CheckRevisitsRow, error) {
			return q.CheckRevisits(ctx, dbsqlc.CheckRevisitsParams{After: after, UpToID: through})
		})
}

// RepairRevisits schedules such pages for now, and returns their number.
func (s *Store) RepairRevisits(ctx context.Context, after, through int64) (int64, error) {
	return retryConflicts(ctx, "schedule pages without a next visit", func() (int64, error) {
		return s.q.RepairRevisits(ctx, dbsqlc.RepairRevisitsParams{After: after, UpToID: through})
	})
}

// CheckReferences finds attempts whose page or run is missing, in the same way.
func (s *Store) CheckReferences(ctx context.Context, after, through int64) ([]Discrepancy, error) {
	return discrepancies(ctx, s, "find attempts without a page or run",
		func(q *dbsqlc.Queries) ([]dbsqlc.CheckReferencesRow, error) {
			return q.CheckReferences(ctx, dbsqlc.CheckReferencesParams{After: after, UpToID: through})
		})
}

// CheckEnded finds runs that have ended and have had a page become due since.
func (s *Store) CheckEnded(ctx context.Context) ([]Discrepancy, error) {
	return discrepancies(ctx, s, "find ended runs with due pages",
		func(q *dbsqlc.Queries) ([]dbsqlc.CheckEndedRow, error) { return q.CheckEnded(ctx) })
}
