package db_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/kinds"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/crawl/settings"
)

const domainA = "a.example"

func TestRecord(t *testing.T) {
	t.Parallel()

	t.Run("Success", func(t *testing.T) {
		t.Parallel()
		b := setupRun(t, "success", settings.Settings{})
		b.seed(t, "https://success.example/")
		n := b.beginAt(t, "success.example", address)
		before := b.clock(t)
		a := attempted(n, "success.example")
		a.IP, a.StatusCode, a.ContentType, a.Bytes, a.Duration = address, 203, "text/html", 1234, crawl.ElapsedMillis(56*time.Millisecond)
		a.Page.Signals = &crawl.Signals{Title: "Title", Canonical: "https://success.example/canonical"}
		a.Page.NoIndex, a.Page.NoFollow = true, true
		b.finish(t, a)
		page := b.page(t, "https://success.example/")
		require.Equal(t, "fetched", page.Status)
		require.Equal(t, "Title", page.Title)
		require.Equal(t, "https://success.example/canonical", page.Canonical)
		require.True(t, page.NoIndex)
		require.True(t, page.NoFollow)
		require.Zero(t, page.FailedAt)
		require.Len(t, page.Crawls, 1)
		c := page.Crawls[0]
		require.WithinRange(t, c.CompletedAt, before, b.clock(t))
		require.True(t, page.FetchedAt.Equal(c.CompletedAt))
		require.Equal(t, report.Attempt{
			ID: n.AttemptID, Kind: kinds.Page, Run: "success", Outcome: crawl.OutcomeSuccess, StatusCode: 203, Bytes: 1234,
			ContentType: "text/html", IP: address, Duration: settings.Duration(56 * time.Millisecond),
			ScheduledFor: c.ScheduledFor, CompletedAt: c.CompletedAt,
		}, c)
		require.Equal(t, report.Totals{Success: 1, Bytes: 1234, RequestCount: 1, NoFollow: 1}, b.progress(t).Totals)
	})

	t.Run("WhatCannotBeTriedAgain", func(t *testing.T) {
		t.Parallel()
		b := setupRun(t, "gone", settings.Settings{})
		b.seed(t, "https://gone.example/")
		a := attempted(b.begin(t, "gone.example"), "gone.example")
		a.Outcome, a.StatusCode, a.Error = crawl.OutcomeBlocked4xx, 404, "not there"
		n := b.finish(t, a)
		require.Zero(t, n.AttemptID)
		require.Negative(t, n.DueIn, "nothing is pending")
		page := b.page(t, "https://gone.example/")
		require.Equal(t, "failed", page.Status)
		require.Empty(t, page.Title)
		require.Zero(t, page.FetchedAt)
		require.Len(t, page.Crawls, 1)
		require.True(t, page.FailedAt.Equal(page.Crawls[0].CompletedAt))
		require.Equal(t, 404, page.Crawls[0].StatusCode)
		require.Equal(t, "not there", page.Crawls[0].Error)
		require.Equal(t, report.Totals{Blocked4xx: 1, RequestCount: 1}, b.progress(t).Totals)
	})

	t.Run("WhatIsToBeTriedAgain", func(t *testing.T) {
		t.Parallel()
		b := setupRun(t, "again", settings.Settings{})
		b.seed(t, "https://again.example/")
		first := b.begin(t, "again.example")
		a := attempted(first, "again.example")
		a.Outcome, a.StatusCode, a.RetryIn = crawl.OutcomeBlocked5xx, 503, new(crawl.Millis(20*time.Minute))
		n := b.finish(t, a)
		require.Zero(t, n.AttemptID)
		require.InDelta(t, 20*time.Minute, n.DueIn, float64(5*time.Minute))
		page := b.page(t, "https://again.example/")
		require.Equal(t, "discovered", page.Status)
		require.Len(t, page.Crawls, 2)
		require.Empty(t, page.Crawls[0].Outcome)
		require.Equal(t, 20*time.Minute, page.Crawls[0].ScheduledFor.Sub(page.Crawls[1].CompletedAt))
		require.Equal(t, first.AttemptID, one[int64](t, b, "SELECT previous_id FROM page_crawls WHERE id = $1", page.Crawls[0].ID))

		b.makeDue(t)
		second := b.next(t, "again.example")
		require.Equal(t, page.Crawls[0].ID, second.AttemptID)
		require.Equal(t, 1, first.Attempt)
		require.Equal(t, 2, second.Attempt)
		b.finish(t, attempted(b.begin(t, "again.example"), "again.example"))
		require.Equal(t, "fetched", b.page(t, "https://again.example/").Status)
		require.Equal(t, report.Totals{Success: 1, Blocked5xx: 1, RequestCount: 2}, b.progress(t).Totals)
	})

	t.Run("WhatRobotsForbidsWithoutARequest", func(t *testing.T) {
		t.Parallel()
		b := setupRun(t, "robots", settings.Settings{MaxPages: new(int64(1))})
		b.seed(t, "https://robots.example/no", "https://robots.example/yes")
		n := b.next(t, "robots.example")
		a := attempted(n, "robots.example")
		a.Requested, a.StatusCode, a.Outcome, a.Error = false, 0, crawl.OutcomeBlockedRobots, "disallowed"
		a.Delay = crawl.Millis(longHold)
		n = b.finish(t, a)
		require.NotZero(t, n.AttemptID, "it must not count against the budget")
		require.Zero(t, n.SlotWait, "nor close the slot")
		require.Equal(t, report.Totals{BlockedRobots: 1}, b.progress(t).Totals)
		require.Equal(t, "failed", b.page(t, "https://robots.example/no").Status)
	})

	t.Run("EveryOutcome", func(t *testing.T) {
		t.Parallel()
		b := setupRun(t, "every", settings.Settings{})
		b.seed(t, "https://every.example/0", "https://every.example/1", "https://every.example/2", "https://every.example/3",
			"https://every.example/4", "https://every.example/5", "https://every.example/6")
		for i, o := range crawl.Outcomes() {
			a := attempted(b.begin(t, "every.example"), "every.example")
			a.Outcome, a.Bytes = o, 1<<i
			if o == crawl.OutcomeSkipped {
				a.Skipped = reasons.Fresh
			}
			b.finish(t, a)
		}
		require.Equal(t, report.Totals{
			Success: 1, BlockedRobots: 1, Blocked4xx: 1, Blocked5xx: 1, Timeout: 1, Failed: 1, Skipped: 1, Bytes: 1<<7 - 1,
			RequestCount: 7, Skips: map[reasons.Reason]int64{reasons.Fresh: 1},
		}, b.progress(t).Totals)
		rep, err := b.RunReport(t.Context(), b.run, 5)
		require.NoError(t, err)
		require.Len(t, rep.Skipped, 2)
		for _, rule := range rep.Skipped {
			require.EqualValues(t, 1, rule.Pages, rule.Reason)
			require.Equal(t, column[string](t, b, `SELECT url FROM page_crawls
				WHERE domain = 'every.example' AND coalesce(skipped, outcome::text) = $1`, string(rule.Reason)), rule.Examples)
		}
		require.ElementsMatch(t, crawl.Outcomes(),
			column[crawl.Outcome](t, b, "SELECT outcome::text FROM page_crawls WHERE domain = 'every.example'"))
	})
}

func TestRecordMovesTheSlot(t *testing.T) {
	t.Parallel()
	b := setup(t, settings.Settings{})
	b.seed(t, "https://a.example/", "https://a.example/2")
	n := b.beginAt(t, domainA, address)

	a := attempted(n, domainA)
	a.IP, a.Delay, a.IPDelay = address, crawl.Millis(time.Minute), crawl.Millis(40*time.Second)
	a.Reason = reasons.RetryAfter
	a.EndedAt = time.Now().Add(-30 * time.Second) // it took a while to record
	ended := b.clock(t).Add(-30 * time.Second)
	n = b.finish(t, a)
	require.NotZero(t, n.AttemptID)
	require.Equal(t, reasons.RetryAfter, n.SlotReason)
	require.LessOrEqual(t, n.SlotWait, 30*time.Second)
	require.Greater(t, n.SlotWait, 10*time.Second)

	completed := b.page(t, "https://a.example/").Crawls[0].CompletedAt
	require.WithinDuration(t, ended, completed, 5*time.Second)
	const slot = "SELECT free_at FROM politeness_slots WHERE key = $1"
	require.WithinDuration(t, completed.Add(time.Minute), one[time.Time](t, b, slot, "domain:a.example"), time.Second)
	require.WithinDuration(t, completed.Add(40*time.Second), one[time.Time](t, b, slot, "ip:"+address), time.Second)

	p, err := b.Begin(t.Context(), startOf(n, domainA, address))
	require.NoError(t, err)
	require.False(t, p.Granted)
	require.Equal(t, reasons.RetryAfter, p.Reason)
}

func TestRecordHappensOnce(t *testing.T) {
	t.Parallel()

	t.Run("AsOneOfMany", func(t *testing.T) {
		t.Parallel()
		b := setupRun(t, "one", settings.Settings{})
		b.seed(t, "https://one.example/")
		a := attempted(b.begin(t, "one.example"), "one.example", links(t, "https://one.example/found")...)
		a.Outcome, a.RetryIn = crawl.OutcomeTimeout, new(crawl.Millis(0))
		const n = 6
		closed := make([]bool, n)
		together(t, n, func(i int) error {
			rec, err := b.Record(t.Context(), settled(a))
			closed[i] = rec.Closed
			return err
		})
		require.ElementsMatch(t, []bool{true, false, false, false, false, false}, closed)
		require.Equal(t, report.Totals{Timeout: 1, RequestCount: 1}, b.progress(t).Totals)
		require.EqualValues(t, 3, one[int64](t, b, "SELECT count(*) FROM page_crawls WHERE run_id = $1", b.run.ID))
	})

	t.Run("WithoutARequestAsWell", func(t *testing.T) {
		t.Parallel()
		b := setup(t, settings.Settings{}) // its own, to see who waits
		b.seed(t, "https://a.example/")
		a := attempted(b.next(t, domainA), domainA)
		a.Requested, a.StatusCode, a.Outcome = false, 0, crawl.OutcomeBlockedRobots
		var rec crawl.RecordResult
		b.race(t, "UPDATE page_crawls SET outcome = 'blocked_robots', completed_at = now()", func() (err error) {
			rec, err = b.Record(t.Context(), settled(a))
			return err
		})
		require.False(t, rec.Closed)
		require.Zero(t, b.progress(t).Totals)
	})

	t.Run("NotAtAllForWhoWasTakenForDead", func(t *testing.T) {
		t.Parallel()
		b := setup(t, settings.Settings{Scope: new(settings.ScopeWeb)})
		b.seed(t, "https://a.example/")
		zombie := attempted(b.begin(t, domainA), domainA, links(t, "https://b.example/")...)
		zombie.Page.Signals.Title, zombie.Delay, zombie.RetryIn = "late", crawl.Millis(9*time.Hour), new(crawl.Millis(0))
		b.expire(t, "domain:a.example")
		heir := b.begin(t, domainA)
		require.NotEqual(t, zombie.ID, heir.AttemptID)

		before := b.snapshot(t)
		rec, err := b.Record(t.Context(), zombie)
		require.NoError(t, err)
		require.False(t, rec.Closed)
		require.Equal(t, before, b.snapshot(t))
		b.finish(t, attempted(heir, domainA))
		require.Equal(t, report.Totals{Success: 1, Failed: 1, RequestCount: 2}, b.progress(t).Totals)
	})

	t.Run("NotForARowThatWasNotBegun", func(t *testing.T) {
		t.Parallel()
		b := setup(t, settings.Settings{})
		b.seed(t, "https://a.example/")
		before := b.snapshot(t)
		rec, err := b.Record(t.Context(), attempted(b.next(t, domainA), domainA))
		require.NoError(t, err)
		require.False(t, rec.Closed)
		require.Equal(t, before, b.snapshot(t))
	})

	t.Run("NotWithoutARequestWhereOneIsInFlight", func(t *testing.T) {
		t.Parallel()
		b := setupRun(t, "flight", settings.Settings{})
		b.seed(t, "https://flight.example/")
		n := b.begin(t, "flight.example")
		// a duplicate that had read the frontier earlier, with other rules
		a := attempted(n, "flight.example")
		a.Requested, a.StatusCode, a.Outcome = false, 0, crawl.OutcomeBlockedRobots
		rec, err := b.Record(t.Context(), settled(a))
		require.NoError(t, err)
		require.False(t, rec.Closed)
		b.finish(t, attempted(n, "flight.example"))
		require.Equal(t, report.Totals{Success: 1, RequestCount: 1}, b.progress(t).Totals)
	})
}
