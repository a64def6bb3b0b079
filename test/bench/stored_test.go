package bench_test

import (
	_ "embed"
	"encoding/json"
	"flag"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/test/dbtest"
)

var storedPages = flag.Int("stored", 100_000, "`pages` that are stored before BenchmarkStored crawls")

// BenchmarkStored compares a crawl on an empty database with one on a database in which
// another crawl of the same hosts has left a great many pages.
func BenchmarkStored(b *testing.B) {
	bin := binaries(b)
	s := scenario{
		domains: 2000, delay: 100 * time.Millisecond, pages: 50, onward: true, links: typicalLinks, apart: true,
		warmUp: manyWarmUp,
	}
	empty := 0.0
	b.Run("empty/"+s.String(), func(b *testing.B) {
		for b.Loop() {
			empty = s.measure(b, bin).rate()
		}
	})
	s.stored = *storedPages
	b.Run(s.String(), func(b *testing.B) {
		for b.Loop() {
			rate := s.measure(b, bin).rate()
			if empty > 0 { // it was not left out by -bench
				b.ReportMetric(100*rate/empty, "of-empty-%")
			}
		}
	})
}

// storedSQL is all that knows of the tables here.
//
//go:embed stored.sql
var storedSQL string

// store leaves as many pages as a crawl of the web would, on its hosts.
func (r *rig) store(b *testing.B, pages int) {
	b.Helper()
	if pages == 0 {
		return
	}
	conn := r.connect(b)
	defer closeConn(b, conn)
	began := time.Now()
	leave(b, conn, r.web.Hosts(), r.web.Port(), pages)
	for _, sql := range []string{`VACUUM ANALYZE`, `CHECKPOINT`} {
		_, err := conn.Exec(b.Context(), sql)
		require.NoError(b, err)
	}
	var size string
	require.NoError(b, conn.QueryRow(b.Context(), `SELECT pg_size_pretty(pg_database_size(current_database()))`).Scan(&size))
	b.Logf("%d pages stored in %s: %s", pages, time.Since(began).Round(time.Second), size)
}

// leave has stored.sql store pages, as many on each host.
func leave(t testing.TB, conn *pgx.Conn, hosts []string, port, pages int) {
	t.Helper()
	settings, err := json.Marshal(settings.Settings{}.WithDefaults())
	require.NoError(t, err)
	for name, value := range map[string]string{
		"stored.hosts":             strings.Join(hosts, " "),
		"stored.port":              strconv.Itoa(port),
		"stored.each":              strconv.Itoa(max(pages/len(hosts), 1)),
		"stored.settings":          string(settings),
		"session_replication_role": "replica", // no triggers
		"synchronous_commit":       "off",
	} {
		_, err := conn.Exec(t.Context(), `SELECT set_config($1, $2, false)`, name, value)
		require.NoError(t, err)
	}
	_, err = conn.Exec(t.Context(), storedSQL)
	require.NoError(t, err)
}

// TestStoredPagesAreThoseOfACrawl shows that stored.sql keeps the rules of the tables,
// which are not checked while it runs.
func TestStoredPagesAreThoseOfACrawl(t *testing.T) {
	t.Parallel()
	conn, err := pgx.Connect(t.Context(), dbtest.URL(t))
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close(t.Context())) }()
	leave(t, conn, []string{"one.test", "two.test", "three.test"}, 8080, 300)
	for _, c := range []struct {
		name, sql string
		want      int
	}{
		{"Pages", `SELECT count(*) FROM pages WHERE status = 'fetched' AND url ~ '^http://(one|two|three).test:8080/old/'`, 300},
		{"CrawlsOfPages", `SELECT count(*) FROM page_crawls c JOIN pages p ON (p.id, p.url, p.domain) = (c.page_id, c.url, c.domain)`, 303},
		{"Pending", `SELECT count(*) FROM page_crawls WHERE outcome IS NULL`, 0},
		{"LinksWithinHosts", `SELECT count(*) FROM page_links l JOIN pages f ON f.id = l.from_page_id
			JOIN pages t ON t.id = l.to_page_id AND t.domain = f.domain AND t.kind = 'page'`, count(t, conn, `SELECT count(*) FROM page_links`)},
		{"UnlinkedPages", `SELECT count(*) FROM pages p WHERE url !~ '/(robots.txt|old/1)$'
			AND NOT EXISTS (SELECT 1 FROM page_links WHERE to_page_id = p.id)`, 0},
		{"ExpiredRobots", `SELECT count(*) FROM robots JOIN robots_history USING (origin, version) JOIN robots_contents t ON t.hash = robots.rules_hash
			JOIN robots_contents b ON b.hash = robots.body_hash WHERE robots.expires_at < now()`, 3},
	} {
		require.Equal(t, c.want, count(t, conn, c.sql), c.name)
	}

	var next int64
	require.NoError(t, conn.QueryRow(t.Context(), `INSERT INTO pages (url, domain, origin)
		VALUES ('http://one.test:8080/', 'one.test', 'http://one.test:8080') RETURNING id`).Scan(&next))
	require.EqualValues(t, 304, next, "ids go on where the stored ones end")
}

func count(t *testing.T, conn *pgx.Conn, sql string) (n int) {
	t.Helper()
	require.NoError(t, conn.QueryRow(t.Context(), sql).Scan(&n))
	return n
}
