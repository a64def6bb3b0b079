package main

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/metrics"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/cmd/mosey/command"
	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/internal/export"
	"github.com/mosey-web/mosey/test/dbtest"
)

var benchLinks = flag.Int("export.links", 100_000, "how many `links` BenchmarkExport exports; there is a page for every twenty")

// BenchmarkExport exports all pages and links in each format, and reports how many rows a
// second that was, how many bytes a row has and how large the heap was at the most:
//
//	go test ./cmd/mosey -run '^$' -bench Export -benchtime 1x -timeout 3h -export.links 10000000
func BenchmarkExport(b *testing.B) {
	url := dbtest.URL(b)
	store, err := db.OpenOwner(b.Context(), url)
	require.NoError(b, err)
	b.Cleanup(store.Close)
	storeLinks(b, store, *benchLinks)
	for _, kind := range []export.Table{export.Links, export.Pages} {
		for _, format := range export.Formats() {
			b.Run(string(kind)+"/"+string(format), func(b *testing.B) {
				rows, size := 0, 0
				stop := watchHeap(b)
				for b.Loop() {
					var stderr bytes.Buffer
					file := filepath.Join(b.TempDir(), "rows."+string(format))
					code := run(b.Context(), []string{"export", string(kind), "--out", file}, &command.Env{
						Stdout: &stderr, Stderr: &stderr, Environ: []string{"DATABASE_URL=" + url},
					})
					require.Zero(b, code, "%s", &stderr)
					found := regexp.MustCompile(`(?m)^(\d+) \w+ in 1 file`).FindStringSubmatch(stderr.String())
					require.NotNil(b, found, "%s", &stderr)
					n, err := strconv.Atoi(found[1])
					require.NoError(b, err)
					info, err := os.Stat(file)
					require.NoError(b, err)
					rows, size = rows+n, size+int(info.Size())
				}
				stop()
				b.ReportMetric(float64(rows)/b.Elapsed().Seconds(), "rows/s")
				b.ReportMetric(float64(size)/float64(rows), "B/row")
			})
		}
	}
}

// watchHeap reports the largest heap until it is told to stop.
func watchHeap(b *testing.B) (stop func()) {
	b.Helper()
	runtime.GC()
	done, ended := make(chan struct{}), make(chan uint64)
	go func() {
		sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		most := uint64(0)
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			metrics.Read(sample)
			most = max(most, sample[0].Value.Uint64())
			select {
			case <-done:
				ended <- most
				return
			case <-tick.C:
			}
		}
	}()
	return func() {
		close(done)
		b.ReportMetric(float64(<-ended)/1e6, "peak-heap-MB")
	}
}
