package db_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/test/wait"
)

func TestClaimDomains(t *testing.T) {
	t.Parallel()

	t.Run("GivesADomainToOneDispatcher", func(t *testing.T) {
		t.Parallel()
		b := setupRun(t, "race", settings.Settings{})
		const domains = 60
		for i := range domains {
			b.seed(t, fmt.Sprintf("https://race%d.example/", i))
		}
		var mu sync.Mutex
		var all []string
		together(t, 6, func(int) error {
			for {
				claimed, err := b.ClaimDomains(t.Context(), b.run.ID, 4)
				if err != nil || len(claimed) == 0 {
					return err
				}
				mu.Lock()
				all = append(all, claimed...)
				mu.Unlock()
			}
		})
		// whoever skips a row that another is just claiming may come back empty-handed
		for claimed := b.claim(t, domains); len(claimed) > 0; claimed = b.claim(t, domains) {
			all = append(all, claimed...)
		}
		require.Len(t, all, domains)
		slices.Sort(all)
		require.Len(t, slices.Compact(all), domains)
	})

	t.Run("TakesFirstWhatWasActive", func(t *testing.T) {
		t.Parallel()
		b := setup(t, settings.Settings{})
		b.seed(t, "https://lost1.example/", "https://lost2.example/", "https://best.example/")
		b.exec(t, "UPDATE run_domains SET priority = CASE domain WHEN 'best.example' THEN 9 ELSE 0 END WHERE run_id = $1", b.run.ID)
		require.Equal(t, []string{"best.example", "lost1.example", "lost2.example"}, b.claim(t, 3))
		b.exec(t, "UPDATE domains SET claim_expires_at = now() - interval '1 s' WHERE domain LIKE 'lost_.example'")
		_, err := b.ReleaseDomains(t.Context(), []string{"best.example"})
		require.NoError(t, err)
		require.Equal(t, []string{"lost1.example", "lost2.example"}, b.claim(t, 2))
		require.Equal(t, []string{"best.example"}, b.claim(t, 2))
	})

	t.Run("DoesNotWaitForAnother", func(t *testing.T) {
		t.Parallel()
		b := setupRun(t, "skip", settings.Settings{})
		b.seed(t, "https://skip1.example/", "https://skip2.example/")
		tx, err := b.Pool().Begin(t.Context())
		require.NoError(t, err)
		defer tx.Rollback(t.Context()) //nolint:errcheck // nothing was changed
		_, err = tx.Exec(t.Context(), "SELECT FROM domains WHERE domain = 'skip1.example' FOR UPDATE")
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		claimed, err := b.ClaimDomains(ctx, b.run.ID, 10)
		require.NoError(t, err)
		require.Equal(t, []string{"skip2.example"}, claimed)
	})

	t.Run("MarksWhatItClaims", func(t *testing.T) {
		t.Parallel()
		b := setupRun(t, "marks", settings.Settings{})
		b.seed(t, "https://marks.example/")
		before := b.clock(t)
		require.Equal(t, []string{"marks.example"}, b.claim(t, 10))
		d := b.domain(t, "marks.example")
		require.Equal(t, crawl.DomainActive, d.Status)
		require.Equal(t, crawl.DomainWorkflowID("marks.example"), d.Claimed)
		require.WithinRange(t, d.ClaimEnd, before.Add(time.Minute), b.clock(t).Add(time.Minute))
		now, err := b.ActivityUpTo(t.Context(), b.run.ID, 0)
		require.NoError(t, err)
		require.Equal(t, crawl.Activity{Active: 1, Busy: 1}, now)
	})

	t.Run("TakesOverAClaimThatRanOut", func(t *testing.T) {
		t.Parallel()
		b := setupRun(t, "expired", settings.Settings{})
		b.seed(t, "https://expired.example/")
		require.NotEmpty(t, b.claim(t, 10))
		require.Empty(t, b.claim(t, 10))
		require.NoError(t, b.RenewClaim(t.Context(), "expired.example", time.Hour))
		require.WithinDuration(t, b.clock(t).Add(time.Hour), b.domain(t, "expired.example").ClaimEnd, time.Minute)
		require.NoError(t, b.RenewClaim(t.Context(), "expired.example", -time.Second))
		var claimed []string
		wait.Until(t, func() bool {
			claimed = b.claim(t, 10)
			return len(claimed) > 0
		}, 10*time.Second, 10*time.Millisecond, "a row that another test has locked is skipped")
		require.Equal(t, []string{"expired.example"}, claimed)
	})

	t.Run("LeavesAloneWhatIsNotToBeCrawled", func(t *testing.T) {
		t.Parallel()
		b := setupRun(t, "alone", settings.Settings{MaxPagesPerDomain: new(int64(1))})
		b.seed(t, "https://blocked.example/", "https://away.example/", "https://done.example/", "https://later.example/",
			"https://spent.example/", "https://spent.example/2")
		b.stop(t, "blocked.example", "")
		require.ElementsMatch(t, []string{"away.example", "done.example", "later.example", "spent.example"}, b.claim(t, 10))
		b.fetch(t, "done.example")
		b.fetch(t, "spent.example")
		b.exec(t, "UPDATE page_crawls SET scheduled_for = now() + interval '1 hour' WHERE domain = 'later.example'")
		for _, domain := range []string{"done.example", "later.example", "spent.example"} {
			require.True(t, b.end(t, domain, ""), domain)
		}
		b.deferred(t, "away.example", time.Hour, "asked to")
		require.Empty(t, b.claim(t, 10))
		b.exec(t, "UPDATE domains SET next_crawl_after = now() - interval '1 second' WHERE domain = 'away.example'")
		b.exec(t, "UPDATE run_domains SET next_due_at = now() - interval '1 second' WHERE domain = 'away.example'")
		require.Equal(t, []string{"away.example"}, b.claim(t, 10))
		require.Zero(t, b.domain(t, "away.example").DeferredUntil)
	})

	t.Run("TakesTheImportantFirst", func(t *testing.T) {
		t.Parallel()
		b := setupRun(t, "priority", settings.Settings{})
		b.seed(t, "https://p1.example/", "https://p2.example/", "https://p3.example/")
		b.exec(t, "UPDATE run_domains SET priority = 5 WHERE domain = 'p2.example'")
		require.Equal(t, []string{"p2.example"}, b.claim(t, 1))
		require.Equal(t, []string{"p1.example"}, b.claim(t, 1))
	})

	t.Run("IsRenewedByAFetch", func(t *testing.T) {
		t.Parallel()
		b := setupRun(t, "renew", settings.Settings{})
		b.seed(t, "https://renew.example/")
		require.NotEmpty(t, b.claim(t, 10))
		before := b.clock(t)
		n := b.begin(t, "renew.example")
		require.WithinRange(t, b.domain(t, "renew.example").ClaimEnd, before.Add(30*time.Minute), b.clock(t).Add(30*time.Minute))
		b.finish(t, attempted(n, "renew.example", links(t, "https://renew.example/2")...))
		require.NoError(t, b.RenewClaim(t.Context(), "renew.example", 5*time.Hour))
		b.begin(t, "renew.example")
		require.Greater(t, b.domain(t, "renew.example").ClaimEnd.Sub(before), 4*time.Hour, "but not shortened")
	})

	t.Run("BelongsToItsRun", func(t *testing.T) {
		t.Parallel()
		b := setupRun(t, "mine", settings.Settings{})
		other := b.in(t, "other", settings.Settings{})
		b.seed(t, "https://mine.example/")
		require.Empty(t, other.claim(t, 10))
		b.claim(t, 10)
		other.seed(t, "https://mine.example/other")
		now, err := b.ActivityUpTo(t.Context(), other.run.ID, 0)
		require.NoError(t, err)
		require.Equal(t, crawl.Activity{Busy: 1}, now, "its work is done under another run's claim")
	})
}

func (b *bundle) domain(t *testing.T, domain string) report.Domain {
	t.Helper()
	d, err := b.Domain(t.Context(), domain)
	require.NoError(t, err)
	return d
}
