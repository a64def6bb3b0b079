package rank_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/internal/rank"
)

func graph(links ...[2]string) *rank.Graph {
	g := rank.New()
	for i, l := range links {
		g.Add(l[0], l[1], int64(i))
	}
	return g
}

func TestRank(t *testing.T) {
	t.Parallel()
	t.Run("OfNothing", func(t *testing.T) {
		t.Parallel()
		r := rank.New().Rank()
		require.Empty(t, r.Domains)
		require.Empty(t, r.Pages)
	})
	t.Run("WhoIsLinkedToByMoreIsWorthMore", func(t *testing.T) {
		t.Parallel()
		r := graph([2]string{"a.example", "hub.example"}, [2]string{"b.example", "hub.example"}, [2]string{"c.example", "b.example"}).Rank()
		hub, b, c := r.Domains["hub.example"], r.Domains["b.example"], r.Domains["c.example"]
		require.Equal(t, []int{2, 1, 0}, []int{hub.Domains, b.Domains, c.Domains})
		require.Greater(t, hub.Score, b.Score)
		require.Greater(t, b.Score, c.Score)
		require.Zero(t, c.Score)
	})
	// Of two domains that link to each other both are worth 1/N, and nothing more: the
	// closed form of PageRank.
	t.Run("IsPageRank", func(t *testing.T) {
		t.Parallel()
		r := graph([2]string{"a.example", "b.example"}, [2]string{"b.example", "a.example"}).Rank()
		// 1 is 1/0.15 times as much as the least: log10(1/0.15)/5
		require.InDelta(t, 0.16478, r.Domains["a.example"].Score, 1e-4)
		require.InDelta(t, r.Domains["a.example"].Score, r.Domains["b.example"].Score, 1e-9)
	})
	t.Run("AFarmOfSubdomainsCountsOnce", func(t *testing.T) {
		t.Parallel()
		g := graph([2]string{"honest.example", "a.example"}, [2]string{"other.example", "b.example"})
		for i := range 1000 {
			g.Add(fmt.Sprintf("s%d.other.example", i), "b.example", int64(1000+i%10))
		}
		r := g.Rank()
		require.Equal(t, 1, r.Domains["b.example"].Domains)
		require.InDelta(t, r.Domains["a.example"].Score, r.Domains["b.example"].Score, 1e-9)
		require.Equal(t, 2, r.Links)
	})
	t.Run("HostsOfOneProviderAreStrangers", func(t *testing.T) {
		t.Parallel()
		r := graph([2]string{"a.github.io", "x.example"}, [2]string{"b.github.io", "x.example"}).Rank()
		require.Equal(t, 2, r.Domains["x.example"].Domains)
	})
	t.Run("WhatIsWithinADomainCountsForNothing", func(t *testing.T) {
		t.Parallel()
		r := graph([2]string{"a.example", "www2.a.example"}).Rank()
		require.Zero(t, r.Domains["www2.a.example"])
		require.Empty(t, r.Pages)
	})
	t.Run("OfPages", func(t *testing.T) {
		t.Parallel()
		g := rank.New()
		for _, from := range []string{"a.example", "b.example", "c.example"} {
			g.Add(from, "x.example", 7)
			g.Add(from, "x.example", 7)
		}
		g.Add("a.example", "x.example", 5) // which shares with 7
		g.Add("d.example", "y.example", 9)
		r := g.Rank()
		require.Len(t, r.Pages, 3)
		require.Equal(t, []int64{5, 7, 9}, []int64{r.Pages[0].ID, r.Pages[1].ID, r.Pages[2].ID})
		require.Equal(t, []int{1, 3, 1}, []int{r.Pages[0].Domains, r.Pages[1].Domains, r.Pages[2].Domains})
		require.Greater(t, r.Pages[1].Score, r.Pages[2].Score)
		require.Greater(t, r.Pages[2].Score, r.Pages[0].Score)
	})
	t.Run("IsTheSameEachTime", func(t *testing.T) {
		t.Parallel()
		first, second := random(1000, 10_000).Rank(), random(1000, 10_000).Rank()
		require.Equal(t, first, second)
	})
}

// random is a graph in which few domains are linked to by many.
func random(domains, links int) *rank.Graph {
	r := rand.New(rand.NewPCG(1, 2))
	z := rand.NewZipf(r, 1.2, 10, uint64(domains-1))
	g := rank.New()
	for range links {
		to := z.Uint64()
		g.Add(fmt.Sprintf("d%d.example", r.IntN(domains)), fmt.Sprintf("d%d.example", to), int64(to*100+z.Uint64()%100))
	}
	return g
}

var (
	domains = flag.Int("rank.domains", 100_000, "domains of the benchmark")
	links   = flag.Int("rank.links", 2_000_000, "links of the benchmark")
)

// BenchmarkRank prints what the computation takes, without reading and storing.
func BenchmarkRank(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		g := random(*domains, *links)
		runtime.GC()
		b.StartTimer()
		r := g.Rank()
		b.ReportMetric(float64(r.Rounds), "rounds")
		b.ReportMetric(float64(r.Links), "pairs")
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	b.ReportMetric(float64(m.HeapSys)/1e6, "MB-heap")
}
