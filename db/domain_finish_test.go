package db_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/decide"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/crawl/settings"
)

func TestFinishDomain(t *testing.T) {
	t.Parallel()
	// claimed is a run whose one domain is claimed, and its page fetched.
	claimed := func(t *testing.T, domain string, found ...string) *bundle {
		t.Helper()
		b := setupRun(t, domain, settings.Settings{})
		b.seed(t, "https://"+domain+"/")
		require.Equal(t, []string{domain}, b.claim(t, 10))
		b.fetch(t, domain, found...)
		return b
	}

	t.Run("ExhaustsADomainWithoutWork", func(t *testing.T) {
		t.Parallel()
		const domain = "exhausted.example"
		b := claimed(t, domain)
		require.True(t, b.end(t, domain, ""))
		d := b.domain(t, domain)
		require.Equal(t, crawl.DomainExhausted, d.Status)
		require.Empty(t, d.Claimed)
		require.Zero(t, d.ClaimEnd)
		require.Zero(t, d.DeferredUntil)
		require.True(t, b.end(t, domain, ""), "again")
		require.Equal(t, crawl.DomainExhausted, b.domain(t, domain).Status)
	})

	t.Run("IsRefusedWhileSomethingIsDue", func(t *testing.T) {
		t.Parallel()
		const domain = "due.example"
		b := claimed(t, domain, "https://due.example/2")
		before := b.domain(t, domain)
		require.False(t, b.end(t, domain, "no"))
		require.Equal(t, before, b.domain(t, domain))
	})

	t.Run("IsRefusedWhileARequestIsInFlight", func(t *testing.T) {
		t.Parallel()
		const domain = "flight.example"
		b := claimed(t, domain, "https://flight.example/2")
		b.ensureRun(t, domain, settings.Settings{MaxPages: new(int64(2))})
		b.begin(t, domain) // and the budget is spent
		require.False(t, b.end(t, domain, ""))
		require.NotEmpty(t, b.domain(t, domain).Claimed)
	})

	t.Run("LeavesARunThatGoesOnMeanwhileDue", func(t *testing.T) {
		t.Parallel()
		const domain = "resumed.example"
		b := claimed(t, domain, "https://resumed.example/2")
		_, err := b.StopRun(t.Context(), b.run.ID, "Ctrl-C")
		require.NoError(t, err)
		finished, err := b.FinishDomain(t.Context(), domain, func(f crawl.Facts) (crawl.Finish, bool) {
			require.Empty(t, f.Runs)
			require.NoError(t, b.StartRun(t.Context(), b.run.ID))
			return decide.End(decide.Facts{Facts: f}, "")
		})
		require.NoError(t, err)
		require.True(t, finished)
		require.Equal(t, []string{domain}, b.claim(t, 10), "the decision was made without it")
	})

	t.Run("LeavesWorkForLaterPending", func(t *testing.T) {
		t.Parallel()
		const domain = "later.example"
		b := claimed(t, domain, "https://later.example/2")
		b.exec(t, "UPDATE page_crawls SET scheduled_for = now() + interval '1 hour' WHERE url = 'https://later.example/2'")
		require.True(t, b.end(t, domain, ""))
		require.Equal(t, crawl.DomainPending, b.domain(t, domain).Status)
		require.Empty(t, b.claim(t, 10))
		b.makeDue(t)
		require.Equal(t, []string{domain}, b.claim(t, 10))
	})

	t.Run("DefersWhateverIsDue", func(t *testing.T) {
		t.Parallel()
		const domain = "away.example"
		b := claimed(t, domain, "https://away.example/2")
		before := b.clock(t)
		b.deferred(t, domain, 2*time.Hour, "Retry-After")
		d := b.domain(t, domain)
		require.Equal(t, crawl.DomainPending, d.Status)
		require.Equal(t, "Retry-After", d.Reason)
		require.WithinRange(t, d.DeferredUntil, before.Add(2*time.Hour), b.clock(t).Add(2*time.Hour))
		detail, err := b.Detail(t.Context(), b.run.ID, 9)
		require.NoError(t, err)
		require.Equal(t, []report.Obstacle{{
			Name: domain, Domain: domain, State: report.ObstacleDeferred, Reason: "Retry-After", Until: d.DeferredUntil,
		}}, detail.Obstacles)
		require.Zero(t, b.progress(t).Active)
	})

	t.Run("KeepsABlockedDomainBlocked", func(t *testing.T) {
		t.Parallel()
		const domain = "blocked.example"
		b := claimed(t, domain, "https://blocked.example/2")
		b.stop(t, domain, "asked to")
		require.True(t, b.end(t, domain, "done"))
		d := b.domain(t, domain)
		require.Equal(t, crawl.DomainBlocked, d.Status)
		require.Equal(t, "asked to", d.Reason)
		require.Empty(t, d.Claimed)
	})

	t.Run("KnowsNothingOfAnUnknownDomain", func(t *testing.T) {
		t.Parallel()
		require.True(t, setup(t, settings.Settings{}).end(t, "unknown.example", ""))
	})
}

// TestNoWorkIsLost races the end of a domain with the arrival of work for it,
// both ways, at the moment when neither can see the other.
//
//nolint:paralleltest,tparallel // one domain's story
func TestNoWorkIsLost(t *testing.T) {
	t.Parallel()
	b := setup(t, settings.Settings{Scope: new(settings.ScopeWeb)})
	b.seed(t, "https://a.example/")
	require.Equal(t, []string{domainA}, b.claim(t, 10))
	b.fetch(t, domainA)
	finder := func(t *testing.T, domain, found string) crawl.Attempt {
		t.Helper()
		b.seed(t, "https://"+domain+"/")
		require.Equal(t, []string{domain}, b.claim(t, 10))
		return attempted(b.begin(t, domain), domain, links(t, found)...)
	}
	seed := func(url string) string {
		return fmt.Sprintf(`SELECT seeds_add(%d, 'urls', '[{"url": %q, "domain": "a.example", "origin": "https://a.example"}]')`, b.run.ID, url)
	}

	t.Run("FinishingBeforeSeeding", func(t *testing.T) {
		b.raceWith(t, finishing(t), func() error {
			_, err := b.AddSeeds(t.Context(), b.run.ID, parse(t, "https://a.example/1"))
			return err
		})
		require.Equal(t, []string{domainA}, b.claim(t, 10), "the domain is due again")
	})

	t.Run("SeedingBeforeFinishing", func(t *testing.T) {
		b.fetch(t, domainA)
		b.race(t, seed("https://a.example/2"), func() error {
			_, err := b.FinishDomain(t.Context(), domainA, ends(""))
			return err
		})
		require.True(t, b.domain(t, domainA).Claimed != "" || len(b.claim(t, 10)) == 1)
	})

	t.Run("FinishingBeforeALinkIsFound", func(t *testing.T) {
		b.fetch(t, domainA)
		found := finder(t, "f1.example", "https://a.example/3")
		b.raceWith(t, finishing(t), func() error {
			_, err := b.Record(t.Context(), found)
			return err
		})
		require.Equal(t, []string{domainA}, b.claim(t, 10))
	})

	t.Run("AtAnyMoment", func(t *testing.T) {
		b.fetch(t, domainA)
		for i := range 20 {
			found := finder(t, fmt.Sprintf("any%d.example", i), fmt.Sprintf("https://a.example/any%d", i))
			together(t, 2, func(n int) error {
				if n == 0 {
					_, err := b.FinishDomain(t.Context(), domainA, ends(""))
					return err
				}
				_, err := b.Record(t.Context(), found)
				return err
			})
			if b.domain(t, domainA).Claimed == "" {
				require.Equal(t, []string{domainA}, b.claim(t, 10))
			}
			b.fetch(t, domainA)
		}
	})
}
