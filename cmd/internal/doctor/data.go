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
		about:  "When each domain is due for each run: as it is computed from primary rows, and as it is noted.",
		broken: "due earlier than is noted, and so not asked", remedy: "Run mosey doctor --only due --repair, and report it.",
		find: byDomain((*db.Store).CheckDue), mend: mendDue, did: "noted anew when they are due",
	},
	{
		name: "totals", severity: Warning, things: "domain",
		about:  "The totals of each domain in each run, against the attempts.",
		broken: "totals that the attempts do not add up to", remedy: "Run mosey doctor --only totals --repair, and report it.",
		find: byDomain((*db.Store).CheckTotals), mend: mendTotals, did: "counted them anew",
	},
	{
		name: "budgets", severity: Warning, things: "run",
		about:  "What each run has used of its budgets, against its domains.",
		broken: "charged with something else than the domains have used", remedy: "Run mosey doctor --only budgets --repair, and report it.",
		find: atOnce((*db.Store).CheckBudgets), mend: mendBudgets, did: "counted anew what they have used",
	},
	{
		name: "in-flight", severity: Fault, things: "domain",
		about:  "Attempts that are in flight by their rows, while no worker makes them.",
		broken: "an attempt is in flight by its row, and nobody makes it",
		remedy: "Run mosey doctor --only in-flight --repair: it is closed as one whose worker died, and the page is tried again.",
		find:   byDomain((*db.Store).CheckOpen), mend: mendOpen, did: "closed the attempts as those of workers that died",
	},
	{
		name: "keywords", severity: Warning, things: "page",
		about:  "Pages that were read and may be found, and have no terms that a search finds them by.",
		broken: "not found by a search, though read",
		remedy: "Run mosey doctor --only keywords --repair, and then mosey recrawl --outdated, which reads them anew.",
		find:   byID((*db.Store).CheckKeywords, func(page, _ int64) int64 { return page }), mend: mendKeywords,
		did: "marked them to be read anew by the next request to each; mosey recrawl --outdated asks for them all",
	},
	{
		name: "revisits", severity: Fault, things: "page",
		about:  "Pages of runs that visit their pages again: each has a time for the next visit, or a visit that is pending.",
		broken: "never visited again", remedy: "Run mosey doctor --only revisits --repair, and report it.",
		find: byID((*db.Store).CheckRevisits, func(page, _ int64) int64 { return page }), mend: mendRevisits, did: "visits them now",
	},
	{
		name: "references", severity: Fault, things: "attempt",
		about:  "Attempts whose page or run is not there.",
		broken: "of a page or a run that is not there", remedy: "Restore a backup: rows were deleted or lost.",
		find: byID((*db.Store).CheckReferences, func(_, crawl int64) int64 { return crawl }),
	},
	{
		name: "ended", severity: Note, things: "run",
		about:  "Runs that have ended, and have pages that may be asked for now: their domain was deferred or forbidden then.",
		broken: "ended, and now something is due that nobody asks", remedy: "Go on with it, if you want these pages: mosey crawl --run NAME.",
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
	found = fine("%s, and none is wrong", explain.Count(seen, i.things))
	if n > 0 {
		found = one(i.severity, i.remedy, "%s: %s (%s)", explain.Count(int64(n), i.things), i.broken, strings.Join(examples, "; "))
	}
	if len(left) > 0 {
		found = append(found, one(Skipped, "", "these take too long for one statement: %s", named(left))...)
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
			p.tellf("%s looked at, up to %s", explain.Count(seen, "domain"), domains[len(domains)-1])
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
			p.tellf("%d of %d rows looked at", min(after+idsStep, end), end)
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
