package cost_test

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"maps"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/test/dbtest"
	"github.com/mosey-web/mosey/test/race"
)

var update = flag.Bool("update", false, "write what is measured to the budget file")

// count is a measured value with a budget.
type count struct {
	name string
	// margin is the share that -update adds to a measured value. It slightly exceeds the
	// variation between two runs.
	margin float64
	about  string
	// growth is the maximum share by which the cost of a page may grow from 3,000 pages to
	// 12,000 pages; zero means growthMost.
	growth float64
}

// counts lists all counts in the order of the budget file.
var counts = []count{
	{name: "index-entries-read", margin: 0.05, about: "entries that scans of indexes returned (pg_stat_user_indexes.idx_tup_read)"},
	{name: "index-scans", margin: 0.03, about: "scans of indexes"},
	{name: "rows-scanned", margin: 0.03, about: "rows that scans of whole tables read"},
	{
		name: "buffers", margin: 0.03, about: "blocks of tables and indexes touched, in memory or not; not those of the system's catalogs",
		growth: 0.15, // page_links_pkey, pages_url_unique and page_crawls_next gain a level: a block more for each search in them
	},
	{name: "rows-inserted", margin: 0.02, about: "rows"},
	{name: "rows-updated", margin: 0.02, about: "rows"},
	{name: "rows-deleted", margin: 0.02, about: "rows"},
	{name: "index-entries-written", margin: 0.03, about: "entries of B-trees, by the log's records of them"},
	{name: "log-bytes", margin: 0.03, about: "bytes of the log of writes, without whole blocks"},
	{name: "log-records", margin: 0.03, about: "records of it"},
	{name: "functions", margin: 0.03, about: "functions of the database called, by triggers too"},
	{name: "statements", margin: 0.05, about: "statements sent to Postgres"},
	{name: "round-trips", margin: 0.05, about: "how often Postgres is asked and answers; where a statement is prepared, that is one more"},
	{name: "go-bytes", margin: 0.05, about: "bytes allocated by the worker, less than 1 % by the test around it; without those that a collection makes it allocate anew"},
	{name: "go-objects", margin: 0.05, about: "objects allocated by it"},
	{name: temporalEvents, margin: 0.05, about: "events of the history of a domain's workflow, with one page an activity, its start and its end included"},
}

const (
	slicePages = 1500
	earlySlice = 2 // its pages are 1,501 to 3,000
	lateSlice  = 8 // its pages are 10,501 to 12,000
)

// TestPage counts what a page costs after 3,000 pages and after 12,000, and compares both with each
// other and with the budget. Until then Postgres has no statistics, and sessions keep the plans
// that they made for empty tables, as in a crawl until autovacuum comes. That is how a plan goes
// wrong and reads more with every page. Then some more pages are crawled with fresh statistics, and
// may not cost more. The short form counts the first 3,000 pages alone.
func TestPage(t *testing.T) { //nolint:paralleltest // what others allocate would be counted
	race.SkipSerial(t) // it counts what programs do that users have
	url := startPostgres(t)
	migrate(t, url)
	prepareLog(t, url)
	c := newCrawler(t, url)
	c.seed(t)
	c.begin(t)
	var early, late, fresh measurement
	for slice := 1; slice <= lateSlice; slice++ {
		each := slicePages / domains
		if slice == 1 {
			each-- // begin has fetched one
		}
		m := c.measure(t, url, each)
		switch slice {
		case earlySlice:
			early = m
			if testing.Short() {
				judge(t, version(t, url), findings(early, early, early))
				return
			}
		case lateSlice:
			late = m
		}
	}
	execute(t, url, "VACUUM ANALYZE")
	fresh = c.measure(t, url, slicePages/domains)
	logDetails(t, early, late)
	logDetails(t, late, fresh)
	judge(t, version(t, url), findings(early, late, fresh))
}

// judge prints findings beside the budget and fails where they do not keep it, or writes a
// new budget.
func judge(t *testing.T, postgres int, found []finding) {
	t.Helper()
	b, err := loadBudget()
	require.NoError(t, err)
	t.Log("\n" + b.table(found))
	if *update {
		var text bytes.Buffer
		require.NoError(t, b.allow(postgres, found).write(&text))
		require.NoError(t, os.WriteFile(budgetFile, text.Bytes(), 0o600))
		return
	}
	if postgres != b.postgres {
		t.Logf("the budget is for Postgres %d and this is %d: only growth is checked", b.postgres, postgres)
	}
	require.Empty(t, strings.Join(b.check(postgres, found), "\n"))
}

func migrate(t *testing.T, url string) {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), url)
	require.NoError(t, err)
	defer pool.Close()
	_, err = db.Migrate(t.Context(), pool, nil)
	require.NoError(t, err)
}

// version is the major version of Postgres.
func version(t *testing.T, url string) (major int) {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), url)
	require.NoError(t, err)
	defer pool.Close()
	require.NoError(t, pool.QueryRow(t.Context(), `SELECT current_setting('server_version_num')::int / 10000`).Scan(&major))
	return major
}

// measurement holds the cost of a number of pages.
type measurement struct {
	pages      float64
	relations  map[string]relation
	statements map[string]int64
	trips      int64
	calls      int64
	logBytes   int64
	logKinds   map[string]logged // nil where they were not counted
	goBytes    uint64
	goObjects  uint64
}

// timed is a statement that repeats every few seconds, independently of pages.
const timed = "ListsHaveNetworks"

// measure crawls some pages of each domain and counts. No garbage is collected meanwhile: a
// collection empties pools of large buffers, which are then allocated anew, and when one
// comes depends on how fast the machine is.
func (c *crawler) measure(t *testing.T, url string, each int) measurement {
	t.Helper()
	for range 2 { // what the first takes out of a pool can be had until the second
		runtime.GC()
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	settle(t, c.store.Pool())
	before := readDatabase(t, url)
	statements, trips := c.wire.read()
	var from, to runtime.MemStats
	runtime.ReadMemStats(&from)
	c.crawl(t, each)
	dbtest.WriteKeywords(t, c.store)
	runtime.ReadMemStats(&to)
	m := measurement{
		pages: float64(each * domains), goBytes: to.TotalAlloc - from.TotalAlloc, goObjects: to.Mallocs - from.Mallocs,
	}
	m.statements, m.trips = c.wire.read()
	m.trips -= trips
	for name, n := range statements {
		m.statements[name] -= n
	}
	m.trips -= m.statements[timed]
	delete(m.statements, timed)
	settle(t, c.store.Pool())
	after := readDatabase(t, url)
	m.relations, m.calls = after.since(before), after.calls-before.calls
	m.logBytes, m.logKinds = readLog(t, url, before.position, after.position)
	return m
}

// entryKinds are the kinds of the log's records of an entry that is written to a B-tree.
var entryKinds = []string{"Btree/INSERT_LEAF", "Btree/INSERT_POST", "Btree/SPLIT_L", "Btree/SPLIT_R"}

// values are the counts of a measurement, by name, a page.
func (m measurement) values() map[string]float64 {
	var sum relation
	for _, r := range m.relations {
		sum.EntriesRead += r.EntriesRead
		sum.Scans += r.Scans
		sum.RowsScanned += r.RowsScanned
		sum.Buffers += r.Buffers
		sum.Inserted += r.Inserted
		sum.Updated += r.Updated
		sum.Deleted += r.Deleted
	}
	var statements int64
	for _, n := range m.statements {
		statements += n
	}
	all := map[string]float64{
		"index-entries-read": float64(sum.EntriesRead), "index-scans": float64(sum.Scans), "rows-scanned": float64(sum.RowsScanned),
		"buffers": float64(sum.Buffers), "rows-inserted": float64(sum.Inserted), "rows-updated": float64(sum.Updated),
		"rows-deleted": float64(sum.Deleted), "log-bytes": float64(m.logBytes), "functions": float64(m.calls),
		"statements": float64(statements), "round-trips": float64(m.trips),
		"go-bytes": float64(m.goBytes), "go-objects": float64(m.goObjects),
	}
	if m.logKinds != nil {
		for kind, l := range m.logKinds {
			all["log-records"] += float64(l.Count)
			if slices.Contains(entryKinds, kind) {
				all["index-entries-written"] += float64(l.Count)
			}
		}
	}
	for name := range all {
		all[name] /= m.pages
	}
	return all
}

// findings are the counts of measurements, in the order of the budget file.
func findings(early, late, fresh measurement) (found []finding) {
	before, after, analysed := early.values(), late.values(), fresh.values()
	for _, c := range counts {
		if value, ok := after[c.name]; ok {
			found = append(found, finding{name: c.name, early: before[c.name], late: value, fresh: analysed[c.name]})
		}
	}
	return found
}

// detailsShown bounds the lines about tables and indexes.
const detailsShown = 15

// logDetails prints where the counts of two measurements come from, so that one that has
// grown is found.
func logDetails(t *testing.T, early, late measurement) {
	t.Helper()
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "a page\tentries read\tthen\tscans\tthen\tbuffers\tthen\trows scanned\tthen\twritten\tthen\t")
	names := slices.SortedFunc(maps.Keys(late.relations), func(x, y string) int {
		return cmp.Compare(late.relations[y].Buffers, late.relations[x].Buffers)
	})
	for _, name := range names[:min(len(names), detailsShown)] {
		a, b := early.relations[name], late.relations[name]
		fmt.Fprintf(w, "%s\t", name)
		for _, of := range []func(relation) int64{
			func(r relation) int64 { return r.EntriesRead }, func(r relation) int64 { return r.Scans },
			func(r relation) int64 { return r.Buffers }, func(r relation) int64 { return r.RowsScanned },
			func(r relation) int64 { return r.Inserted + r.Updated + r.Deleted },
		} {
			fmt.Fprintf(w, "%s\t%s\t", figure(float64(of(a))/early.pages), figure(float64(of(b))/late.pages))
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintln(w, "the log\trecords\tthen\tbytes\tthen\t")
	kinds := slices.SortedFunc(maps.Keys(late.logKinds), func(x, y string) int {
		return cmp.Compare(late.logKinds[y].Bytes, late.logKinds[x].Bytes)
	})
	for _, kind := range kinds[:min(len(kinds), detailsShown)] {
		a, b := early.logKinds[kind], late.logKinds[kind]
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t\n", kind, figure(float64(a.Count)/early.pages), figure(float64(b.Count)/late.pages),
			figure(float64(a.Bytes)/early.pages), figure(float64(b.Bytes)/late.pages))
	}
	_ = w.Flush() // a strings.Builder takes all
	for _, name := range slices.Sorted(maps.Keys(late.statements)) {
		if n := late.statements[name]; n > 0 {
			fmt.Fprintf(&text, "%s %s ", name, figure(float64(n)/late.pages))
		}
	}
	t.Log("\n" + text.String())
}
