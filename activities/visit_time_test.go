package activities_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/activities"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/manners/web"
)

// shutFor is a time of the day that begins in so many hours, to the hour, and lasts for one.
func shutFor(hours int) web.VisitTime {
	const day = 24 * time.Hour
	now := time.Now().UTC().Truncate(time.Hour)
	from := now.Add(time.Duration(hours)*time.Hour).Sub(now.Truncate(day)) % day
	return web.VisitTime{From: from, To: (from + time.Hour) % day}
}

// finishes ends the domain's workflow, and returns when the domain is due then.
func (b *testBundle) finishes(t *testing.T, res activities.FetchPagesResult) time.Time {
	t.Helper()
	require.Equal(t, activities.StepFinish, res.Next)
	require.Equal(t, reasons.Window, res.Reason)
	finished, err := activityCall[activities.FinishDomainResult](t, b.acts, b.acts.FinishDomain,
		activities.FinishDomainInput{Domain: b.site, Reason: string(res.Reason)})
	require.NoError(t, err)
	require.True(t, finished.Finished, "a finish that sees no window would have the workflow go on, and finish, for ever")
	due, _, err := b.store.NextDue(t.Context(), b.run.ID)
	require.NoError(t, err)
	return due
}

// readAgo has the site's robots.txt be of an earlier time.
func (b *testBundle) readAgo(t *testing.T, ago string) {
	t.Helper()
	b.exec(t, `UPDATE robots SET read_at = now() - $1::interval, fetched_at = now() - $1::interval, expires_at = now()
		WHERE domain = $2`, ago, b.site)
}

func TestVisitTime(t *testing.T) {
	t.Parallel()
	at := func(v web.VisitTime) time.Time {
		opens := time.Now().UTC().Truncate(24 * time.Hour).Add(v.From)
		if opens.Before(time.Now()) {
			opens = opens.Add(24 * time.Hour)
		}
		return opens
	}

	t.Run("ADomainIsDueWhenItsTimeComes", func(t *testing.T) {
		t.Parallel()
		shut := shutFor(5)
		b := setup(t, options{sites: []web.Site{{Pages: 2, Plain: true, VisitTime: shut}}})
		b.seed(t, "/")
		b.readRobots(t)
		res, err := b.fetchPages(t, 10)
		require.NoError(t, err)
		require.WithinDuration(t, at(shut), b.finishes(t, res), time.Second)
		require.Len(t, b.web.Log(), 1, "robots.txt alone was requested, as nothing was known of it")
		activity, err := b.store.ActivityUpTo(t.Context(), b.run.ID, 0)
		require.NoError(t, err)
		require.Equal(t, crawl.Activity{Suspended: 1}, activity, "the run waits for it")
		claimed, err := b.store.ClaimDomains(t.Context(), b.run.ID, 10)
		require.NoError(t, err)
		require.Empty(t, claimed)
		require.Empty(t, web.Judge(b.web.Log(), web.Expectations{Plan: b.web.Plan, Partial: true}).Violations())
	})

	t.Run("HoldsForRobotsTooAndEndsWhenItIsReadAnew", func(t *testing.T) {
		t.Parallel()
		b := setup(t, options{sites: []web.Site{{Pages: 2, Plain: true, VisitTime: shutFor(5)}}})
		b.seed(t, "/")
		b.readRobots(t)
		b.readAgo(t, "25 hours") // it has expired
		res, err := b.fetchPages(t, 10)
		require.NoError(t, err)
		due := b.finishes(t, res)
		robots, err := b.fetchRobots(t, b.robotsInput(t))
		require.NoError(t, err)
		require.True(t, robots.Done)
		require.Equal(t, "the request window is closed", robots.Detail)
		require.Len(t, b.web.Log(), 1)

		// another robots.txt, as if read when the window was open
		stored := b.robots(t)
		stored.VisitTimes = ""
		stored.Lifetime = crawl.Millis(time.Hour)
		_, err = b.store.SaveRobots(t.Context(), stored)
		require.NoError(t, err)
		again, _, err := b.store.NextDue(t.Context(), b.run.ID)
		require.NoError(t, err)
		require.True(t, again.Before(due.Add(-time.Hour)), "due at %s, not at %s as the old one had it", again, due)
		_, err = b.store.ClaimDomains(t.Context(), b.run.ID, 10)
		require.NoError(t, err)
		res, err = b.fetchPages(t, 10)
		require.NoError(t, err)
		require.Equal(t, 3, res.Closed)
	})

	t.Run("ARobotsOfLongAgoIsAskedForAtAnyTime", func(t *testing.T) {
		t.Parallel()
		b := setup(t, options{sites: []web.Site{{Pages: 2, Plain: true, VisitTime: shutFor(5)}}})
		b.seed(t, "/")
		b.readRobots(t)
		b.readAgo(t, "49 hours")
		res, err := b.fetchPages(t, 10)
		require.NoError(t, err)
		require.Equal(t, activities.StepRobots, res.Next)
		b.readRobots(t)
		res, err = b.fetchPages(t, 10)
		require.NoError(t, err)
		b.finishes(t, res)
		require.Empty(t, b.pages())
	})

	t.Run("ADomainIsLookedAtOnceTheWishIsTooOld", func(t *testing.T) {
		t.Parallel()
		b := setup(t, options{sites: []web.Site{{Pages: 2, Plain: true, VisitTime: shutFor(5)}}})
		b.seed(t, "/")
		b.readRobots(t)
		b.readAgo(t, "45 hours")
		res, err := b.fetchPages(t, 10)
		require.NoError(t, err)
		require.WithinDuration(t, time.Now().Add(3*time.Hour), b.finishes(t, res), time.Minute)
	})

	t.Run("AnOpenTimeIsKept", func(t *testing.T) {
		t.Parallel()
		now := time.Now().UTC().Truncate(time.Hour)
		from := now.Sub(now.Truncate(24 * time.Hour))
		open := web.VisitTime{From: from, To: (from + 2*time.Hour) % (24 * time.Hour)}
		b := setup(t, options{sites: []web.Site{{Pages: 2, Plain: true, VisitTime: open}}})
		b.seed(t, "/")
		b.readRobots(t)
		res, err := b.fetchPages(t, 10)
		require.NoError(t, err)
		require.Equal(t, 3, res.Closed)
		require.Empty(t, web.Judge(b.web.Log(), web.Expectations{Plan: b.web.Plan, Partial: true}).Violations())
	})

	t.Run("TwoOriginsAreBothAsked", func(t *testing.T) {
		t.Parallel()
		shut := shutFor(4)
		b := setup(t, options{})
		b.seed(t, "/")
		b.allowAll(t, b.page("/"))
		for origin, windows := range map[string]string{"https://": "Mon-Sun 00:00-24:00 UTC", "http://www.": window(shut)} {
			_, err := b.store.SaveRobots(t.Context(), crawl.Robots{
				Origin: origin + b.site, Domain: b.site, Agent: agent, Verdict: crawl.RobotsRules, VisitTimes: windows, Lifetime: crawl.Millis(time.Hour),
			})
			require.NoError(t, err)
		}
		res, err := b.fetchPages(t, 10)
		require.NoError(t, err)
		require.WithinDuration(t, at(shut), b.finishes(t, res), time.Second)
		require.Empty(t, b.web.Log())
	})

	t.Run("APersonsWindowHoldsBesideIt", func(t *testing.T) {
		t.Parallel()
		shut := shutFor(5)
		b := setup(t, options{sites: []web.Site{{Pages: 2, Plain: true, VisitTime: shut}}})
		b.seed(t, "/")
		b.readRobots(t)
		require.NoError(t, b.control(b.site, crawl.ControlWindow, "Mon-Sun 00:00-24:00 UTC"))
		res, err := b.fetchPages(t, 10)
		require.NoError(t, err)
		require.WithinDuration(t, at(shut), b.finishes(t, res), time.Second)
	})
}

// window is a time of the day as a window of the week.
func window(v web.VisitTime) string {
	text := v.String()
	return "Mon-Sun " + text[:2] + ":" + text[2:4] + "-" + text[5:7] + ":" + text[7:] + " UTC"
}
