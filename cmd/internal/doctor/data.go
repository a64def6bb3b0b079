package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/internal/explain"
)

type invariant struct {
	name, about string
	severity    Severity
	// things names the rows checked; broken describes the faulty rows.
	things, broken, remedy string
	// find checks all rows in steps and reports the findings of each.
	find finder
	// mend repairs the findings of a step, and did describes the repair; nil means only people can.
	mend func(context.Context, *db.Store, []db.Discrepancy) error
	did  string
}

// finder returns the number of checked rows, and the names that take too long for a statement.
type finder func(ctx context.Context, p *Patient, s *db.Store, each func([]db.Discrepancy) error) (seen int64, left []string, err error)

var invariants = []invariant{
	{
		name: "due", severity: Fault, things: "domain",
		about:  "Compares the stored due time of each domain in each run with its primary rows.",
		broken: "due earlier than stored, and so not requested", remedy: "Run mosey doctor --only due --repair, and report it.",
		find: byDomain((*db.Store).CheckDue), mend: mendDue, did: "stored the correct due times",
	},
	{
		name: "totals", severity: Warning, things: "domain",
		about:  "Compares the totals of each domain in each run with its attempts.",
		broken: "totals differ from the attempts", remedy: "Run mosey doctor --only totals --repair, and report it.",
		find: byDomain((*db.Store).CheckTotals), mend: mendTotals, did: "counted again",
	},
	{
		name: "budgets", severity: Warning, things: "run",
		about:  "Compares the used budgets of each run with its domains.",
		broken: "used budgets differ from the domains", remedy: "Run mosey doctor --only budgets --repair, and report it.",
		find: atOnce((*db.Store).CheckBudgets), mend: mendBudgets, did: "counted the used budgets again",
	},
	{
		name: "in-flight", severity: Fault, things: "domain",
		about:  "Finds attempts stored as in flight that no worker makes.",
		broken: "an attempt is stored as in flight, and no worker makes it",
		remedy: "Run mosey doctor --only in-flight --repair, which closes the attempt as lost and retries the page.",
		find:   byDomain((*db.Store).CheckOpen), mend: mendOpen, did: "closed the attempts as lost by a dead worker",
	},
	{
		name: "keywords", severity: Warning, things: "page",
		about:  "Finds parsed pages that are missing in the search index.",
		broken: "missing in the search index",
		remedy: "Run mosey doctor --only keywords --repair, and then mosey recrawl --outdated, which parses them again.",
		find:   byID((*db.Store).CheckKeywords, func(page, _ int64) int64 { return page }), mend: mendKeywords,
		did: "marked for parsing at the next request; mosey recrawl --outdated requests all of them",
	},
	{
		name: "revisits", severity: Fault, things: "page",
		about:  "Checks that each page of a recrawling run has a pending visit or a time for the next visit.",
		broken: "never visited again", remedy: "Run mosey doctor --only revisits --repair, and report it.",
		find: byID((*db.Store).CheckRevisits, func(page, _ int64) int64 { return page }), mend: mendRevisits, did: "due for a visit now",
	},
	{
		name: "references", severity: Fault, things: "attempt",
		about:  "Finds attempts without a stored page or run.",
		broken: "page or run missing", remedy: "Restore a backup: rows were deleted or lost.",
		find: byID((*db.Store).CheckReferences, func(_, crawl int64) int64 { return crawl }),
	},
	{
		name: "ended", severity: Note, things: "run",
		about:  "Finds ended runs with pages that are due now, because their domain was deferred or forbidden at the end.",
		broken: "ended, with due pages that no run requests", remedy: "To fetch these pages, resume the run: mosey crawl --run NAME.",
		find: atOnce((*db.Store).CheckEnded),
	},
}

func dataChecks() (checks []Check) {
	for _, i := range invariants {
		c := Check{Name: i.name, Part: Data, About: i.about, look: i.look}
		if i.mend != nil {
			c.repair = i.repair
		}
		checks = append(checks, c)
	}
	return checks
}

const examplesMost = 3

func (i invariant) look(ctx context.Context, p *Patient) (found []Finding, err error) {
	store, err := p.migrated(ctx)
	if err != nil {
		return nil, err
	}
	n, examples := 0, []string(nil)
	seen, left, err := i.find(ctx, p, store, func(some []db.Discrepancy) error {
		for _, d := range some {
			if n++; len(examples) < examplesMost {
				examples = append(examples, strings.TrimSpace(d.Domain+" "+d.What))
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	found = fine("%s checked, no problems", explain.Count(seen, i.things))
	if n > 0 {
		found = one(i.severity, i.remedy, "%s: %s (%s)", explain.Count(int64(n), i.things), i.broken, strings.Join(examples, "; "))
	}
	if len(left) > 0 {
		found = append(found, one(Skipped, "", "not checked, because it takes too long: %s", named(left))...)
	}
	return found, nil
}

func (i invariant) repair(ctx context.Context, p *Patient) (string, error) {
	store, err := p.migrated(ctx)
	if err != nil {
		return "", err
	}
	n := 0
	_, _, err = i.find(ctx, p, store, func(some []db.Discrepancy) error {
		n += len(some)
		return i.mend(ctx, store, some)
	})
	return fmt.Sprintf("%d: %s", n, i.did), err
}

func atOnce(find func(*db.Store, context.Context) ([]db.Discrepancy, error)) finder {
	return func(ctx context.Context, _ *Patient, s *db.Store, each func([]db.Discrepancy) error) (int64, []string, error) {
		some, err := find(s, ctx)
		if err != nil {
			return 0, nil, err
		}
		runs, err := s.Runs(ctx)
		if err != nil {
			return 0, nil, err
		}
		return int64(len(runs)), nil, each(some)
	}
}

const domainsStep = 200

func byDomain(find func(*db.Store, context.Context, []string) ([]db.Discrepancy, error)) finder {
	return func(ctx context.Context, p *Patient, s *db.Store, each func([]db.Discrepancy) error) (seen int64, left []string, err error) {
		for after := int64(0); ; {
			domains, last, err := s.DomainsAfter(ctx, after, domainsStep)
			if err != nil || len(domains) == 0 {
				return seen, left, err
			}
			slow, err := halved(ctx, domains, func(some []string) error {
				broken, err := find(s, ctx, some)
				if err != nil || len(broken) == 0 {
					return err
				}
				return each(broken)
			})
			if err != nil {
				return seen, left, err
			}
			after, seen, left = last, seen+int64(len(domains)), append(left, slow...)
			p.tellf("%s checked, up to %s", explain.Count(seen, "domain"), domains[len(domains)-1])
		}
	}
}

// halved calls do for names, and for halves after a time-out. It returns single names that time
// out.
func halved(ctx context.Context, names []string, do func([]string) error) (slow []string, err error) {
	err = do(names)
	if err == nil || !db.TimedOut(err) || ctx.Err() != nil {
		return nil, err
	}
	if len(names) == 1 {
		return names, nil
	}
	for _, half := range [][]string{names[:len(names)/2], names[len(names)/2:]} {
		more, err := halved(ctx, half, do)
		if slow = append(slow, more...); err != nil {
			return slow, err
		}
	}
	return slow, nil
}

const idsStep = 10_000

func byID(find func(*db.Store, context.Context, int64, int64) ([]db.Discrepancy, error), last func(page, crawl int64) int64) finder {
	return func(ctx context.Context, p *Patient, s *db.Store, each func([]db.Discrepancy) error) (int64, []string, error) {
		page, crawl, err := s.LastIDs(ctx)
		end := last(page, crawl)
		for after := int64(0); after < end && err == nil; after += idsStep {
			var broken []db.Discrepancy
			if broken, err = find(s, ctx, after, min(after+idsStep, end)); err == nil && len(broken) > 0 {
				err = each(broken)
			}
			p.tellf("%d of %d rows checked", min(after+idsStep, end), end)
		}
		moved, err2 := s.Moved(ctx)
		return end - last(0, moved), nil, errors.Join(err, err2)
	}
}

func (p *Patient) tellf(format string, args ...any) {
	if p.Progress != nil {
		p.Progress(fmt.Sprintf(format, args...))
	}
}

func mendDue(ctx context.Context, s *db.Store, some []db.Discrepancy) error {
	return s.RepairDue(ctx, domainsOf(some))
}

func mendTotals(ctx context.Context, s *db.Store, some []db.Discrepancy) error {
	for _, domain := range domainsOf(some) {
		if err := s.RepairTotals(ctx, domain); err != nil {
			return err
		}
	}
	return nil
}

func mendBudgets(ctx context.Context, s *db.Store, some []db.Discrepancy) error {
	for _, d := range some {
		if err := s.RepairBudgets(ctx, d.ID); err != nil {
			return err
		}
	}
	return nil
}

func mendOpen(ctx context.Context, s *db.Store, some []db.Discrepancy) error {
	for _, d := range some {
		if err := s.RepairOpen(ctx, d.Domain, d.ID); err != nil {
			return err
		}
	}
	return nil
}

func mendKeywords(ctx context.Context, s *db.Store, some []db.Discrepancy) error {
	ids := make([]int64, len(some))
	for i, d := range some {
		ids[i] = d.ID
	}
	return s.RepairKeywords(ctx, ids)
}

func mendRevisits(ctx context.Context, s *db.Store, some []db.Discrepancy) error {
	for _, d := range some {
		if _, err := s.RepairRevisits(ctx, d.ID-1, d.ID); err != nil {
			return err
		}
	}
	return nil
}

// domainsOf returns the distinct domains in order.
func domainsOf(some []db.Discrepancy) (domains []string) {
	for _, d := range some {
		domains = append(domains, d.Domain)
	}
	slices.Sort(domains)
	return slices.Compact(domains)
}
