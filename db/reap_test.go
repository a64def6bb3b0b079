package db_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/crawl/settings"
)

const workerDied = "the worker died during the attempt"

func TestDeadWorkersAttempt(t *testing.T) {
	t.Parallel()

	t.Run("IsLeftAloneWhileItsHoldLasts", func(t *testing.T) {
		t.Parallel()
		b := setupRun(t, "held", settings.Settings{})
		b.seed(t, "https://held.example/")
		b.begin(t, "held.example")
		n := b.next(t, "held.example")
		require.Zero(t, n.AttemptID)
		require.Equal(t, reasons.InFlight, n.SlotReason)
		require.Greater(t, n.SlotWait, longHold/2)
		require.InDelta(t, n.SlotWait, n.DueIn, float64(time.Second), "then it can be made again")
		require.Empty(t, b.page(t, "https://held.example/").Crawls[0].Outcome)
	})

	t.Run("IsClosedByWhoLooksForWork", func(t *testing.T) {
		t.Parallel()
		b := setupRun(t, "next", settings.Settings{})
		b.seed(t, "https://next.example/")
		dead := b.begin(t, "next.example")
		leased := one[time.Time](t, b, "SELECT locked_at FROM page_crawls WHERE id = $1", dead.AttemptID)
		b.expire(t, "domain:next.example")
		n := b.next(t, "next.example")
		began := one[time.Time](t, b, "SELECT started_at FROM audit_requests WHERE id = $1", dead.AttemptID)
		require.False(t, began.Before(leased), "%s before its lease: an audit would find that the domain was hurried", leased.Sub(began))
		require.NotZero(t, n.AttemptID)
		require.NotEqual(t, dead.AttemptID, n.AttemptID)
		require.Equal(t, 2, n.Attempt)
		crawls := b.page(t, "https://next.example/").Crawls
		require.Len(t, crawls, 2)
		require.Equal(t, dead.AttemptID, crawls[1].ID)
		require.Equal(t, crawl.OutcomeFailed, crawls[1].Outcome)
		require.Equal(t, workerDied, crawls[1].Error)
		require.Equal(t, dead.AttemptID, one[int64](t, b, "SELECT previous_id FROM page_crawls WHERE id = $1", n.AttemptID))
		require.Equal(t, report.Totals{Failed: 1, RequestCount: 1}, b.progress(t).Totals)
	})

	t.Run("ThatOutlastsItsLeaseIsOnlyCounted", func(t *testing.T) {
		t.Parallel()
		b := setupRun(t, "outlasts", settings.Settings{})
		b.seed(t, "https://outlasts.example/1", "https://outlasts.example/2")
		for i, want := range []bool{true, false} {
			at := attempted(b.begin(t, "outlasts.example"), "outlasts.example")
			at.LeaseExpired = want
			b.finish(t, at)
			require.Equal(t, want, one[bool](t, b, "SELECT lost FROM audit_requests WHERE id = $1", at.ID), i)
		}
		require.EqualValues(t, 2, b.progress(t).Success)
	})

	t.Run("AtAnImage", func(t *testing.T) {
		t.Parallel()
		b := setupRun(t, "image", settings.Settings{Images: new(settings.ImagesMetadata)})
		const page, image = "https://image.example/", "https://image.example/a.png"
		b.seed(t, page)
		at := attempted(b.begin(t, "image.example"), "image.example")
		at.Images = []crawl.FoundImage{{URL: image, Domain: "image.example", Origin: "https://image.example", Discovery: crawl.DiscoveryImg}}
		at.FollowImages = &crawl.Follow{Depth: 1}
		b.finish(t, at)
		die := func(final bool) {
			t.Helper()
			s := startOf(b.next(t, "image.example"), "image.example", "")
			if final {
				s.RetryPriority = nil
			}
			l, err := b.Begin(t.Context(), s)
			require.NoError(t, err)
			require.True(t, l.Granted)
			b.expire(t, "domain:image.example")
			b.next(t, "image.example")
		}
		die(false)
		require.EqualValues(t, 2, one[int64](t, b, "SELECT priority FROM page_crawls WHERE kind = 'image' AND outcome IS NULL"),
			"it comes after the others")
		die(true)
		require.Equal(t, string(crawl.ImageUnanswered), one[string](t, b, "SELECT problem FROM images WHERE url = $1", image))
	})

	t.Run("IsClosedByWhoBeginsAnother", func(t *testing.T) {
		t.Parallel()
		b := setupRun(t, "begin", settings.Settings{})
		b.seed(t, "https://begin.example/1", "https://begin.example/2")
		dead := b.begin(t, "begin.example")
		other := dead
		other.AttemptID = one[int64](t, b, "SELECT max(id) FROM page_crawls WHERE domain = 'begin.example'")
		b.expire(t, "domain:begin.example")
		p, err := b.Begin(t.Context(), startOf(other, "begin.example", ""))
		require.NoError(t, err)
		require.True(t, p.Granted)
		require.EqualValues(t, 1, b.progress(t).InFlight, "never two at once")
		require.Equal(t, workerDied, b.page(t, dead.URL).Crawls[1].Error)
	})

	t.Run("IsClosedWithTheSlotLocked", func(t *testing.T) {
		t.Parallel()
		b := setup(t, settings.Settings{}) // its own, to see who waits
		b.seed(t, "https://a.example/")
		b.begin(t, domainA)
		b.expire(t, "domain:a.example")
		// otherwise the next attempt could begin meanwhile, and be closed too
		b.race(t, "SELECT domain_next('a.example')", func() error {
			_, err := b.Begin(t.Context(), b.prerequisite(domainA, "", 0, 0))
			return err
		})
		require.Equal(t, report.Totals{Failed: 1, RequestCount: 1}, b.progress(t).Totals)
	})

	t.Run("IsTheLastWhenThereWereEnough", func(t *testing.T) {
		t.Parallel()
		b := setupRun(t, "last", settings.Settings{MaxAttempts: new(2)})
		b.seed(t, "https://last.example/")
		for range 2 {
			require.Equal(t, "discovered", b.page(t, "https://last.example/").Status)
			b.begin(t, "last.example")
			b.expire(t, "domain:last.example")
			b.next(t, "last.example")
		}
		n := b.next(t, "last.example")
		require.Zero(t, n.AttemptID)
		require.Negative(t, n.DueIn)
		page := b.page(t, "https://last.example/")
		require.Equal(t, "failed", page.Status)
		require.NotZero(t, page.FailedAt)
		require.Len(t, page.Crawls, 2)
		require.Equal(t, report.Totals{Failed: 2, RequestCount: 2}, b.progress(t).Totals)
	})

	t.Run("IsClosedOnce", func(t *testing.T) {
		t.Parallel()
		b := setupRun(t, "once", settings.Settings{})
		b.seed(t, "https://once.example/")
		b.begin(t, "once.example")
		b.expire(t, "domain:once.example")
		together(t, 8, func(int) error {
			_, err := b.Next(t.Context(), "once.example")
			return err
		})
		require.Len(t, b.page(t, "https://once.example/").Crawls, 2)
		require.Equal(t, report.Totals{Failed: 1, RequestCount: 1}, b.progress(t).Totals)
	})

	t.Run("IsWorkForTheDispatcher", func(t *testing.T) {
		t.Parallel()
		b := setup(t, settings.Settings{MaxPages: new(int64(1))})
		b.seed(t, "https://claim.example/")
		b.begin(t, "claim.example")
		b.exec(t, "UPDATE domains SET claim_expires_at = now() - interval '1 second' WHERE domain = 'claim.example'")
		n, err := b.ExpireClaims(t.Context())
		require.NoError(t, err)
		require.Zero(t, n, "the request may still be in flight")
		b.expire(t, "domain:claim.example")
		n, err = b.ExpireClaims(t.Context())
		require.NoError(t, err)
		require.Equal(t, 1, n)
		require.EqualValues(t, 1, one[int64](t, b, "SELECT count(*) FROM page_crawls WHERE domain = 'claim.example' AND lost"),
			"though the budget is spent: somebody has to close the row")
	})
}
