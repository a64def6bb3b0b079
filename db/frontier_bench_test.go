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
	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/db/dbtest"
)

var (
	frontierDomains = flag.Int("frontier.domains", 10_000, "domains of BenchmarkFrontier")
	frontierPages   = flag.Int("frontier.pages", 100_000, "pages pending of BenchmarkFrontier")
)

const (
	// frontierSmall is the frontier in pages that a large one is compared with.
	frontierSmall = 10_000
	// frontierClaims is how often frontierClaim domains are claimed.
	frontierClaims = 5
	frontierClaim  = 1000
	// frontierEach is how many pages of a domain are crawled to tell what one costs.
	frontierEach = 5
)

// BenchmarkFrontier measures what crawling costs while many pages of many domains are
// pending: to dispatch the next 1,000 domains, to claim a page of one, and to begin and
// record a page. It compares that with a frontier of 10,000 pages that has as many pages
// a domain.
func BenchmarkFrontier(b *testing.B) {
	for range b.N {
		each := *frontierPages / *frontierDomains
		small := measureFrontier(b, frontierSmall/each, each)
		large := measureFrontier(b, *frontierDomains, each)
		b.ReportMetric(0, "ns/op")
		for name, value := range large {
			b.ReportMetric(value, name)
			b.ReportMetric(100*value/small[name], name+"-of-small-%")
		}
	}
}

// measureFrontier returns what a database costs that has so many domains, with so many
// pages each.
func measureFrontier(b *testing.B, domains, each int) map[string]float64 {
	b.Helper()
	store := dbtest.New(b)
	run, err := store.EnsureRun(b.Context(), "bench", "test",
		crawl.Settings{Delay: new(crawl.Duration(0)), IPDelay: new(crawl.Duration(0)), MaxDomains: new(domains)})
	require.NoError(b, err)
	fillFrontier(b, store, run.ID, domains, each)

	var sites []int
	var looks []time.Duration
	for range frontierClaims {
		claimed, took := dispatchFrontier(b, store, run.ID)
		for _, domain := range claimed {
			var site int
			_, err := fmt.Sscanf(domain, "site-%d.example", &site)
			require.NoError(b, err)
			sites = append(sites, site)
		}
		if len(claimed) == frontierClaim {
			looks = append(looks, took)
		}
	}
	found := map[string]float64{"dispatch-ms": quantile(looks, 0.5)}

	// pages before this one link to some that are pending already
	first := (each + 3) / 5
	crawled := sites[:min(frontierClaim, len(sites))]
	costFrontier(b, store, crawled, first, nil, "page", found)
	costFrontier(b, store, crawled, first+frontierEach, indexOf, "indexed-page", found)
	first += 2 * frontierEach

	sites = sites[max(0, len(sites)-(frontierClaims-1)*frontierClaim):]
	rand.Shuffle(len(sites), func(i, j int) { sites[i], sites[j] = sites[j], sites[i] })
	var claims []time.Duration
	for _, site := range sites {
		began := time.Now()
		crawlSite(b, store, site, first, 1, nil, func() { claims = append(claims, time.Since(began)) }, func() {})
	}
	found["claim-p50-ms"], found["claim-p95-ms"] = quantile(claims, 0.5), quantile(claims, 0.95)
	for _, name := range slices.Sorted(maps.Keys(found)) {
		b.Logf("%d domains with %d pages each: %s %.3f", domains, each, name, found[name])
	}
	return found
}

// costFrontier crawls pages of domains, from a page first on, as fast as the database takes
// them, and adds what one costs to what was found, under a name.
func costFrontier(
	b *testing.B, store *db.Store, sites []int, first int, index func(*rand.Rand) *crawl.Index, name string, found map[string]float64,
) {
	b.Helper()
	before, began := costs(b, store), time.Now()
	var group errgroup.Group
	group.SetLimit(200)
	for _, site := range sites {
		group.Go(func() error {
			crawlSite(b, store, site, first, frontierEach, index, func() {}, func() {})
			return nil
		})
	}
	require.NoError(b, group.Wait())
	took, after, pages := time.Since(began), costs(b, store), float64(len(sites)*frontierEach)
	found[name+"-ms"] = millis(took) / pages
	found[name+"-postgres-ms"] = millis(after.cpu-before.cpu) / pages
	found[name+"-wal-B"] = float64(after.wal-before.wal) / pages
}

// dispatchFrontier does what one look of the dispatcher asks of the database.
func dispatchFrontier(b *testing.B, store *db.Store, runID int64) ([]string, time.Duration) {
	b.Helper()
	began := time.Now()
	_, err := store.Activity(b.Context(), runID)
	require.NoError(b, err)
	counted := time.Now()
	claimed, err := store.ClaimDomains(b.Context(), runID, frontierClaim)
	require.NoError(b, err)
	took := time.Since(counted)
	require.NoError(b, store.CrowdRun(b.Context(), runID, true))
	_, _, err = store.NextDue(b.Context(), runID)
	require.NoError(b, err)
	all := time.Since(began)
	b.Logf("%d domains claimed: %s, with what a look does beside %s", len(claimed), took, all)
	return claimed, all
}

// fillFrontier stores domains with pages that are pending, as seeds_add and links_find do:
// those of a domain lie apart, as they are found, and no order of domains is that of
// their priorities.
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
	exec("SET maintenance_work_mem = '512MB'")
	exec("SET synchronous_commit = off")
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
