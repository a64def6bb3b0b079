package db_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/crawl/urls"
)

func TestAddSeeds(t *testing.T) {
	t.Parallel()
	add := func(t *testing.T, b *bundle, urls ...string) int {
		t.Helper()
		n, err := b.AddSeeds(t.Context(), b.run.ID, parse(t, urls...))
		require.NoError(t, err)
		return n
	}

	t.Run("StoresEachOnce", func(t *testing.T) {
		t.Parallel()
		b := setupRun(t, "once", settings.Settings{})
		require.Equal(t, 2, add(t, b, "https://once.example/", "https://once.example/", "http://once.example/"))
		require.Equal(t, 1, add(t, b, "https://once.example/", "https://once.example/new"))
		require.Zero(t, add(t, b))
		require.Equal(t, []string{"http://once.example/", "https://once.example/", "https://once.example/new"}, b.crawls(t))
		b.fetch(t, "once.example")
		require.Zero(t, add(t, b, "http://once.example/", "https://once.example/"), "fetched or not")
		page := b.page(t, "https://once.example/")
		require.Zero(t, page.Crawls[0].Depth)
		d := b.domain(t, "once.example")
		require.Equal(t, crawl.DomainActive, d.Status)
		require.True(t, d.Runs[0].Seed)
	})

	t.Run("CountsOneOfManyAtOnce", func(t *testing.T) {
		t.Parallel()
		b := setupRun(t, "many", settings.Settings{})
		const pages, callers = 40, 6
		seeds := make([][]urls.URL, callers)
		for c := range callers {
			for i := range pages {
				j := (i*7 + c*5) % pages // each in another order
				seeds[c] = append(seeds[c], parse(t, fmt.Sprintf("https://many%d.example/%d", j%9, j))...)
			}
		}
		var added atomic.Int64
		together(t, callers, func(c int) error {
			n, err := b.AddSeeds(t.Context(), b.run.ID, seeds[c])
			added.Add(int64(n))
			return err
		})
		require.EqualValues(t, pages, added.Load())
		require.Len(t, b.crawls(t), pages)
	})

	t.Run("MakesAFoundDomainASeed", func(t *testing.T) {
		t.Parallel()
		b := setupRun(t, "found", settings.Settings{Scope: new(settings.ScopeWeb)})
		add(t, b, "https://finder.example/")
		b.fetch(t, "finder.example", "https://found.example/")
		require.False(t, b.domain(t, "found.example").Runs[0].Seed)
		require.Equal(t, 1, add(t, b, "https://found.example/", "https://found.example/2"))
		require.True(t, b.domain(t, "found.example").Runs[0].Seed)
	})

	t.Run("RevivesADomain", func(t *testing.T) {
		t.Parallel()
		b := setupRun(t, "revive", settings.Settings{})
		for _, status := range []string{"blocked", "exhausted", "unreachable"} {
			domain := status + ".revive.example"
			add(t, b, "https://"+domain+"/")
			b.exec(t, "UPDATE domains SET status = 'active' WHERE domain = $1", domain)
			b.exec(t, "UPDATE domains SET status = $2::domain_status, status_reason = 'for some reason' WHERE domain = $1", domain, status)
			if status == "exhausted" {
				add(t, b, "https://"+domain+"/again") // nothing of it is pending
			}
			add(t, b, "https://"+domain+"/")
			d := b.domain(t, domain)
			require.Equal(t, crawl.DomainPending, d.Status, status)
			require.Empty(t, d.Reason)
		}
	})

	t.Run("DoesNotReviveAnotherRunsTask", func(t *testing.T) {
		t.Parallel()
		b := setupRun(t, "link", settings.Settings{Scope: new(settings.ScopeWeb)})
		add(t, b, "https://linker.example/", "https://stopped.example/")
		b.stop(t, "stopped.example", "asked to")
		b.fetch(t, "linker.example", "https://stopped.example/found")
		require.Equal(t, crawl.DomainBlocked, b.domain(t, "stopped.example").Status, "a link is nobody's decision")
	})
}

func TestStagedSeeds(t *testing.T) {
	t.Parallel()
	b := setup(t, settings.Settings{})
	other := b.in(t, "other", settings.Settings{})
	staged := func(t *testing.T, run *bundle, most int) ([]string, int64) {
		t.Helper()
		seeds, err := b.StagedSeeds(t.Context(), run.run.ID, most)
		require.NoError(t, err)
		var raw []string
		var last int64
		for _, s := range seeds {
			raw, last = append(raw, s.URL), s.ID
		}
		return raw, last
	}
	require.NoError(t, b.StageSeeds(t.Context(), b.run.ID, []string{"z", "not a URL", "z"}))
	require.NoError(t, b.StageSeeds(t.Context(), other.run.ID, []string{"other"}))
	require.NoError(t, b.StageSeeds(t.Context(), b.run.ID, []string{"a"}))
	require.NoError(t, b.StageSeeds(t.Context(), b.run.ID, nil))

	first, last := staged(t, b, 2)
	require.Equal(t, []string{"z", "not a URL"}, first, "in the order they came, as they came")
	require.NoError(t, b.UnstageSeeds(t.Context(), b.run.ID, last))
	rest, last := staged(t, b, 10)
	require.Equal(t, []string{"z", "a"}, rest)
	require.NoError(t, b.UnstageSeeds(t.Context(), b.run.ID, last))
	rest, _ = staged(t, b, 10)
	require.Empty(t, rest)
	others, _ := staged(t, other, 10)
	require.Equal(t, []string{"other"}, others)
}
