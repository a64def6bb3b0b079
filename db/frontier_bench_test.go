package db_test

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/test/dbtest"
)

var (
	frontierDomains = flag.Int("frontier.domains", 10_000, "domains of BenchmarkFrontier")
	frontierPages   = flag.Int("frontier.pages", 100_000, "pages pending of BenchmarkFrontier")
)

const (
	// frontierSmall is the size, in pages, of the frontier for comparison.
	frontierSmall = 10_000
	// frontierClaims is the number of measured claims, and frontierClaim the number of domains in
	// each. frontierEach is the number of crawled pages per domain that measure the cost of a page.
	frontierClaims, frontierClaim, frontierEach = 5, 1000, 5
)

// BenchmarkFrontier measures the cost of crawling while many pages of many domains are pending. It
// dispatches the next 1,000 domains, claims a page of a domain, and begins and records the page. In
// turns, it measures a frontier of 10,000 pages with as many pages per domain, and compares both.
func BenchmarkFrontier(b *testing.B) {
	for range b.N {
		each := *frontierPages / *frontierDomains
		small, large := newFrontier(b, frontierSmall/each, each), newFrontier(b, *frontierDomains, each)
		small.dispatch(b)
		large.dispatch(b)
		for range frontierEach {
			for _, f := range []*frontier{small, large} {
				f.cost(b, "page", nil)
				f.cost(b, "indexed-page", indexOf)
			}
		}
		small.claim(b)
		large.claim(b)
		b.ReportMetric(0, "ns/op")
		for _, name := range slices.Sorted(maps.Keys(large.found)) {
			b.ReportMetric(large.found[name], name)
			b.ReportMetric(100*large.found[name]/small.found[name], name+"-of-small-%")
			b.Logf("%s: %.2f, of small %.2f", name, large.found[name], small.found[name])
		}
	}
}

// frontier is a database with pages pending.
type frontier struct {
	store *db.Store
	run   int64
	// sites are the numbers of the domains that are claimed
	sites []int
	// first is the number of a domain's next page: one from which on those that it links
	// to as new ones were not pending from the start
	first int
	found map[string]float64
}

func newFrontier(b *testing.B, domains, each int) *frontier {
	b.Helper()
	f := &frontier{store: dbtest.New(b), first: (each + 3) / 5, found: map[string]float64{}}
	run, err := f.store.EnsureRun(b.Context(), "bench", "test",
		settings.Settings{Delay: new(settings.Duration(0)), IPDelay: new(settings.Duration(0)), MaxDomains: new(domains)})
	require.NoError(b, err)
	f.run = run.ID
	fillFrontier(b, f.store, run.ID, domains, each)
	return f
}

// dispatch claims domains, with all that a look of the dispatcher asks of the database.
func (f *frontier) dispatch(b *testing.B) {
	b.Helper()
	var looks []time.Duration
	for len(looks) < frontierClaims {
		began := time.Now()
		_, err := f.store.ActivityUpTo(b.Context(), f.run, 0)
		require.NoError(b, err)
		claimed, err := f.store.ClaimDomains(b.Context(), f.run, frontierClaim)
		require.NoError(b, err)
		require.NoError(b, f.store.MarkRunCrowded(b.Context(), f.run, true))
		_, _, err = f.store.NextDue(b.Context(), f.run)
		require.NoError(b, err)
		if len(claimed) < frontierClaim {
			break
		}
		looks = append(looks, time.Since(began))
		for _, domain := range claimed {
			var site int
			_, err := fmt.Sscanf(domain, "site-%d.example", &site)
			require.NoError(b, err)
			f.sites = append(f.sites, site)
		}
	}
	require.NotEmpty(b, looks, "too few domains, or more than 10 pages each")
	f.found["dispatch-ms"] = quantile(looks, 0.5)
}

// cost crawls a page of each of the domains that were claimed first, as fast as the
// database takes them, and adds what they cost under a name.
func (f *frontier) cost(b *testing.B, name string, index func(*rand.Rand) *crawl.Index) {
	b.Helper()
	before, began := costs(b, f.store), time.Now()
	var group errgroup.Group
	group.SetLimit(200)
	for _, site := range f.sites[:frontierClaim] {
		group.Go(func() error {
			crawlSite(b, f.store, site, f.first, 1, index, func() {}, func() {})
			return nil
		})
	}
	require.NoError(b, group.Wait())
	took, after := time.Since(began), costs(b, f.store)
	const pages = frontierClaim * frontierEach
	f.found[name+"-ms"] += millis(took) / pages
	f.found[name+"-postgres-ms"] += millis(after.cpu-before.cpu) / pages
	f.found[name+"-wal-B"] += float64(after.wal-before.wal) / pages
	f.first++
}

// claim crawls a page of each claimed domain that was not crawled yet, in random order.
// Once all were crawled it crawls a page of all.
func (f *frontier) claim(b *testing.B) {
	b.Helper()
	sites := f.sites[len(f.sites)-max(frontierClaim, len(f.sites)-frontierClaim):]
	rand.Shuffle(len(sites), func(i, j int) { sites[i], sites[j] = sites[j], sites[i] })
	var claims []time.Duration
	for _, site := range sites {
		began := time.Now()
		crawlSite(b, f.store, site, f.first, 1, nil, func() { claims = append(claims, time.Since(began)) }, func() {})
	}
	f.found["claim-p50-ms"], f.found["claim-p95-ms"] = quantile(claims, 0.5), quantile(claims, 0.95)
}

// fillFrontier stores domains with pages that are pending, as seeds_add and links_record do.
// Those of a domain lie apart, and so do domains that are claimed together.
func fillFrontier(b *testing.B, store *db.Store, runID int64, domains, each int) {
	b.Helper()
	conn, err := pgx.ConnectConfig(b.Context(), store.Pool().Config().ConnConfig)
	require.NoError(b, err)
	defer conn.Close(b.Context())
	exec := func(sql string, args ...any) {
		b.Helper()
		began := time.Now()
		_, err := conn.Exec(b.Context(), sql, args...)
		require.NoError(b, err, sql)
		if took := time.Since(began); took > time.Second {
			b.Logf("%s: %.60s", took.Round(time.Millisecond), sql)
		}
	}
	var next string
	require.NoError(b, conn.QueryRow(b.Context(), "SELECT pg_get_indexdef('page_crawls_next'::regclass)").Scan(&next))
	exec("SET maintenance_work_mem = '512MB'; SET synchronous_commit = off")
	exec(`INSERT INTO domains (domain, source, seed_rank, priority_score, priority_computed_at)
		SELECT 'site-' || lpad(i::text, greatest(3, length(i::text)), '0') || '.example', 'test', r, domain_priority(r, NULL, NULL, NULL, NULL, NULL, NULL), now()
		FROM generate_series(0, $1::bigint - 1) i, LATERAL (SELECT (1 + i * 2654435761 % $1)::integer) x (r)`, domains)
	exec(`INSERT INTO run_domains (run_id, domain, seed, next_due_at, priority)
		SELECT $1, domain, true, now(), priority_score FROM domains`, runID)
	// indexes whose order is not that of the rows are faster to make than to keep
	exec("ALTER TABLE pages DROP CONSTRAINT pages_url_unique")
	exec("DROP INDEX page_crawls_next")
	for page := range each {
		exec(`INSERT INTO pages (url, domain, origin, patterns)
			SELECT 'https://' || domain || '/manual/chapter-' || $1::int || '/section.html', domain, 'https://' || domain,
				'{/manual/chapter-N/section.html}' FROM domains`, page)
		exec(`INSERT INTO page_crawls (page_id, domain, priority, scheduled_for, run_id, url, depth)
			SELECT id, domain, -$2::smallint, now() - interval '1 hour' + id * interval '1 microsecond', $1, url, $2::smallint
			FROM pages WHERE id > $3::bigint`, runID, min(page, 1), page*domains)
	}
	exec("ALTER TABLE pages ADD CONSTRAINT pages_url_unique UNIQUE (domain, url)")
	exec(next)
	exec("VACUUM ANALYZE")
	exec("CHECKPOINT")
}

// quantile is one of durations, in milliseconds; 0 is of none.
func quantile(of []time.Duration, q float64) float64 {
	if len(of) == 0 {
		return 0
	}
	slices.SortFunc(of, cmp.Compare[time.Duration])
	return millis(of[int(q*float64(len(of)-1))])
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
