package db_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/internal/terms"
	"github.com/mosey-web/mosey/test/dbtest"
)

// BenchmarkRecord has 200 domains begin and record pages as fast as the database takes
// them. A page has eleven links, five of them new. It prints what a page costs: the CPU
// time of all of Postgres, and the bytes of its database and of its log.
func BenchmarkRecord(b *testing.B) { benchmarkRecord(b, nil) }

// BenchmarkRecordIndexed is BenchmarkRecord of pages that are found by 900 words, as
// frequent as those of a language. It also prints how fast the last tenth of the pages
// was recorded, as a share of the first: -benchtime 200000x reports whether the index
// keeps up.
func BenchmarkRecordIndexed(b *testing.B) { benchmarkRecord(b, indexOf) }

// indexOf returns the search terms of a page: 900 words with the frequencies of a language.
func indexOf(rng *rand.Rand) *crawl.Index {
	return terms.Index(terms.Page{Language: "en", Title: zipfWords(rng, 6), Headings: zipfWords(rng, 20), Text: zipfWords(rng, 900)})
}

// zipfWords returns n words distributed by Zipf's law.
func zipfWords(rng *rand.Rand, n int) string {
	zipf := rand.NewZipf(rng, 1.05, 100, 300_000)
	var text strings.Builder
	for range n {
		text.WriteString("w" + strconv.FormatUint(zipf.Uint64(), 36) + "ing ")
	}
	return text.String()
}

func benchmarkRecord(b *testing.B, index func(*rand.Rand) *crawl.Index) {
	b.Helper()
	const domains = 200
	store := dbtest.New(b)
	ctx := b.Context()
	run, err := store.EnsureRun(ctx, "bench", "test", settings.Settings{Delay: new(settings.Duration(0)), IPDelay: new(settings.Duration(0))})
	require.NoError(b, err)
	for i := range domains {
		_, err := store.AddSeeds(ctx, run.ID, parse(b, siteURL(i, 0)))
		require.NoError(b, err)
	}
	_, err = store.ClaimDomains(ctx, run.ID, domains)
	require.NoError(b, err)
	n := recordPages(b, store, domains, max(b.N/domains, 1), index)
	b.ReportMetric(0, "ns/op")
	logTables(b, store, n)
}

// recordPages has domains that are claimed crawl so many pages each, and reports what a page
// costs. It returns how many pages that were.
func recordPages(b *testing.B, store *db.Store, domains, pages int, index func(*rand.Rand) *crawl.Index) float64 {
	b.Helper()
	before := costs(b, store)
	b.ResetTimer()
	var all sync.WaitGroup
	tenths, done, start := [10]time.Duration{}, atomic.Int64{}, time.Now()
	recorded := func() {
		if n := done.Add(1); n*10%int64(pages*domains) == 0 {
			tenths[n*10/int64(pages*domains)-1] = time.Since(start)
		}
	}
	for i := range domains {
		all.Go(func() { crawlSite(b, store, i, 0, pages, index, func() {}, recorded) })
	}
	all.Wait()
	b.StopTimer()
	took := time.Since(start)
	after, n := costs(b, store), float64(pages*domains)
	b.ReportMetric(n/took.Seconds(), "pages/s")
	if first, last := tenths[0], tenths[9]-tenths[8]; first > 0 && last > 0 {
		b.ReportMetric(100*float64(first)/float64(last), "last-of-first-%")
	}
	b.ReportMetric((after.cpu-before.cpu).Seconds()*1000/n, "postgres-ms/page")
	b.ReportMetric(float64(after.wal-before.wal)/n, "wal-B/page")
	b.ReportMetric(float64(after.size-before.size)/n, "db-B/page")
	return n
}

// logTables logs what a page takes of each table: its rows, what is stored apart from
// them, and its indexes.
func logTables(b *testing.B, store *db.Store, pages float64) {
	b.Helper()
	rows, err := store.Pool().Query(b.Context(), `
		SELECT relname, pg_relation_size(oid), pg_table_size(oid) - pg_relation_size(oid), pg_indexes_size(oid)
		FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r' AND pg_total_relation_size(oid) > 1000000
		ORDER BY pg_total_relation_size(oid) DESC`)
	require.NoError(b, err)
	defer rows.Close()
	for rows.Next() {
		var name string
		var own, apart, indexes int64
		require.NoError(b, rows.Scan(&name, &own, &apart, &indexes))
		b.Logf("%s: %.0f bytes a page, %.0f apart, %.0f of indexes", name, float64(own)/pages, float64(apart)/pages, float64(indexes)/pages)
	}
	require.NoError(b, rows.Err())
}

func siteURL(site, page int) string {
	return fmt.Sprintf("https://site-%03d.example/manual/chapter-%d/section.html", site, page)
}

// crawlSite crawls so many pages of a site, from its page first on. Each links to the five
// before it, to the front page and to five that are new. begun and recorded are called
// once a page is.
func crawlSite(
	b *testing.B, store *db.Store, site, first, pages int, index func(*rand.Rand) *crawl.Index, begun, recorded func(),
) {
	b.Helper()
	rng := rand.New(rand.NewPCG(1, uint64(site)))
	domain := fmt.Sprintf("site-%03d.example", site)
	f, err := store.Next(b.Context(), domain)
	for page := first; err == nil && page < first+pages; page++ {
		n := viewOf(f)
		if n.AttemptID == 0 {
			b.Error("nothing is due")
			return
		}
		if _, err = store.Begin(b.Context(), startOf(n, domain, "")); err != nil {
			break
		}
		begun()
		at := attempted(n, domain, siteLinks(b, site, page)...)
		at.ContentType, at.Bytes, at.IP = "text/html; charset=utf-8", 20_000, "192.0.2.1"
		at.Health = &crawl.Health{}
		at.Page.Signals.Title = "Section of chapter " + strconv.Itoa(page)
		at.Page.Visit.Content = crawl.ContentHash{byte(page), byte(page >> 8), byte(site)}
		at.Charge = &crawl.Charge{Patterns: []string{"/manual/chapter-N/section.html"}, Fingerprints: make([]byte, 500)}
		if index != nil {
			at.Index = index(rng)
		}
		var rec crawl.RecordResult
		rec, err = store.Record(b.Context(), at)
		f = rec.Facts
		recorded()
	}
	if err != nil {
		b.Error(err)
	}
}

func siteLinks(b *testing.B, site, page int) []crawl.Link {
	b.Helper()
	var raw []string
	for i := range 6 {
		raw = append(raw, siteURL(site, max(page-i, 0)))
	}
	for i := range 5 {
		raw = append(raw, siteURL(site, 5*page+i+1))
	}
	found := links(b, raw...)
	for i := range found {
		found[i].Patterns = []string{"/manual/chapter-N/section.html"}
	}
	return found
}

// cost is the total resource use of a database.
type cost struct {
	cpu       time.Duration
	wal, size int64
}

func costs(b *testing.B, store *db.Store) (c cost) {
	b.Helper()
	require.NoError(b, store.Pool().QueryRow(b.Context(),
		"SELECT pg_current_wal_lsn() - '0/0', pg_database_size(current_database())").Scan(&c.wal, &c.size))
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	require.NoError(b, err)
	for _, file := range stats {
		data, err := os.ReadFile(file)
		if err != nil || !bytes.Contains(data, []byte("(postgres)")) {
			continue // it has ended, or is another program
		}
		cwd, err := os.Readlink(filepath.Join(filepath.Dir(file), "cwd"))
		if err != nil || !strings.Contains(cwd, "mosey-dbtest-") {
			continue
		}
		fields := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
		for _, i := range []int{11, 12} { // utime and stime, in hundredths of a second
			ticks, err := strconv.Atoi(fields[i])
			require.NoError(b, err)
			c.cpu += time.Duration(ticks) * 10 * time.Millisecond
		}
	}
	return c
}
