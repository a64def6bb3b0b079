package activities_test

import (
	"crypto/sha1"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/activities"
	"github.com/mosey-web/mosey/crawl"
)

func TestWebSubAndPeople(t *testing.T) {
	t.Parallel()

	t.Run("AFeedThatNamesNoneAnyMoreHasNone", func(t *testing.T) {
		t.Parallel()
		feed := rss{}
		s := subscribing(t, feed, nil)
		require.Zero(t, s.count(t, "SELECT count(*) FROM websub_subscriptions"))
		s.exec(t, `INSERT INTO websub_subscriptions (feed_page_id, domain, topic, named, hub, hub_domain, hub_origin, state)
			SELECT p.id, p.domain, p.url, 'x', 'x', 'x', 'x', 'active' FROM pages p WHERE p.url = $1`, s.page("/feed"))
		s.exec(t, "UPDATE pages SET content_hash = NULL, extractor = NULL")
		s.passes(t, 48*time.Hour)
		require.Positive(t, s.round(t))
		require.Zero(t, s.count(t, "SELECT count(*) FROM websub_subscriptions"))
	})

	t.Run("ARunThatIsStoppedAsksNobody", func(t *testing.T) {
		t.Parallel()
		s := subscribing(t, rss{target: "/hub"}, nil)
		_, asked := s.look(t)
		require.Equal(t, 1, asked)
		s.exec(t, "UPDATE crawl_runs SET status = 'done', finished_at = now()")
		s.exec(t, "UPDATE websub_subscriptions SET next_at = now()")
		_, asked = s.look(t)
		require.Zero(t, asked)
		require.Equal(t, crawl.SubscriptionWanted, s.state(t).State)
		s.exec(t, "UPDATE crawl_runs SET status = 'running', finished_at = NULL")
		require.Zero(t, s.roundOf(t, 1), "no subscription needs it any more")
		require.Empty(t, s.hub.asked())
		require.Equal(t, 1, s.count(t, "SELECT count(*) FROM page_crawls WHERE kind = 'hub' AND skipped = 'unneeded'"))
		s.exec(t, "UPDATE websub_subscriptions SET next_at = now()")
		_, asked = s.look(t)
		require.Equal(t, 1, asked)
		require.Equal(t, 1, s.roundOf(t, 1))
		require.Len(t, s.hub.asked(), 1)
	})

	t.Run("ABlockedDomainHasNoHubAsked", func(t *testing.T) {
		t.Parallel()
		s := subscribing(t, rss{target: "/hub"}, nil)
		require.NoError(t, s.control(s.site, crawl.ControlBlock, nil))
		_, asked := s.look(t)
		require.Zero(t, asked)
	})

	t.Run("ABlockedHubIsNotAsked", func(t *testing.T) {
		t.Parallel()
		s := subscribing(t, rss{target: "/hub"}, nil)
		_, asked := s.look(t)
		require.Equal(t, 1, asked)
		host := domainOf(t, s.web.URL(s.web.Hosts()[1], "/"))
		require.NoError(t, s.control(host, crawl.ControlBlock, nil))
		require.Zero(t, s.roundOf(t, 1))
		require.Empty(t, s.hub.asked())
		require.Equal(t, crawl.SubscriptionAsking, s.state(t).State)
	})

	t.Run("ARunThatAsksForNothingAgainHasNone", func(t *testing.T) {
		t.Parallel()
		s := subscribing(t, rss{target: "/hub"}, nil)
		s.exec(t, "UPDATE revisits SET due_at = NULL")
		_, asked := s.look(t)
		require.Zero(t, asked)
	})
}

func TestWebSubAndTrouble(t *testing.T) {
	t.Parallel()

	t.Run("AWorkerThatDiesLosesNothing", func(t *testing.T) {
		t.Parallel()
		s := subscribing(t, rss{target: "/hub"}, nil)
		s.look(t)
		s.exec(t, "UPDATE page_crawls SET locked_at = now() - interval '1 hour', retry_priority = 0 WHERE kind = 'hub'")
		s.exec(t, `INSERT INTO politeness_slots (key, holder, free_at) SELECT 'domain:' || domain, 'crawl:' || id, now() - interval '1 minute'
			FROM page_crawls WHERE kind = 'hub' ON CONFLICT (key) DO UPDATE SET holder = excluded.holder, free_at = excluded.free_at`)
		require.Equal(t, 1, s.roundOf(t, 1))
		require.Len(t, s.hub.asked(), 1)
		require.Equal(t, 2, s.count(t, "SELECT count(*) FROM page_crawls WHERE kind = 'hub'"))
		require.Equal(t, crawl.SubscriptionAsked, s.state(t).State)
	})

	t.Run("AHubThatFailsIsTriedAgainAsAPageIs", func(t *testing.T) {
		t.Parallel()
		s := subscribing(t, rss{target: "/hub"}, nil)
		s.hub.status = http.StatusServiceUnavailable
		s.look(t)
		b := *s.testBundle
		b.site = b.web.Hosts()[1]
		_, err := call[activities.DispatchResult](t, b.acts, b.acts.Dispatch, activities.DispatchInput{Run: runName})
		require.NoError(t, err)
		_, err = b.fetchPages(t, 10)
		require.Positive(t, requireTrouble(t, err))
		require.Len(t, s.hub.asked(), 1)
		require.Equal(t, crawl.SubscriptionAsking, s.state(t).State)
		require.Equal(t, 1, s.count(t, "SELECT count(*) FROM page_crawls WHERE kind = 'hub' AND outcome IS NULL AND attempt = 2"))
	})

	t.Run("WhatIsForgottenHasNoHub", func(t *testing.T) {
		t.Parallel()
		for _, of := range []int{0, 1} {
			s := subscribing(t, rss{target: "/hub"}, nil)
			form := s.subscribed(t)
			host := domainOf(t, s.web.URL(s.web.Hosts()[of], "/"))
			require.NoError(t, s.store.BlockToForget(t.Context(), host, crawl.Control{Reason: "an owner asks", SetBy: "ada"}))
			require.Zero(t, s.count(t, "SELECT count(*) FROM websub_subscriptions"))
			require.Equal(t, http.StatusGone, s.tell(t, form, "sha1", sha1.New, form.Get("hub.secret")))
		}
	})

	t.Run("WhatIsReadAfterADomainWasBlockedIsNotKept", func(t *testing.T) {
		t.Parallel()
		s := subscribing(t, rss{target: "/hub"}, nil)
		s.exec(t, "DELETE FROM websub_subscriptions")
		s.exec(t, "UPDATE pages SET content_hash = NULL, extractor = NULL")
		s.passes(t, 48*time.Hour)
		s.during.Store(new(func() {
			if err := s.control(s.site, crawl.ControlBlock, nil); err != nil {
				t.Error(err)
			}
		}))
		_, err := call[activities.DispatchResult](t, s.acts, s.acts.Dispatch, activities.DispatchInput{Run: runName})
		require.NoError(t, err)
		_, err = s.fetchPages(t, 10)
		require.NoError(t, err)
		require.Contains(t, s.asked(), "/feed")
		require.Zero(t, s.count(t, "SELECT count(*) FROM websub_subscriptions"))
	})

	t.Run("AFeedThatWasForgottenMeanwhileIsNotAskedFor", func(t *testing.T) {
		t.Parallel()
		s := subscribing(t, rss{target: "/hub"}, nil)
		form := s.subscribed(t)
		require.Equal(t, http.StatusNoContent, s.tell(t, form, "sha1", sha1.New, form.Get("hub.secret")))
		s.exec(t, "UPDATE pages SET fetched_at = NULL, history = NULL WHERE url = $1", s.page("/feed"))
		sooner, _ := s.look(t)
		require.Zero(t, sooner)
		require.False(t, s.told(t))
	})
}
