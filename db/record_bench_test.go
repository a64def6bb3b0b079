package db_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/db/dbtest"
)

// BenchmarkRecord has 200 domains begin and record pages as fast as the database takes
// them. A page has eleven links, five of them new. It prints what a page costs: the CPU
// time of all of Postgres, and the bytes of its database and of its log.
func BenchmarkRecord(b *testing.B) {
	const domains = 200
	store := dbtest.New(b)
	ctx := b.Context()
	run, err := store.EnsureRun(ctx, "bench", crawl.Settings{Delay: new(crawl.Duration(0)), IPDelay: new(crawl.Duration(0))})
	require.NoError(b, err)
	for i := range domains {
		_, err := store.AddSeeds(ctx, run.ID, parse(b, siteURL(i, 0)))
		require.NoError(b, err)
	}
	_, err = store.ClaimDomains(ctx, run.ID, domains)
	require.NoError(b, err)
	before := costs(b, store)
	b.ResetTimer()
	var all sync.WaitGroup
	pages := max(b.N/domains, 1)
	for i := range domains {
		all.Go(func() { crawlSite(b, store, i, pages) })
	}
	all.Wait()
	b.StopTimer()
	after, n := costs(b, store), float64(pages*domains)
	b.ReportMetric(n/b.Elapsed().Seconds(), "pages/s")
	b.ReportMetric((after.cpu-before.cpu).Seconds()*1000/n, "postgres-ms/page")
	b.ReportMetric(float64(after.wal-before.wal)/n, "wal-B/page")
	b.ReportMetric(float64(after.size-before.size)/n, "db-B/page")
	b.ReportMetric(0, "ns/op")
}

func siteURL(site, page int) string {
	return fmt.Sprintf("https://site-%03d.example/manual/chapter-%d/section.html", site, page)
}

// crawlSite crawls the first pages of a site. Each links to the five before it, to the
// front page and to five that are new.
func crawlSite(b *testing.B, store *db.Store, site, pages int) {
	b.Helper()
	domain := fmt.Sprintf("site-%03d.example", site)
	f, err := store.Next(b.Context(), domain)
	for page := 0; err == nil && page < pages; page++ {
		n := viewOf(f)
		if n.CrawlID == 0 {
			b.Error("nothing is due")
			return
		}
		if _, err = store.Begin(b.Context(), startOf(n, domain, "")); err != nil {
			break
		}
		at := attempted(n, domain, siteLinks(b, site, page)...)
		at.ContentType, at.Bytes, at.IP = "text/html; charset=utf-8", 20_000, "192.0.2.1"
		at.Health = &crawl.Health{}
		at.Page.Signals.Title = "Section of chapter " + strconv.Itoa(page)
		at.Page.Visit.Content = crawl.ContentHash{byte(page), byte(page >> 8), byte(site)}
		at.Charge = &crawl.Charge{Patterns: []string{"/manual/chapter-N/section.html"}, Fingerprints: make([]byte, 500)}
		var rec crawl.Recorded
		rec, err = store.Record(b.Context(), at)
		f = rec.Facts
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

// cost is what a database has used so far.
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
