package plans

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/internal/serve"
)

// sizeOf is how many there are to be, as the environment says.
func sizeOf(b *testing.B, name string, usual int) int {
	b.Helper()
	text := os.Getenv(name)
	if text == "" {
		return usual
	}
	n, err := strconv.Atoi(text)
	require.NoError(b, err, name)
	return n
}

// BenchmarkServe is how long each page of the web page takes, over so many pages
// (MOSEY_BENCH_PAGES) and domains (MOSEY_BENCH_DOMAINS). It fails if one is not shown.
func BenchmarkServe(b *testing.B) {
	d := newDatabase(b, sizeOf(b, "MOSEY_BENCH_PAGES", manyPages), sizeOf(b, "MOSEY_BENCH_DOMAINS", manySites))
	d.exec(b, "ANALYZE")
	store, err := db.OpenPages(b.Context(), d.config.ConnString())
	require.NoError(b, err)
	b.Cleanup(store.Close)
	counts, err := db.OpenCounts(b.Context(), d.config.ConnString())
	require.NoError(b, err)
	b.Cleanup(counts.Close)
	s, err := serve.New(serve.Config{Store: store, Counts: counts, TimedOut: db.TimedOut, Logger: slog.New(slog.NewTextHandler(os.Stderr, nil))})
	require.NoError(b, err)
	handler, err := s.Handler()
	require.NoError(b, err)
	for _, path := range []string{
		"/", "/?span=30d", "/runs/run-1", "/runs/run-3", "/runs/run-1?span=30d",
		"/domains", "/domains?sort=name", "/domains?sort=errors", "/domains?status=active", "/domains?lang=en&due=1&errors=10",
		"/domains/site-0.example", "/domains/site-500.example",
		"/url?u=https://site-0.example/", "/images", "/live", "/robots?u=https://site-0.example/section-1/page-1",
	} {
		ask := func() *httptest.ResponseRecorder {
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, httptest.NewRequestWithContext(b.Context(), http.MethodGet, "http://localhost"+path, nil))
			return w
		}
		for strings.Contains(ask().Body.String(), "being counted") { // for the first time, in the background
			time.Sleep(time.Second)
		}
		b.Run(path, func(b *testing.B) {
			var took []time.Duration
			for b.Loop() {
				began := time.Now()
				w := ask()
				took = append(took, time.Since(began))
				require.Equal(b, http.StatusOK, w.Code, w.Body)
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)*95/100].Microseconds())/1000, "p95-ms")
		})
	}
}
