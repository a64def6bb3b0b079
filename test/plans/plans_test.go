package plans

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/test/form"
	"github.com/mosey-web/mosey/test/race"
)

// TestPlans runs each statement of db/queries and each inside db/functions on a database of a
// million pages, with statistics that are stale, fresh and absent. It fails if a plan reads
// more than 100 rows for each one that it needs, unless allowed lists it. Statements are
// planned as on Mosey's own connections (db.Open). Those that read whole tables run once.
func TestPlans(t *testing.T) {
	t.Parallel()
	race.SkipSerial(t)
	form.Long(t) // a million pages take three minutes
	d := newDatabase(t, manyPages, manySites)
	f := &findings{seen: map[statement]bool{}, worst: map[statement]finding{}, used: map[*allowance]bool{}}
	for _, s := range statistics {
		d.exec(t, s.sql)
		d.runAll(t, s.name, s.name == "Fresh", func(e executed) { f.add(s.name, e) })
	}
	d.findsFaults(t)
	f.judgement(t)
	f.coverage(t, d)
}

func (d *database) runAll(t *testing.T, stats string, whole bool, seen func(executed)) {
	t.Helper()
	began := time.Now()
	s := d.open(t, seen)
	changing, reading := allCases()
	for _, name := range caseNames(changing) {
		s.change(t, name, changing[name])
	}
	if whole {
		for _, name := range caseNames(reading) {
			s.during = name
			reading[name](t, s.store)
		}
	}
	s.store.Close()
	t.Logf("%s statistics: %s", stats, time.Since(began).Round(time.Millisecond))
}

// findings are the statements that were run, and the worst plan of each that has a fault.
type findings struct {
	seen  map[statement]bool
	worst map[statement]finding
	used  map[*allowance]bool
}

type finding struct {
	executed
	verdict

	statistics string
}

func (f *findings) add(statistics string, e executed) {
	f.seen[e.statement] = true
	v := judge(&e.plan)
	if v.fault == "" {
		return
	}
	for i := range allowed {
		if allowed[i].of(e) {
			f.used[&allowed[i]] = true
			if v.read <= allowed[i].upTo {
				return
			}
		}
	}
	if v.ratio > f.worst[e.statement].ratio {
		f.worst[e.statement] = finding{e, v, statistics}
	}
}

// judgement fails for each plan that has a fault, and for what is allowed in vain.
func (f *findings) judgement(t *testing.T) {
	t.Helper()
	for _, x := range f.worst {
		t.Errorf("%s, %s statistics, %s: %.0f times what it needs: %s\n%.300s", x.statement, x.statistics, x.during, x.ratio, x.fault, strings.TrimSpace(x.text))
	}
	for i := range allowed {
		if !f.used[&allowed[i]] {
			t.Errorf("allowed in vain: %s %q reads no more than it needs", allowed[i].in, allowed[i].text)
		}
	}
}

// coverage fails for each statement that was not run.
func (f *findings) coverage(t *testing.T, d *database) {
	t.Helper()
	var missed []string
	for _, q := range queries(t) {
		if !f.seen[q] {
			missed = append(missed, q.String())
		}
	}
	for s, text := range d.functionStatements(t) {
		if !f.seen[s] {
			missed = append(missed, fmt.Sprintf("%s: %.80s", s, strings.Join(strings.Fields(text), " ")))
		}
	}
	slices.Sort(missed)
	require.Empty(t, missed, "these were not run: add a case")
}
