package doctor

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/internal/explain"
)

type invariant struct {
	name, about string
	severity    Severity
	// rowNoun names the rows checked; defect describes the faulty rows.
	rowNoun, defect, remedy string
	// find checks all rows in steps and reports the findings of each.
	find finder
	// fix repairs the findings of a step, and fixSummary describes the repair; nil means that only
	// an operator can.
	fix        func(context.Context, *db.Store, []db.Discrepancy) error
	fixSummary string
}

// finder returns the number of checked rows, and the names that take too long for a statement.
type finder func(ctx context.Context, p *Target, s *db.Store, each func([]db.Discrepancy) error) (seen int64, left []string, err error)

var invariants = []invariant{
	{
		name: "due", severity: Fault, rowNoun: "domain",
		about:  "Compares the stored due time of each domain in each run with its primary rows.",
		defect: "due earlier than stored, and so not requested", remedy: "Run mosey doctor --only due --repair, and report it.",
		find: checkByDomain((*db.Store).CheckDue),
		fix: repairEach(func(ctx context.Context, s *db.Store, d db.Discrepancy) error {
			return s.RepairDue(ctx, []string{d.Domain})
		}),
		fixSummary: "stored the correct due times",
	},
	{
		name: "totals", severity: Warning, rowNoun: "domain",
		about:  "Compares the totals of each domain in each run with its attempts.",
		defect: "totals differ from the attempts", remedy: "Run mosey doctor --only totals --repair, and report it.",
		find:       checkByDomain((*db.Store).CheckTotals),
		fix:        repairEach(func(ctx context.Context, s *db.Store, d db.Discrepancy) error { return s.RepairTotals(ctx, d.Domain) }),
		fixSummary: "counted again",
	},
	{
		name: "budgets", severity: Warning, rowNoun: "run",
		about:  "Compares the used budgets of each run with its domains.",
		defect: "used budgets differ from the domains", remedy: "Run mosey doctor --only budgets --repair, and report it.",
		find:       checkAll((*db.Store).CheckBudgets),
		fix:        repairEach(func(ctx context.Context, s *db.Store, d db.Discrepancy) error { return s.RepairBudgets(ctx, d.ID) }),
		fixSummary: "counted the used budgets again",
	},
	{
		name: "in-flight", severity: Fault, rowNoun: "domain",
		about:  "Finds attempts stored as in flight that no worker makes.",
		defect: "an attempt is stored as in flight, and no worker makes it",
		remedy: "Run mosey doctor --only in-flight --repair, which closes the attempt as lost and retries the page.",
		find:   checkByDomain((*db.Store).CheckOpen),
		fix: repairEach(func(ctx context.Context, s *db.Store, d db.Discrepancy) error {
			return s.RepairOpen(ctx, d.Domain, d.ID)
		}),
		fixSummary: "closed the attempts as lost by a dead worker",
	},
	{
		name: "keywords", severity: Warning, rowNoun: "page",
		about:  "Finds parsed pages that are missing in the search index.",
		defect: "missing in the search index",
		remedy: "Run mosey doctor --only keywords --repair, and then mosey recrawl --outdated, which parses them again.",
		find:   checkByID((*db.Store).CheckKeywords, func(page, _ int64) int64 { return page }), fix: repairKeywords,
		fixSummary: "marked for parsing at the next request; mosey recrawl --outdated requests all of them",
	},
	{
		name: "revisits", severity: Fault, rowNoun: "page",
		about:  "Checks that each page of a recrawling run has a pending visit or a time for the next visit.",
		defect: "never visited again", remedy: "Run mosey doctor --only revisits --repair, and report it.",
		find: checkByID((*db.Store).CheckRevisits, func(page, _ int64) int64 { return page }),
		fix: repairEach(func(ctx context.Context, s *db.Store, d db.Discrepancy) error {
			_, err := s.RepairRevisits(ctx, d.ID-1, d.ID)
			return err
		}),
		fixSummary: "due for a visit now",
	},
	{
		name: "references", severity: Fault, rowNoun: "attempt",
		about:  "Finds attempts without a stored page or run.",
		defect: "page or run missing", remedy: "Restore a backup: rows were deleted or lost.",
		find: checkByID((*db.Store).CheckReferences, func(_, crawl int64) int64 { return crawl }),
	},
	{
		name: "ended", severity: Note, rowNoun: "run",
		about:  "Finds ended runs with pages that are due now, because their domain was deferred or forbidden at the end.",
		defect: "ended, with due pages that no run requests", remedy: "To fetch these pages, resume the run: mosey crawl --run NAME.",
		find: checkAll((*db.Store).CheckEnded),
	},
}

func dataChecks() (checks []Check) {
	for _, i := range invariants {
		c := Check{Name: i.name, Part: Data, About: i.about, run: i.check}
		if i.fix != nil {
			c.repair = i.repair
		}
		checks = append(checks, c)
	}
	return checks
}

const maxExamples = 3

func (i invariant) check(ctx context.Context, p *Target) (found []Finding, err error) {
	store, err := p.usableStore(ctx)
	if err != nil {
		return nil, err
	}
	n, examples := 0, []string(nil)
	seen, timedOut, err := i.find(ctx, p, store, func(discrepancies []db.Discrepancy) error {
		for _, d := range discrepancies {
			if n++; len(examples) < maxExamples {
				examples = append(examples, strings.TrimSpace(d.Domain+" "+d.Description))
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	found = okFinding("%s checked, no problems", explain.Count(seen, i.rowNoun))
	if n > 0 {
		found = newFinding(i.severity, i.remedy, "%s: %s (%s)", explain.Count(int64(n), i.rowNoun), i.defect, strings.Join(examples, "; "))
	}
	if len(timedOut) > 0 {
		found = append(found, newFinding(Skipped, "", "not checked, because it takes too long: %s", joinThree(timedOut))...)
	}
	return found, nil
}

func (i invariant) repair(ctx context.Context, p *Target) (string, error) {
	store, err := p.usableStore(ctx)
	if err != nil {
		return "", err
	}
	n := 0
	_, _, err = i.find(ctx, p, store, func(discrepancies []db.Discrepancy) error {
		n += len(discrepancies)
		return i.fix(ctx, store, discrepancies)
	})
	return fmt.Sprintf("%d: %s", n, i.fixSummary), err
}

func checkAll(find func(*db.Store, context.Context) ([]db.Discrepancy, error)) finder {
	return func(ctx context.Context, _ *Target, s *db.Store, each func([]db.Discrepancy) error) (int64, []string, error) {
		discrepancies, err := find(s, ctx)
		if err != nil {
			return 0, nil, err
		}
		runs, err := s.Runs(ctx)
		if err != nil {
			return 0, nil, err
		}
		return int64(len(runs)), nil, each(discrepancies)
	}
}

const domainsStep = 200

func checkByDomain(find func(*db.Store, context.Context, []string) ([]db.Discrepancy, error)) finder {
	return func(ctx context.Context, p *Target, s *db.Store, each func([]db.Discrepancy) error) (seen int64, timedOut []string, err error) {
		for after := int64(0); ; {
			domains, last, err := s.DomainsAfter(ctx, after, domainsStep)
			if err != nil || len(domains) == 0 {
				return seen, timedOut, err
			}
			slowDomains, err := callInHalves(ctx, domains, func(names []string) error {
				discrepancies, err := find(s, ctx, names)
				if err != nil || len(discrepancies) == 0 {
					return err
				}
				return each(discrepancies)
			})
			if err != nil {
				return seen, timedOut, err
			}
			after, seen, timedOut = last, seen+int64(len(domains)), append(timedOut, slowDomains...)
			p.reportf("%s checked, up to %s", explain.Count(seen, "domain"), domains[len(domains)-1])
		}
	}
}

// callInHalves calls do for names, and for halves after a time-out. It returns single names that
// time out.
func callInHalves(ctx context.Context, names []string, do func([]string) error) (timedOut []string, err error) {
	err = do(names)
	if err == nil || !db.TimedOut(err) || ctx.Err() != nil {
		return nil, err
	}
	if len(names) == 1 {
		return names, nil
	}
	for _, half := range [][]string{names[:len(names)/2], names[len(names)/2:]} {
		halfTimedOut, err := callInHalves(ctx, half, do)
		if timedOut = append(timedOut, halfTimedOut...); err != nil {
			return timedOut, err
		}
	}
	return timedOut, nil
}

const idsStep = 10_000

func checkByID(find func(*db.Store, context.Context, int64, int64) ([]db.Discrepancy, error), last func(page, crawl int64) int64) finder {
	return func(ctx context.Context, p *Target, s *db.Store, each func([]db.Discrepancy) error) (int64, []string, error) {
		page, crawl, err := s.LastIDs(ctx)
		end := last(page, crawl)
		for after := int64(0); after < end && err == nil; after += idsStep {
			var discrepancies []db.Discrepancy
			if discrepancies, err = find(s, ctx, after, min(after+idsStep, end)); err == nil && len(discrepancies) > 0 {
				err = each(discrepancies)
			}
			p.reportf("%d of %d rows checked", min(after+idsStep, end), end)
		}
		moved, err2 := s.Moved(ctx)
		return end - last(0, moved), nil, errors.Join(err, err2)
	}
}

func (p *Target) reportf(format string, args ...any) {
	if p.Progress != nil {
		p.Progress(fmt.Sprintf(format, args...))
	}
}

// repairEach returns a function that repairs each discrepancy of a step.
func repairEach(
	repair func(context.Context, *db.Store, db.Discrepancy) error,
) func(context.Context, *db.Store, []db.Discrepancy) error {
	return func(ctx context.Context, s *db.Store, discrepancies []db.Discrepancy) error {
		for _, d := range discrepancies {
			if err := repair(ctx, s, d); err != nil {
				return err
			}
		}
		return nil
	}
}

func repairKeywords(ctx context.Context, s *db.Store, discrepancies []db.Discrepancy) error {
	ids := make([]int64, len(discrepancies))
	for i, d := range discrepancies {
		ids[i] = d.ID
	}
	return s.RepairKeywords(ctx, ids)
}
