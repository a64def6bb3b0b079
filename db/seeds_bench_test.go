package db_test

import (
	"flag"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/test/dbtest"
)

var (
	benchSeeds   = flag.Int("seeds.domains", 100_000, "how many domains BenchmarkAddSeeds stores")
	benchChunk   = flag.Int("seeds.chunk", 500, "how many of them at once")
	benchWriters = flag.Int("seeds.writers", 2, "by how many connections")
)

// BenchmarkAddSeeds stores a front page each of many domains that are not known yet, as
// a list of sites has them.
func BenchmarkAddSeeds(b *testing.B) {
	for range b.N {
		b.StopTimer()
		store := dbtest.New(b)
		run, err := store.EnsureRun(b.Context(), "bench", "test", settings.Settings{})
		require.NoError(b, err)
		b.StartTimer()
		group, ctx := errgroup.WithContext(b.Context())
		group.SetLimit(*benchWriters)
		for first := 0; first < *benchSeeds; first += *benchChunk {
			var seeds []urls.URL
			for i := range min(*benchChunk, *benchSeeds-first) {
				// in no order of the alphabet, as sites by their rank are
				seeds = append(seeds, parse(b, fmt.Sprintf("https://s%x.example/", uint32(first+i)*2_654_435_761))...)
			}
			group.Go(func() error {
				_, err := store.AddSeeds(ctx, run.ID, seeds)
				return err
			})
		}
		require.NoError(b, group.Wait())
		b.StopTimer()
	}
	b.ReportMetric(float64(*benchSeeds*b.N)/b.Elapsed().Seconds(), "seeds/s")
}
