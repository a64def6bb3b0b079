package bench_test

import (
	"context"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/internal/extract"
	"github.com/mosey-web/mosey/internal/fetch"
	"github.com/mosey-web/mosey/manners/web"
)

// yardstick is how fast the machine is just before a measurement, without Mosey: a
// figure of another day is compared after both were divided by theirs.
type yardstick struct {
	commits float64 // rows a second inserted into Postgres, a transaction each
	rows    float64 // the same in one transaction
	pages   float64 // pages a second fetched and parsed, one after the other
}

// yardstickFor is how long each figure of a yardstick is measured.
const yardstickFor = time.Second

func measureYardstick(b *testing.B, r *rig) yardstick {
	b.Helper()
	return yardstick{commits: r.insertRate(b, true), rows: r.insertRate(b, false), pages: parseRate(b)}
}

func (y yardstick) report(b *testing.B) {
	b.Helper()
	b.ReportMetric(y.commits, "yardstick-commits/s")
	b.ReportMetric(y.rows, "yardstick-rows/s")
	b.ReportMetric(y.pages, "yardstick-pages/s")
}

func (y yardstick) String() string {
	return fmt.Sprintf("yardstick: %.0f rows/s inserted with a commit each, %.0f without, %.0f pages/s fetched and parsed",
		y.commits, y.rows, y.pages)
}

// insertRate is how many rows a second one connection inserts, one a statement.
func (r *rig) insertRate(b *testing.B, commitEach bool) float64 {
	b.Helper()
	conn := r.connect(b)
	defer closeConn(b, conn)
	_, err := conn.Exec(b.Context(), `CREATE TABLE yardstick (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, url text)`)
	require.NoError(b, err)
	defer func() {
		_, err := conn.Exec(b.Context(), `DROP TABLE yardstick`)
		require.NoError(b, err)
	}()
	type execer interface {
		Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	}
	var on execer = conn
	if !commitEach {
		tx, err := conn.Begin(b.Context())
		require.NoError(b, err)
		defer func() { require.NoError(b, tx.Commit(b.Context())) }()
		on = tx
	}
	return rate(func() {
		_, err := on.Exec(b.Context(), `INSERT INTO yardstick (url) VALUES ($1)`, "https://example.org/some/page.html")
		require.NoError(b, err)
	})
}

// parseRate is how many pages a second one goroutine fetches and parses, as a worker
// does it. The site is in this process and takes part of the time.
func parseRate(b *testing.B) float64 {
	b.Helper()
	const pages = 100
	w, err := web.Start(b.Context(), web.Options{Sites: web.Uniform(1, web.Site{Plain: true, Pages: pages})})
	require.NoError(b, err)
	defer func() { require.NoError(b, w.Close()) }()
	client, err := fetch.New(fetch.Config{UserAgent: "yardstick/1", AllowNetworks: []netip.Prefix{w.Network()}})
	require.NoError(b, err)
	addr, _ := w.Addr(w.Hosts()[0])
	n := 0
	return rate(func() {
		n++
		at, err := urls.ParseSeed(w.URL(w.Hosts()[0], fmt.Sprintf("/p/%d", 1+n%pages)))
		require.NoError(b, err)
		resp, err := client.Do(b.Context(), fetch.Request{Addr: addr, URL: at.String()})
		require.NoError(b, err)
		defer resp.Release()
		text, _, err := fetch.ToUTF8(resp.Body, resp.ContentType)
		require.NoError(b, err)
		page, err := extract.HTML(text, urls.Spelt{URL: at}, extract.Limits{})
		require.NoError(b, err)
		require.NotEmpty(b, page.Links)
	})
}

// rate is how often a second something is done, over yardstickFor.
func rate(do func()) float64 {
	began := time.Now()
	for n := 1.0; ; n++ {
		do()
		if took := time.Since(began); took >= yardstickFor {
			return n / took.Seconds()
		}
	}
}
