package db_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/test/dbtest"
)

// BenchmarkLinkedByAll has eight workers record pages of 10,000 domains, first with
// links to one page, then each with a link to another page. Recording a link does not
// write the page that it leads to, so a page that all link to slows nothing down.
func BenchmarkLinkedByAll(b *testing.B) {
	for name, target := range map[string]string{"one": "https://hub.example/", "each": "https://hub.example/%d"} {
		b.Run(name, func(b *testing.B) {
			for range b.N {
				recordLinksTo(b, target)
			}
		})
	}
}

func recordLinksTo(b *testing.B, target string) {
	b.Helper()
	const domains, workers = 10_000, 8
	b.StopTimer()
	store := dbtest.New(b)
	run, err := store.EnsureRun(b.Context(), "bench", "test", settings.Settings{Scope: new(settings.ScopeWeb), IPDelay: new(settings.Duration(0))})
	require.NoError(b, err)
	var seeds []string
	for i := range domains {
		seeds = append(seeds, fmt.Sprintf("https://d%d.example/", i))
	}
	_, err = store.AddSeeds(b.Context(), run.ID, parse(b, seeds...))
	require.NoError(b, err)
	_, err = store.ClaimDomains(b.Context(), run.ID, domains)
	require.NoError(b, err)
	b.StartTimer()
	var all sync.WaitGroup
	for w := range workers {
		all.Go(func() {
			for i := w; i < domains; i += workers {
				domain := fmt.Sprintf("d%d.example", i)
				to := target
				if to != "https://hub.example/" {
					to = fmt.Sprintf(target, i)
				}
				f, err := store.Next(b.Context(), domain)
				if err == nil {
					n := viewOf(f)
					_, err = store.Begin(b.Context(), startOf(n, domain, ""))
					if err == nil {
						_, err = store.Record(b.Context(), attempted(n, domain, links(b, to)...))
					}
				}
				if err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	b.StopTimer()
	var in int
	require.NoError(b, store.Pool().QueryRow(b.Context(), "SELECT count(*) FROM page_links").Scan(&in))
	require.Equal(b, domains, in)
	b.ReportMetric(float64(domains*b.N)/b.Elapsed().Seconds(), "pages/s")
}
