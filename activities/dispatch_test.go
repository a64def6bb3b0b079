package activities_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/activities"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/decide"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/internal/network"
	"github.com/mosey-web/mosey/internal/request"
)

func TestDispatch(t *testing.T) {
	t.Parallel()
	// prepare makes a run with due work for these domains, unclaimed.
	prepare := func(t *testing.T, set settings.Settings, hosts ...string) *testBundle {
		t.Helper()
		b := setup(t, options{settings: set})
		var seeds []urls.URL
		for _, h := range hosts {
			u, err := urls.Parse("https://" + h + "/")
			require.NoError(t, err)
			seeds = append(seeds, u)
		}
		_, err := b.store.AddSeeds(t.Context(), b.run.ID, seeds)
		require.NoError(t, err)
		return b
	}
	dispatch := func(t *testing.T, b *testBundle) activities.DispatchResult {
		t.Helper()
		res, err := activityCall[activities.DispatchResult](t, b.acts, b.acts.Dispatch, activities.DispatchInput{Run: runName})
		require.NoError(t, err)
		res.NextIn = 0 // see TestDispatchLooksAgain
		return res
	}
	finish := func(t *testing.T, b *testBundle, domain string) {
		t.Helper()
		b.exec(t, "UPDATE page_crawls SET outcome = 'success', completed_at = now() WHERE domain = $1", domain)
		done, err := b.store.FinishDomain(t.Context(), domain, func(f crawl.Facts) (crawl.Finish, bool) {
			return decide.End(decide.Facts{Facts: f}, "")
		})
		require.NoError(t, err)
		require.True(t, done)
	}
	status := func(t *testing.T, b *testBundle) (crawl.RunStatus, string) {
		t.Helper()
		run, err := b.store.Run(t.Context(), runName)
		require.NoError(t, err)
		return run.Status, run.Reason
	}

	t.Run("StartsDomainsUpToTheCap", func(t *testing.T) {
		t.Parallel()
		b := prepare(t, settings.Settings{MaxDomains: new(2), PagesPerActivity: new(7)}, "a.test", "b.test", "c.test")
		require.Equal(t, activities.DispatchResult{Started: 2, Active: 2}, dispatch(t, b))
		require.ElementsMatch(t, []startedDomain{{"a.test", runName, 7}, {"b.test", runName, 7}}, b.starter.domains)
		require.Equal(t, activities.DispatchResult{Active: 2}, dispatch(t, b), "the cap is reached")

		finish(t, b, "a.test")
		require.Equal(t, activities.DispatchResult{Started: 1, Active: 2}, dispatch(t, b))
		require.Equal(t, startedDomain{"c.test", runName, 7}, b.starter.domains[2])
		require.Len(t, b.starter.domains, 3)
	})

	t.Run("StartsTheMostImportantFirst", func(t *testing.T) {
		t.Parallel()
		b := prepare(t, settings.Settings{MaxDomains: new(1)}, "a.test", "b.test")
		b.exec(t, "UPDATE run_domains SET priority = 1 WHERE domain = 'b.test'")
		dispatch(t, b)
		require.Equal(t, []startedDomain{{"b.test", runName, settings.PagesPerActivityAuto}}, b.starter.domains)
	})

	t.Run("EndsTheRunWhenNothingIsLeft", func(t *testing.T) {
		t.Parallel()
		b := prepare(t, settings.Settings{}, "a.test")
		require.False(t, dispatch(t, b).Ended)
		require.False(t, dispatch(t, b).Ended, "a.test is active")
		finish(t, b, "a.test")
		const why = "complete"
		require.Equal(t, activities.DispatchResult{Ended: true, Reason: why}, dispatch(t, b))
		is, reason := status(t, b)
		require.Equal(t, crawl.RunDone, is)
		require.Equal(t, why, reason)
		require.Equal(t, activities.DispatchResult{Ended: true, Reason: why}, dispatch(t, b))
	})

	t.Run("WaitsForADomainThatAnotherRunHolds", func(t *testing.T) {
		t.Parallel()
		b := prepare(t, settings.Settings{}, "a.test")
		other, err := b.store.EnsureRun(t.Context(), "other", "test", settings.Settings{})
		require.NoError(t, err)
		u, err := urls.Parse("https://a.test/")
		require.NoError(t, err)
		_, err = b.store.AddSeeds(t.Context(), other.ID, []urls.URL{u})
		require.NoError(t, err)
		claimed, err := b.store.ClaimDomains(t.Context(), other.ID, 1)
		require.NoError(t, err)
		require.Len(t, claimed, 1)
		require.Equal(t, activities.DispatchResult{}, dispatch(t, b), "its workflow serves this run too")
	})

	t.Run("GoesOnWhileAnotherRunIsJustClaimingItsDomain", func(t *testing.T) {
		t.Parallel()
		b := prepare(t, settings.Settings{}, "a.test")
		tx, err := b.store.Pool().Begin(t.Context())
		require.NoError(t, err)
		_, err = tx.Exec(t.Context(), "SELECT FROM domains WHERE domain = 'a.test' FOR UPDATE")
		require.NoError(t, err)
		res, err := activityCall[activities.DispatchResult](t, b.acts, b.acts.Dispatch, activities.DispatchInput{Run: runName})
		require.NoError(t, err)
		require.Equal(t, activities.DispatchResult{NextIn: settings.Duration(time.Second)}, res)
		is, _ := status(t, b)
		require.Equal(t, crawl.RunRunning, is)
		require.NoError(t, tx.Rollback(t.Context()))
		require.Equal(t, activities.DispatchResult{Started: 1, Active: 1}, dispatch(t, b))
	})

	t.Run("KeepsAStandingRun", func(t *testing.T) {
		t.Parallel()
		b := prepare(t, settings.Settings{WhenDone: new(settings.WhenDoneWait)})
		require.Equal(t, activities.DispatchResult{}, dispatch(t, b))
		is, _ := status(t, b)
		require.Equal(t, crawl.RunRunning, is)
	})

	t.Run("DoesNothingForAStoppedRun", func(t *testing.T) {
		t.Parallel()
		b := prepare(t, settings.Settings{}, "a.test")
		_, err := b.store.StopRun(t.Context(), b.run.ID, "enough")
		require.NoError(t, err)
		require.Equal(t, activities.DispatchResult{Ended: true, Stopped: true, Reason: "enough"}, dispatch(t, b))
		require.Empty(t, b.starter.domains)
	})

	t.Run("WaitsWhileItsRunIsPaused", func(t *testing.T) {
		t.Parallel()
		b := prepare(t, settings.Settings{}, "a.test")
		pause := func(until time.Time) {
			_, err := b.store.ChangeRun(t.Context(), runName, crawl.RunChange{Action: crawl.ChangePause, SetBy: "me", Until: until})
			require.NoError(t, err)
		}
		pause(time.Time{})
		look := func() activities.DispatchResult {
			res, err := activityCall[activities.DispatchResult](t, b.acts, b.acts.Dispatch, activities.DispatchInput{Run: runName})
			require.NoError(t, err)
			return res
		}
		require.Equal(t, activities.DispatchResult{Paused: true, Reason: "paused by me"}, look())
		pause(time.Now().Add(time.Hour))
		require.InDelta(t, float64(time.Hour), float64(look().NextIn), float64(time.Minute))
		b.exec(t, "UPDATE crawl_runs SET paused_until = now()")
		res := look()
		require.Equal(t, 1, res.Started, "the pause is over")
		is, why := status(t, b)
		require.Equal(t, crawl.RunRunning, is)
		require.Empty(t, why)
	})

	t.Run("EndsARunWhoseTimeIsOver", func(t *testing.T) {
		t.Parallel()
		b := prepare(t, settings.Settings{MaxTime: new(settings.Duration(time.Hour)), MaxDomains: new(1)}, "a.test", "b.test")
		require.Equal(t, 1, dispatch(t, b).Started)
		b.exec(t, "UPDATE crawl_runs SET began_at = now() - interval '2 hours'")
		require.Zero(t, dispatch(t, b), "what is active has no more to ask, and ends by itself")
		done, err := b.store.FinishDomain(t.Context(), "a.test", func(f crawl.Facts) (crawl.Finish, bool) { return decide.End(decide.Facts{Facts: f}, "") })
		require.NoError(t, err)
		require.True(t, done)
		res := dispatch(t, b)
		require.True(t, res.Ended)
		require.Equal(t, "time limit of 1h0m0s reached (max_time)", res.Reason)

		_, err = b.store.ChangeRun(t.Context(), runName, crawl.RunChange{
			Action: crawl.ChangeSet, SetBy: "me", Settings: settings.Settings{MaxTime: new(settings.Duration(5 * time.Hour))},
		})
		require.NoError(t, err)
		_, err = b.store.ChangeRun(t.Context(), runName, crawl.RunChange{Action: crawl.ChangeResume, SetBy: "me"})
		require.NoError(t, err)
		require.Equal(t, 1, dispatch(t, b).Started)
	})

	t.Run("HasDomainsMakeRoom", func(t *testing.T) {
		t.Parallel()
		b := prepare(t, settings.Settings{MaxDomains: new(1)}, "a.test", "b.test")
		crowded := func() (is bool) {
			require.NoError(t, b.store.Pool().QueryRow(t.Context(), "SELECT has_waiting_domains FROM crawl_runs").Scan(&is))
			return is
		}
		dispatch(t, b)
		require.True(t, crowded())
		finish(t, b, "a.test")
		dispatch(t, b)
		require.False(t, crowded())
	})

	t.Run("KeepsARunOfWhichADomainIsPaused", func(t *testing.T) {
		t.Parallel()
		b := prepare(t, settings.Settings{}, "a.test")
		require.NoError(t, b.control("a.test", crawl.ControlPause, nil))
		require.Equal(t, activities.DispatchResult{}, dispatch(t, b))
		require.NoError(t, b.store.LiftControls(t.Context(), "a.test", "a test", crawl.ControlPause))
		require.Equal(t, activities.DispatchResult{Started: 1, Active: 1}, dispatch(t, b))
	})

	t.Run("LooksAgainWhenSomethingIsDue", func(t *testing.T) {
		t.Parallel()
		b := prepare(t, settings.Settings{WhenDone: new(settings.WhenDoneWait)}, "a.test", "b.test")
		look := func() time.Duration {
			res, err := activityCall[activities.DispatchResult](t, b.acts, b.acts.Dispatch, activities.DispatchInput{Run: runName})
			require.NoError(t, err)
			return time.Duration(res.NextIn)
		}
		require.Equal(t, time.Minute, look(), "a wake-up can be lost while domains are active")
		finish(t, b, "a.test")
		finish(t, b, "b.test")
		require.Zero(t, look(), "an idle run is woken")
		b.exec(t, "UPDATE run_domains SET next_due_at = now() + interval '1 hour' WHERE domain = 'a.test'")
		require.InDelta(t, time.Hour, look(), float64(time.Minute))
	})

	t.Run("ReclaimsADomainWhoseStartWasLost", func(t *testing.T) {
		t.Parallel()
		b := prepare(t, settings.Settings{}, "a.test")
		b.starter.err = errAway
		require.Equal(t, activities.DispatchResult{Failed: 1, Active: 1}, dispatch(t, b), "which harms no other")
		b.starter.err = nil
		require.Equal(t, activities.DispatchResult{Active: 1}, dispatch(t, b), "the claim lasts a minute")
		b.exec(t, "UPDATE domains SET claim_expires_at = now() - interval '1 second'")
		require.Equal(t, activities.DispatchResult{Started: 1, Active: 1}, dispatch(t, b))
	})

	t.Run("RefusesARunThatIsNone", func(t *testing.T) {
		t.Parallel()
		b := setup(t, options{})
		_, err := activityCall[activities.DispatchResult](t, b.acts, b.acts.Dispatch, activities.DispatchInput{Run: "nope"})
		requireBadInput(t, err, "nope")
	})
}

func TestFinishDomain(t *testing.T) {
	t.Parallel()
	finish := func(t *testing.T, b *testBundle, in activities.FinishDomainInput) bool {
		t.Helper()
		in.Domain = b.site
		res, err := activityCall[activities.FinishDomainResult](t, b.acts, b.acts.FinishDomain, in)
		require.NoError(t, err)
		return res.Finished
	}
	domain := func(t *testing.T, b *testBundle) report.Domain {
		t.Helper()
		d, err := b.store.Domain(t.Context(), b.site)
		require.NoError(t, err)
		return d
	}

	t.Run("RefusesWhileSomethingIsDue", func(t *testing.T) {
		t.Parallel()
		b := setup(t, options{})
		b.seed(t, "/")
		require.False(t, finish(t, b, activities.FinishDomainInput{}))
		require.Equal(t, crawl.DomainActive, domain(t, b).Status)
		require.NotEmpty(t, domain(t, b).Claimed)

		b.allowAll(t, b.page("/"))
		_, err := b.fetchPages(t, 1)
		require.NoError(t, err)
		require.True(t, finish(t, b, activities.FinishDomainInput{}))
		require.Equal(t, crawl.DomainExhausted, domain(t, b).Status)
		require.Empty(t, domain(t, b).Claimed)
	})

	t.Run("PutsAwayWhateverIsDue", func(t *testing.T) {
		t.Parallel()
		b := setup(t, options{})
		b.seed(t, "/")
		require.True(t, finish(t, b, activities.FinishDomainInput{
			Defer: true, Wait: settings.Duration(2 * time.Hour), Reason: string(reasons.RetryAfter),
		}))
		d := domain(t, b)
		require.Equal(t, crawl.DomainPending, d.Status)
		require.Equal(t, string(reasons.RetryAfter), d.Reason)
		require.Empty(t, d.Claimed)
		require.InDelta(t, 2*time.Hour, time.Until(d.DeferredUntil), float64(time.Minute))
		claimed, err := b.store.ClaimDomains(t.Context(), b.run.ID, 10)
		require.NoError(t, err)
		require.Empty(t, claimed)
	})
}

// setControl runs SetControl for the site.
func (b *testBundle) setControl(t *testing.T, c crawl.Control) {
	t.Helper()
	c.SetBy = "a test"
	_, err := activityCall[struct{}](t, b.acts, b.acts.SetControl, activities.SetControlInput{Domain: b.site, Control: c})
	require.NoError(t, err)
}

func TestChangeDomain(t *testing.T) {
	t.Parallel()

	t.Run("SetsItsDelayAndBudget", func(t *testing.T) {
		t.Parallel()
		b := setup(t, options{})
		b.seed(t, "/", "/p/1")
		b.allowAll(t, b.page("/"))
		b.setControl(t, crawl.Control{Type: crawl.ControlDelay, Value: json.RawMessage("60000")})
		b.setControl(t, crawl.Control{Type: crawl.ControlBudget, Value: json.RawMessage("1")})
		d, err := b.store.Domain(t.Context(), b.site)
		require.NoError(t, err)
		require.Equal(t, time.Minute, d.Controls.Delay(), "what is not given stays")
		budget, _ := d.Controls.Budget()
		require.EqualValues(t, 1, budget)
		res, err := b.fetchPages(t, 5)
		require.NoError(t, err)
		require.Equal(t, activities.FetchPagesResult{NextStep: activities.NextStep{Next: activities.StepFinish}, Closed: 1}, res, "its budget is spent")
		b.requireSlot(t, b.web.Log()[0], time.Minute, reasons.Domain)
	})

	t.Run("BlocksItUntilItIsSeededAgain", func(t *testing.T) {
		t.Parallel()
		b := setup(t, options{})
		b.seed(t, "/")
		b.allowAll(t, b.page("/"))
		b.setControl(t, crawl.Control{Type: crawl.ControlStop, Reason: "a wish"})
		d, err := b.store.Domain(t.Context(), b.site)
		require.NoError(t, err)
		require.Equal(t, crawl.DomainBlocked, d.Status)
		require.Equal(t, "a wish", d.Reason)
		_, err = b.fetchPages(t, 1)
		require.NoError(t, err)
		require.Empty(t, b.web.Log())

		b.seed(t, "/p/1")
		_, err = b.fetchPages(t, 1)
		require.NoError(t, err)
		require.Len(t, b.web.Log(), 1)
	})

	t.Run("StoresADecisionOnceHoweverOftenItIsRun", func(t *testing.T) {
		t.Parallel()
		b := setup(t, options{})
		b.seed(t, "/")
		pause := crawl.Control{Type: crawl.ControlPause, Reason: "maintenance"}
		b.setControl(t, pause)
		require.NoError(t, b.store.LiftControls(t.Context(), b.site, "another", crawl.ControlPause))
		b.setControl(t, pause) // the same activity, its answer lost
		require.Equal(t, 1, b.count(t, "SELECT count(*) FROM domain_controls"))
		facts, err := b.store.Facts(t.Context(), b.site)
		require.NoError(t, err)
		require.Empty(t, facts.Domain.Controls, "what was decided meanwhile stands")
	})

	t.Run("AddsPagesToARun", func(t *testing.T) {
		t.Parallel()
		b := setup(t, options{})
		b.seed(t, "/")
		in := activities.AddURLsInput{Domain: b.site, Run: runName, URLs: []string{b.page("/"), b.page("/new"), b.page("/new#x")}}
		res, err := activityCall[activities.AddURLsResult](t, b.acts, b.acts.AddURLs, in)
		require.NoError(t, err)
		require.Equal(t, 1, res.Added)
		require.Empty(t, b.report(t, "/new").Crawls[0].Outcome)
	})

	t.Run("RefusesAnUnknownTimeZoneAndStoresNothing", func(t *testing.T) {
		t.Parallel()
		b := setup(t, options{})
		b.seed(t, "/")
		in := activities.SetControlInput{Domain: b.site, Control: crawl.Control{
			Type: crawl.ControlWindow, Value: json.RawMessage(`"Mon 22:00-06:00 UTC, Tue 22:00-06:00 Europe/Berln"`), SetBy: "a test",
		}}
		_, err := activityCall[struct{}](t, b.acts, b.acts.SetControl, in)
		requireBadInput(t, err, `window "Tue 22:00-06:00 Europe/Berln": time zone "Europe/Berln" is unknown`)
		d, err := b.store.Domain(t.Context(), b.site)
		require.NoError(t, err)
		require.Empty(t, d.Controls)
	})

	t.Run("RefusesWhatIsNotThere", func(t *testing.T) {
		t.Parallel()
		b := setup(t, options{})
		refused := func(activity, in any, why string) {
			_, err := activityCall[struct{}](t, b.acts, activity, in)
			requireBadInput(t, err, why)
		}
		refused(b.acts.SetControl, activities.SetControlInput{Domain: b.site, Control: crawl.Control{
			Type: crawl.ControlPause, SetBy: "a test", Until: time.Now().Add(-time.Hour),
		}}, "in the future")
		refused(b.acts.AddURLs, activities.AddURLsInput{Domain: b.site, Run: "nope"}, "nope")
		refused(b.acts.AddURLs, activities.AddURLsInput{Domain: b.site, Run: runName, URLs: []string{"no url"}}, `"no url"`)
		require.Zero(t, b.count(t, "SELECT count(*) FROM pages"))
	})
}

func TestNew(t *testing.T) {
	t.Parallel()
	_, err := activities.New(activities.Config{})
	require.ErrorContains(t, err, "Config needs a store, a fetcher, a resolver, a network monitor and a starter")
	b := setup(t, options{})
	_, err = activities.New(activities.Config{
		Store: b.store, Starter: b.starter, Requests: request.Config{
			Fetcher: noFetcher{}, Resolver: noResolver{}, Network: network.New(network.Config{}),
		},
	})
	require.ErrorIs(t, err, crawl.ErrInvalid)
}

// noFetcher and noResolver are never called.
type (
	noFetcher  struct{ activities.Fetcher }
	noResolver struct{ activities.Resolver }
)
