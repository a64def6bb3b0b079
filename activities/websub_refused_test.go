package activities_test

import (
	"crypto/sha1"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
)

func TestWebSubRefused(t *testing.T) {
	t.Parallel()

	t.Run("AHubThatRefusesIsAskedMoreRarely", func(t *testing.T) {
		t.Parallel()
		s := subscribing(t, rss{target: "/hub"}, nil)
		s.hub.status = http.StatusForbidden
		for try := range 5 {
			_, asked := s.look(t)
			require.Equal(t, 1, asked, "try %d", try+1)
			require.Equal(t, 1, s.roundOf(t, 1))
			got := s.state(t)
			require.Equal(t, "the hub answered 403: so it is", got.Why)
			if try == 4 {
				require.Equal(t, crawl.SubscriptionEnded, got.State)
				require.InDelta(t, 30*24, time.Until(got.NextAt).Hours(), 0.1)
				break
			}
			require.Equal(t, crawl.SubscriptionWanted, got.State)
			require.InDelta(t, float64(int(1)<<try), time.Until(got.NextAt).Hours(), 0.01)
			_, asked = s.look(t)
			require.Zero(t, asked)
			s.exec(t, "UPDATE websub_subscriptions SET next_at = now()")
		}
		s.exec(t, "UPDATE websub_subscriptions SET next_at = now()")
		s.look(t)
		require.Zero(t, s.count(t, "SELECT count(*) FROM websub_subscriptions"), "the feed may name it anew")
	})

	t.Run("OneThatDoesNotConfirmHasFailed", func(t *testing.T) {
		t.Parallel()
		s := subscribing(t, rss{target: "/hub"}, nil)
		s.look(t)
		require.Equal(t, 1, s.roundOf(t, 1))
		s.exec(t, "UPDATE websub_subscriptions SET next_at = now()")
		s.look(t)
		require.Equal(t, crawl.SubscriptionWanted, s.state(t).State)
		require.Equal(t, "it accepted, and did not ask whether that is wanted", s.state(t).Why)
		status, _ := s.confirm(t, s.hub.asked()[0])
		require.Equal(t, http.StatusNotFound, status, "it is too late")
	})

	t.Run("OneThatDeniesIsLeftAlone", func(t *testing.T) {
		t.Parallel()
		s := subscribing(t, rss{target: "/hub"}, nil)
		form := s.subscribed(t)
		status, _ := s.confirm(t, form, "hub.mode", "denied", "hub.reason", "no more\x00 of <b>this</b>")
		require.Equal(t, http.StatusOK, status)
		require.Equal(t, crawl.SubscriptionEnded, s.state(t).State)
		require.Equal(t, "the hub refused: no more of <b>this</b>", s.state(t).Why)
		require.Equal(t, http.StatusGone, s.tell(t, form, "sha1", sha1.New, form.Get("hub.secret")))
	})

	t.Run("OneThatSendsUsElsewhereIsFollowed", func(t *testing.T) {
		t.Parallel()
		s := subscribing(t, rss{target: "/hub"}, nil)
		s.hub.status, s.hub.location = http.StatusPermanentRedirect, s.web.URL(s.web.Hosts()[2], "/hub")
		s.look(t)
		require.Equal(t, 1, s.roundOf(t, 1))
		require.Equal(t, s.hub.location, s.state(t).Hub)
		_, asked := s.look(t)
		require.Equal(t, 1, asked)
		require.Equal(t, 1, s.roundOf(t, 2))
		first, second := s.hub.asked()[0], s.second.asked()[0]
		require.NotEqual(t, first.Get("hub.secret"), second.Get("hub.secret"), "it cannot speak for the other")
		status, _ := s.confirm(t, first)
		require.Equal(t, http.StatusNotFound, status)
		status, _ = s.confirm(t, second)
		require.Equal(t, http.StatusOK, status)
	})

	t.Run("ARedirectOfAnotherKindIsNot", func(t *testing.T) {
		t.Parallel()
		s := subscribing(t, rss{target: "/hub"}, nil)
		s.hub.status, s.hub.location = http.StatusFound, s.web.URL(s.web.Hosts()[2], "/hub")
		s.look(t)
		require.Equal(t, 1, s.roundOf(t, 1))
		require.Equal(t, crawl.SubscriptionWanted, s.state(t).State)
		require.Equal(t, "the hub answered 302", s.state(t).Why)
		require.Zero(t, s.count(t, "SELECT count(*) FROM page_crawls WHERE domain = $1", domainOf(t, s.hub.location)))
	})

	t.Run("ItsRobotsTxtHolds", func(t *testing.T) {
		t.Parallel()
		s := subscribing(t, rss{target: "/hub"}, nil)
		s.exec(t, "UPDATE robots SET verdict = 'disallow_all' WHERE domain = $1", domainOf(t, s.web.URL(s.web.Hosts()[1], "/")))
		s.look(t)
		s.roundOf(t, 1)
		require.Empty(t, s.hub.asked())
		require.Equal(t, crawl.SubscriptionWanted, s.state(t).State)
		require.Contains(t, s.state(t).Why, "robots.txt")
	})

	t.Run("OneThatNeverTellsIsFoundOut", func(t *testing.T) {
		t.Parallel()
		s := subscribing(t, rss{target: "/hub"}, nil)
		form := s.subscribed(t)
		s.changes(t, 5, func() {})
		require.Equal(t, crawl.SubscriptionEnded, s.state(t).State)
		require.Equal(t, "it has not told of changes", s.state(t).Why)
		require.Equal(t, http.StatusGone, s.tell(t, form, "sha1", sha1.New, form.Get("hub.secret")))
	})

	t.Run("OneThatTellsIsBelieved", func(t *testing.T) {
		t.Parallel()
		s := subscribing(t, rss{target: "/hub"}, nil)
		form := s.subscribed(t)
		s.changes(t, 6, func() {
			require.Equal(t, http.StatusNoContent, s.tell(t, form, "sha1", sha1.New, form.Get("hub.secret")))
			s.look(t)
		})
		require.Equal(t, crawl.SubscriptionActive, s.state(t).State)
		require.Greater(t, s.count(t, "SELECT (history #>> '{pushes,told}')::numeric::bigint FROM pages WHERE url = $1", s.page("/feed")), 3)
		require.Zero(t, s.count(t, "SELECT count(*) FROM domains WHERE recrawl ? 'pings'"), "its owner has told nothing")
	})

	t.Run("AHostThatIsNoHubIsAskedForOneFeedAtATime", func(t *testing.T) {
		t.Parallel()
		s := subscribing(t, rss{target: "/hub"}, nil)
		s.exec(t, `INSERT INTO websub_subscriptions (feed_page_id, domain, topic, named, hub, hub_domain, hub_origin)
			SELECT p.id, p.domain, p.url, s.named, s.hub, s.hub_domain, s.hub_origin FROM websub_subscriptions s, pages p WHERE p.url = $1`, s.page("/a"))
		_, asked := s.look(t)
		require.Equal(t, 1, asked)
		require.Equal(t, 1, s.roundOf(t, 1))
		s.exec(t, "UPDATE websub_subscriptions SET next_at = now() WHERE state = 'wanted'")
		_, asked = s.look(t)
		require.Zero(t, asked)
		status, _ := s.confirm(t, s.hub.asked()[0])
		require.Equal(t, http.StatusOK, status)
		s.exec(t, "UPDATE websub_subscriptions SET next_at = now() WHERE state = 'wanted'")
		_, asked = s.look(t)
		require.Equal(t, 1, asked, "now it is one")
		require.Equal(t, 1, s.roundOf(t, 1))
		require.Len(t, s.hub.asked(), 2)
		require.NotEqual(t, s.hub.asked()[0].Get("hub.secret"), s.hub.asked()[1].Get("hub.secret"))
	})

	t.Run("WhatItRepeatsOfASecretIsNotKept", func(t *testing.T) {
		t.Parallel()
		s := subscribing(t, rss{target: "/hub"}, nil)
		s.hub.status, s.hub.repeats = http.StatusBadRequest, true
		s.look(t)
		require.Equal(t, 1, s.roundOf(t, 1))
		form := s.hub.asked()[0]
		require.Contains(t, s.state(t).Why, "the hub answered 400: hub.callback=")
		for _, secret := range []string{form.Get("hub.secret")[:20], form.Get("hub.callback")[len(callbackURL+crawl.WebSubPath):][:20]} {
			require.NotContains(t, s.state(t).Why, secret)
			require.Zero(t, s.count(t, "SELECT count(*) FROM page_crawls WHERE strpos(error_message, $1) > 0", secret))
		}
	})

	t.Run("AFeedThatNamesOneHubAfterAnotherWaits", func(t *testing.T) {
		t.Parallel()
		s := subscribing(t, rss{target: "/hub"}, nil)
		s.exec(t, "UPDATE websub_subscriptions SET named = 'another', tries = 5, state = 'ended', asked_at = now(), next_at = now() + interval '30 days'")
		s.readAgain(t)
		got := s.state(t)
		require.Equal(t, crawl.SubscriptionWanted, got.State)
		require.InDelta(t, 24, time.Until(got.NextAt).Hours(), 0.1)
		require.Equal(t, 5, s.count(t, "SELECT tries FROM websub_subscriptions"))
	})

	t.Run("ADomainsFeedsDoNotNameOneHostAfterAnother", func(t *testing.T) {
		t.Parallel()
		s := subscribing(t, rss{target: "/hub"}, nil)
		s.exec(t, `INSERT INTO websub_subscriptions (feed_page_id, domain, topic, named, hub, hub_domain, hub_origin, asked_at, next_at)
			SELECT p.id, p.domain, p.url, 'h', 'h', 'elsewhere.example', 'h', now(), now() + interval '1 day' FROM pages p WHERE p.url = $1`, s.page("/a"))
		_, asked := s.look(t)
		require.Zero(t, asked)
	})

	t.Run("OnlyAHubThatWasToTellIsSilent", func(t *testing.T) {
		t.Parallel()
		s := subscribing(t, rss{target: "/hub"}, nil)
		s.exec(t, `UPDATE pages SET history = '{"pushes": {"missed": 9}}' WHERE url = $1`, s.page("/feed"))
		s.readAgain(t)
		require.Equal(t, crawl.SubscriptionWanted, s.state(t).State)
	})
}
