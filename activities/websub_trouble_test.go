package activities_test

import (
	"crypto/sha1"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/activities"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/urls"
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

	t.Run("APublisherWhoForbidsTheUseOfAFeedHasNone", func(t *testing.T) {
		t.Parallel()
		s := subscribing(t, rss{target: "/hub", forbids: true}, nil)
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

	t.Run("APersonHasAHubAskedAgain", func(t *testing.T) {
		t.Parallel()
		s := subscribing(t, rss{target: "/hub"}, nil)
		s.exec(t, "UPDATE websub_subscriptions SET state = 'ended', tries = 5, next_at = now() + interval '30 days'")
		feed, err := urls.Parse(s.page("/feed"))
		require.NoError(t, err)
		run, err := s.store.Run(t.Context(), runName)
		require.NoError(t, err)
		n, err := s.store.RecrawlNow(t.Context(), run, []urls.URL{feed})
		require.NoError(t, err)
		require.Equal(t, 1, n)
		_, asked := s.look(t)
		require.Equal(t, 1, asked, "though the feed is just pending")
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
		s.exec(t, "UPDATE page_crawls SET locked_at = now() - interval '1 hour' WHERE kind = 'hub'")
		s.exec(t, `INSERT INTO politeness_slots (key, holder, free_at) SELECT 'domain:' || domain, 'crawl:' || id, now() - interval '1 minute'
			FROM page_crawls WHERE kind = 'hub' ON CONFLICT (key) DO UPDATE SET holder = excluded.holder, free_at = excluded.free_at`)
		host := domainOf(t, s.web.URL(s.web.Hosts()[1], "/"))
		_, err := s.store.Next(t.Context(), host)
		require.NoError(t, err)
		require.Equal(t, 1, s.count(t, "SELECT count(*) FROM page_crawls WHERE kind = 'hub' AND lost"))
		require.Zero(t, s.count(t, "SELECT count(*) FROM revisits v INNER JOIN pages p ON p.id = v.page_id WHERE p.domain = $1", host))
		s.exec(t, "UPDATE websub_subscriptions SET next_at = now()")
		_, asked := s.look(t)
		require.Equal(t, 1, asked)
		require.Equal(t, 1, s.roundOf(t, 1))
		require.Len(t, s.hub.asked(), 1)
		require.Equal(t, crawl.SubscriptionAsked, s.state(t).State)
	})

	t.Run("AHubInTroubleIsAskedOnceATry", func(t *testing.T) {
		t.Parallel()
		s := subscribing(t, rss{target: "/hub"}, nil)
		s.hub.status = http.StatusServiceUnavailable
		s.look(t)
		require.Equal(t, 1, s.roundOf(t, 1))
		require.Zero(t, s.count(t, "SELECT count(*) FROM page_crawls WHERE kind = 'hub' AND outcome IS NULL"))
		require.Equal(t, crawl.SubscriptionWanted, s.state(t).State)
		require.Equal(t, "the hub answered 503: so it is", s.state(t).Why)
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

	t.Run("APushIsNotLostWhileTheFeedIsRead", func(t *testing.T) {
		t.Parallel()
		s := subscribing(t, rss{target: "/hub"}, nil)
		form := s.subscribed(t)
		s.during.Store(new(func() {
			if status := s.tell(t, form, "sha1", sha1.New, form.Get("hub.secret")); status != http.StatusNoContent {
				t.Error(status)
			}
			if sooner, _, err := s.store.ApplyPushes(t.Context()); err != nil || sooner != 0 {
				t.Error(sooner, err)
			}
		}))
		s.readAgain(t)
		s.during.Store(nil)
		require.True(t, s.told(t), "its answer may be older")
		require.InDelta(t, 1, s.dueIn(t, "/feed"), 0.01)
		sooner, _ := s.look(t)
		require.Equal(t, 1, sooner)
		require.InDelta(t, 1.0/24, s.dueIn(t, "/feed"), 0.001)
	})

	t.Run("AFeedThatCannotBeReadKeepsItsHub", func(t *testing.T) {
		t.Parallel()
		s := subscribing(t, rss{target: "/hub"}, nil)
		s.broken.Store(true)
		s.readAgain(t)
		require.Equal(t, crawl.SubscriptionWanted, s.state(t).State)
	})

	t.Run("AnOldSubscriptionThatHasLapsedIsTriedAgain", func(t *testing.T) {
		t.Parallel()
		s := subscribing(t, rss{target: "/hub"}, nil)
		form := s.subscribed(t)
		s.hub.status = http.StatusInternalServerError
		s.exec(t, `UPDATE websub_subscriptions SET found_at = now() - interval '40 days', lease_until = now() - interval '1 hour', next_at = now()`)
		s.look(t)
		require.Equal(t, 1, s.roundOf(t, 1))
		for range 3 {
			s.exec(t, "UPDATE websub_subscriptions SET next_at = now()")
			s.look(t)
		}
		require.Equal(t, crawl.SubscriptionAsking, s.state(t).State)
		status, _ := s.confirm(t, form)
		require.Equal(t, http.StatusOK, status)
	})

	t.Run("WhatIsAHubMayBeAPage", func(t *testing.T) {
		t.Parallel()
		s := subscribing(t, rss{target: "/hub"}, nil)
		s.subscribed(t)
		s.hub.status = http.StatusOK
		s.seedURLs(t, s.web.URL(s.web.Hosts()[1], "/hub"))
		require.Equal(t, 1, s.roundOf(t, 1))
		require.Len(t, s.hub.asked(), 1, "it is read as a page")
		require.Equal(t, 1, s.count(t, "SELECT count(*) FROM pages WHERE kind = 'page' AND status = 'fetched' AND url = $1",
			s.web.URL(s.web.Hosts()[1], "/hub")))
		s.exec(t, "UPDATE websub_subscriptions SET next_at = now()")
		_, asked := s.look(t)
		require.Equal(t, 1, asked)
		require.Equal(t, 1, s.roundOf(t, 1))
		require.Len(t, s.hub.asked(), 2, "and asked as a hub again")
	})
}
