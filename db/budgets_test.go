package db_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/settings"
)

func TestRunBudget(t *testing.T) {
	t.Parallel()

	t.Run("IsExactWhenManyDomainsRace", func(t *testing.T) {
		t.Parallel()
		b := setupRun(t, "race", settings.Settings{MaxPages: new(int64(7))})
		const domains = 16
		nexts := make([]view, domains)
		name := func(i int) string { return fmt.Sprintf("race%d.example", i) }
		for i := range nexts {
			b.seed(t, "https://"+name(i)+"/")
			nexts[i] = b.next(t, name(i))
			require.NotZero(t, nexts[i].AttemptID)
		}
		var granted, stale atomic.Int64
		together(t, domains, func(i int) error {
			p, err := b.Begin(t.Context(), startOf(nexts[i], name(i), ""))
			switch {
			case err != nil:
				return err
			case p.Granted:
				granted.Add(1)
			case p.Reason == reasons.Stale:
				stale.Add(1)
			}
			return nil
		})
		require.EqualValues(t, 7, granted.Load())
		require.EqualValues(t, domains-7, stale.Load())
		require.EqualValues(t, 7, b.progress(t).InFlight)
		require.EqualValues(t, 7, one[int64](t, b, "SELECT sum(pages_started)::bigint FROM run_domains WHERE run_id = $1", b.run.ID))
		for i := range nexts {
			n := b.next(t, name(i))
			require.Zero(t, n.AttemptID, "nothing is due when the budget is spent")
		}
	})

	t.Run("CountsRetries", func(t *testing.T) {
		t.Parallel()
		b := setupRun(t, "retries", settings.Settings{MaxPages: new(int64(2))})
		b.seed(t, "https://retries.example/")
		for range 2 {
			a := attempted(b.begin(t, "retries.example"), "retries.example")
			a.Outcome, a.RetryIn = crawl.OutcomeTimeout, new(crawl.Millis(0))
			b.finish(t, a)
		}
		n := b.next(t, "retries.example")
		require.Zero(t, n.AttemptID)
		require.Negative(t, n.DueIn, "nothing that the budget leaves to wait for")
	})

	t.Run("SetLateCountsWhatWasDone", func(t *testing.T) {
		t.Parallel()
		b := setupRun(t, "late", settings.Settings{})
		b.seed(t, "https://late.example/", "https://late.example/2", "https://late.example/3")
		b.fetch(t, "late.example")
		b.ensureRun(t, "late", settings.Settings{MaxPages: new(int64(2))})
		require.NotZero(t, b.next(t, "late.example").AttemptID)
		require.Zero(t, b.fetch(t, "late.example").AttemptID)
		b.ensureRun(t, "late", settings.Settings{MaxPages: new(int64(settings.Unlimited))})
		b.fetch(t, "late.example")
		require.EqualValues(t, 3, b.progress(t).Success)
	})

	t.Run("IsOneRunsOwn", func(t *testing.T) {
		t.Parallel()
		spent := setupRun(t, "spent", settings.Settings{MaxPages: new(int64(0)), Delay: minutes(50)})
		b := spent.in(t, "unspent", settings.Settings{Delay: minutes(5)})
		spent.seed(t, "https://shared.example/")
		require.Zero(t, b.next(t, "shared.example").AttemptID)
		b.seed(t, "https://shared.example/")
		n := b.begin(t, "shared.example")
		require.Equal(t, "unspent", n.Run)
		require.Equal(t, 5*time.Minute, n.Waits.Configured, "a run that wants nothing more slows nobody")
	})

	t.Run("IsRefundedForWhatWasNotRequested", func(t *testing.T) {
		t.Parallel()
		b := setupRun(t, "refund", settings.Settings{MaxPages: new(int64(1)), MaxPagesPerDomain: new(int64(1))})
		b.seed(t, "https://refund.example/", "https://refund.example/2")
		n := b.begin(t, "refund.example")
		require.NoError(t, b.Abandon(t.Context(), startOf(n, "refund.example", ""), n.AttemptID, 0, false, "no route"))
		again := b.begin(t, "refund.example")
		require.Equal(t, n.AttemptID, again.AttemptID)
		require.Equal(t, 1, again.Attempt, "an attempt that was not made does not count")
		require.Zero(t, b.finish(t, attempted(again, "refund.example")).AttemptID)
	})
}

func TestDomainBudget(t *testing.T) {
	t.Parallel()
	fetchAll := func(t *testing.T, b *bundle, domain string) int {
		t.Helper()
		n := 0
		for b.next(t, domain).AttemptID != 0 {
			b.fetch(t, domain)
			n++
		}
		return n
	}
	seeds := func(domain string) []string {
		return []string{"https://" + domain + "/1", "https://" + domain + "/2", "https://" + domain + "/3"}
	}

	t.Run("OfBytesIsSpentByTheLastOfThem", func(t *testing.T) {
		t.Parallel()
		b := setupRun(t, "bytes", settings.Settings{MaxBytesPerDomain: new(int64(1000))})
		b.seed(t, seeds("bytes.example")...)
		read := func(bytes int64) view {
			a := attempted(b.begin(t, "bytes.example"), "bytes.example")
			a.Bytes = bytes
			return b.finish(t, a)
		}
		require.NotZero(t, read(999).AttemptID)
		require.Zero(t, read(1).AttemptID)
	})

	t.Run("BoundsEachDomain", func(t *testing.T) {
		t.Parallel()
		b := setupRun(t, "each", settings.Settings{MaxPagesPerDomain: new(int64(2))})
		b.seed(t, append(seeds("one.each.example"), seeds("two.each.example")...)...)
		require.Equal(t, 2, fetchAll(t, b, "one.each.example"))
		require.Equal(t, 2, fetchAll(t, b, "two.each.example"))
	})

	t.Run("IsCheckedWhenAPageIsBegun", func(t *testing.T) {
		t.Parallel()
		const domain = "begun.example"
		b := setupRun(t, "begun", settings.Settings{MaxPagesPerDomain: new(int64(1))})
		b.seed(t, seeds(domain)...)
		first := b.next(t, domain)
		b.fetch(t, domain)
		stale := first
		stale.AttemptID = one[int64](t, b, "SELECT max(id) FROM page_crawls WHERE domain = $1", domain)
		p, err := b.Begin(t.Context(), startOf(stale, domain, address))
		require.NoError(t, err)
		require.Equal(t, crawl.Lease{Reason: reasons.Stale}, p)
		require.True(t, b.take(t, domain, address, "other", time.Second).Granted, "who gets no page keeps no slot")
	})

	t.Run("OfOneDomainWinsOverTheRuns", func(t *testing.T) {
		t.Parallel()
		b := setupRun(t, "own", settings.Settings{MaxPagesPerDomain: new(int64(2))})
		for domain, most := range map[string]int64{"less.example": 1, "more.example": 3, "all.example": settings.Unlimited, "no.example": 0} {
			b.seed(t, seeds(domain)...)
			b.control(t, domain, crawl.ControlBudget, most)
		}
		require.Equal(t, 1, fetchAll(t, b, "less.example"))
		require.Equal(t, 3, fetchAll(t, b, "more.example"))
		require.Equal(t, 3, fetchAll(t, b, "all.example"))
		require.Equal(t, 0, fetchAll(t, b, "no.example"))
	})
}

// TestBegin is about rows that are not to be had.
func TestBegin(t *testing.T) {
	t.Parallel()
	refused := func(t *testing.T, b *bundle, n view, domain string, why reasons.Reason) {
		t.Helper()
		p, err := b.Begin(t.Context(), startOf(n, domain, ""))
		require.NoError(t, err)
		require.Equal(t, crawl.Lease{Reason: why}, p)
	}

	t.Run("RefusesAClosedCrawl", func(t *testing.T) {
		t.Parallel()
		b := setupRun(t, "closed", settings.Settings{})
		b.seed(t, "https://closed.example/")
		n := b.next(t, "closed.example")
		b.fetch(t, "closed.example")
		refused(t, b, n, "closed.example", reasons.Stale)
	})

	t.Run("RefusesAStoppedRun", func(t *testing.T) {
		t.Parallel()
		b := setupRun(t, "stopped", settings.Settings{})
		b.seed(t, "https://stopped.example/")
		n := b.next(t, "stopped.example")
		stopped, err := b.StopRun(t.Context(), b.run.ID, "enough")
		require.NoError(t, err)
		require.True(t, stopped)
		refused(t, b, n, "stopped.example", reasons.Stale)
		require.Zero(t, b.next(t, "stopped.example").AttemptID)
		require.NoError(t, b.StartRun(t.Context(), b.run.ID))
		require.Equal(t, n.AttemptID, b.begin(t, "stopped.example").AttemptID)
	})

	t.Run("RefusesABlockedDomain", func(t *testing.T) {
		t.Parallel()
		b := setupRun(t, "blocked", settings.Settings{})
		b.seed(t, "https://blocked.example/")
		n := b.next(t, "blocked.example")
		b.stop(t, "blocked.example", "asked to")
		refused(t, b, n, "blocked.example", "stop")
		require.Zero(t, b.next(t, "blocked.example").AttemptID)
	})

	t.Run("LetsOneOfManyHaveThePage", func(t *testing.T) {
		t.Parallel()
		b := setupRun(t, "many", settings.Settings{})
		b.seed(t, "https://many.example/")
		n := b.next(t, "many.example")
		var granted atomic.Int64
		together(t, 8, func(int) error {
			p, err := b.Begin(t.Context(), startOf(n, "many.example", ""))
			if p.Granted {
				granted.Add(1)
			}
			return err
		})
		require.EqualValues(t, 1, granted.Load())
		require.EqualValues(t, 1, one[int64](t, b, "SELECT pages_started FROM run_domains WHERE domain = 'many.example'"))
	})
}
