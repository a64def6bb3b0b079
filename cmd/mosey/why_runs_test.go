package main

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/settings"
)

// The first sentence about a page answers for the page, whichever of its runs is looked at first.
func TestWhyPageOfSeveralRuns(t *testing.T) {
	t.Parallel()

	// stopped stops the run of the rows, and seeds the page in another one.
	stopped := func(t *testing.T) *rows {
		t.Helper()
		r := newRows(t, settings.Settings{}).allowed()
		_, err := r.store.StopRun(t.Context(), r.run.ID, "")
		require.NoError(t, err)
		r.run, err = r.store.EnsureRun(t.Context(), "again", "test", settings.Settings{})
		require.NoError(t, err)
		r.seed(r.run, aPage)
		return r
	}
	blocked := crawl.Control{Type: crawl.ControlBlock, Reason: "the owner asked"}
	const isBlocked = "not crawled: the domain is blocked by ann@example.org: the owner asked"

	t.Run("IsPendingInTheRunThatGoesOn", func(t *testing.T) {
		t.Parallel()
		r := stopped(t)
		r.requireWhy(aPage, "pending: the run will request the page", "run small-web is stopped")
	})

	t.Run("WasFetchedByTheRunThatGoesOn", func(t *testing.T) {
		t.Parallel()
		r := stopped(t).fetched(crawl.Attempt{})
		r.requireWhy(aPage, "done in run again: ok 200 on ", "run small-web is stopped")
		require.Contains(t, serveRows(t, r.commandHarness).page("/url?u="+aPage), "done in run again: ok 200 on ")
	})

	t.Run("WasFetchedBeforeAnotherRunSkippedIt", func(t *testing.T) {
		t.Parallel()
		r := newRows(t, settings.Settings{}).allowed().fetched(crawl.Attempt{})
		again, err := r.store.EnsureRun(t.Context(), "again", "test", settings.Settings{})
		require.NoError(t, err)
		r.seed(again, aPage)
		facts, err := r.store.Facts(t.Context(), aDomain)
		require.NoError(t, err)
		_, err = r.store.Record(t.Context(), crawl.Attempt{
			ID: facts.Runs[0].Attempt.ID, Domain: aDomain, Outcome: crawl.OutcomeSkipped, Skipped: reasons.MinRefetch,
			EndedAt: time.Now(),
		})
		require.NoError(t, err)
		r.requireWhy(aPage, "done in run small-web: ok 200 on ")
	})

	t.Run("WasFetchedAsASeedAlthoughItLooksLikeATrap", func(t *testing.T) {
		t.Parallel()
		r := newRows(t, settings.Settings{}).allowed().fetched(crawl.Attempt{})
		r.exec("UPDATE pages SET trap = 'far date', trap_evidence = 'the year 9999', fetched_at = now()")
		r.requireWhy(aPage, "done in run small-web: ok 200 on ")
	})

	t.Run("HasADomainThatWasBlockedSince", func(t *testing.T) {
		t.Parallel()
		r := newRows(t, settings.Settings{}).allowed().fetched(crawl.Attempt{
			Links: []crawl.Link{{URL: aOrigin + "/more", Domain: aDomain, Origin: aOrigin}},
		}).control(blocked)
		r.slot(-1, "")
		r.requireWhy(aPage, isBlocked, "run small-web: ok 200 on ")
		r.requireWhy(aOrigin+"/more", isBlocked+"; known from links, but no run requests it: ")
		r.requireWhy(aOrigin+"/nowhere", isBlocked+"; unknown: the page was never seeded")
		for _, about := range []string{aDomain, aPage, aOrigin + "/more"} {
			require.NotContains(t, r.Print("why", about), "it may be asked")
		}
		require.Contains(t, serveRows(t, r.commandHarness).page("/url?u="+aPage), isBlocked)
	})

	t.Run("HasADomainThatWasBlockedBeforeItWasKnown", func(t *testing.T) {
		t.Parallel()
		r := newRows(t, settings.Settings{})
		r.Print("block", "b.example", "--reason", "the owner asked")
		for _, about := range []string{"b.example", "https://b.example/"} {
			r.requireWhy(about, "not crawled: the domain is blocked by ")
		}
	})

	t.Run("SaysOnceWhatRobotsTxtSays", func(t *testing.T) {
		t.Parallel()
		r := newRows(t, settings.Settings{}).allowed().fetched(crawl.Attempt{})
		for _, name := range []string{"again", "third"} {
			var err error
			r.run, err = r.store.EnsureRun(t.Context(), name, "test", settings.Settings{})
			require.NoError(t, err)
			r.seed(r.run, aPage)
			r.slot(-1, "")
			r.fetched(crawl.Attempt{})
		}
		require.Equal(t, 1, strings.Count(r.Print("why", aPage), "robots.txt allows it"))
	})

	t.Run("HasADomainThatIsNotOnTheAllowList", func(t *testing.T) {
		t.Parallel()
		r := newRows(t, settings.Settings{})
		r.Print("list", "add", "allow", aDomain)
		const answer = "not crawled: the domain is not on the allow list"
		for _, about := range []string{"b.example", "https://b.example/"} {
			r.requireWhy(about, answer)
			require.Contains(t, r.Print("why", about), "; unknown: the page was never seeded")
		}
	})
}
