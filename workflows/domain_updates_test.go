package workflows_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"github.com/mosey-web/mosey/activities"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/workflows"
)

func TestPause(t *testing.T) {
	t.Parallel()

	t.Run("KeepsTheRestOfTheWaitForResume", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.fetches = []answer[activities.FetchPagesResult]{says(fetched(time.Hour, crawl.ReasonDelay))}
		s.after(10*time.Minute, func() { s.mustUpdate(workflows.UpdatePause, workflows.Pause{Reason: "owner asked"}) })
		s.after(20*time.Minute, func() {
			state := s.state()
			require.True(t, state.Paused)
			require.Equal(t, "owner asked", state.Why)
			s.wake(workflows.Wake{}) // no reason to go on
		})
		s.after(3*time.Hour, func() { s.mustUpdate(workflows.UpdateResume) })
		s.finished()
		require.Equal(t, []string{"FetchPages", "FetchPages", "FinishDomain"}, s.names())
		require.Equal(t, 50*time.Minute, s.timers[len(s.timers)-1])
		require.GreaterOrEqual(t, s.gap(1), 3*time.Hour+50*time.Minute)
	})

	t.Run("InterruptsAFetchAndResumeFetchesAgain", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		pause := s.inside(func() { s.mustUpdate(workflows.UpdatePause, workflows.Pause{}) })
		s.fetches = []answer[activities.FetchPagesResult]{meanwhile(func() {
			pause()
			s.interrupted()
			s.after(time.Hour, func() { s.mustUpdate(workflows.UpdateResume) })
		}, fetched(0, ""))}
		s.finished()
		require.Equal(t, []string{"FetchPages", "FetchPages", "FinishDomain"}, s.names())
		require.GreaterOrEqual(t, s.gap(1), time.Hour)
	})

	t.Run("IsShownInTheSearchAttributes", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		status := temporal.NewSearchAttributeKeyKeyword(crawl.AttrStatus)
		for _, v := range []string{"paused", "running"} {
			s.env.OnUpsertTypedSearchAttributes(temporal.NewSearchAttributes(status.ValueSet(v))).Return(nil).Once()
		}
		s.fetches = []answer[activities.FetchPagesResult]{says(fetched(time.Hour, crawl.ReasonDelay))}
		s.after(time.Minute, func() { s.mustUpdate(workflows.UpdatePause, workflows.Pause{}) })
		s.after(2*time.Minute, func() { s.mustUpdate(workflows.UpdateResume) })
		s.finished()
		s.env.AssertExpectations(t)
	})
}

func TestStop(t *testing.T) {
	t.Parallel()

	stop := func(s *script) { s.mustUpdate(workflows.UpdateStop, workflows.Stop{Reason: "owner asked"}) }
	stopped := func(t *testing.T, s *script) {
		t.Helper()
		require.Equal(t, []string{"FetchPages", "BlockDomain", "FinishDomain"}, s.names())
		require.Equal(t, activities.BlockDomainInput{Domain: host, Reason: "stopped: owner asked"}, s.calls[1].in)
		require.Equal(t, activities.FinishDomainInput{Domain: host, PutAway: true, Reason: "stopped: owner asked"}, s.calls[2].in)
	}

	t.Run("EndsAWait", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.fetches = []answer[activities.FetchPagesResult]{says(fetched(time.Hour, crawl.ReasonDelay))}
		s.after(time.Minute, func() { stop(s) })
		s.finished()
		stopped(t, s)
		require.Less(t, s.calls[2].at, time.Hour)
	})

	t.Run("EndsAPause", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.fetches = []answer[activities.FetchPagesResult]{says(fetched(time.Hour, crawl.ReasonDelay))}
		s.after(time.Minute, func() { s.mustUpdate(workflows.UpdatePause, workflows.Pause{}) })
		s.after(2*time.Minute, func() { stop(s) })
		s.finished()
		stopped(t, s)
	})

	t.Run("InterruptsAFetch", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		begin := s.inside(func() { stop(s) })
		s.fetches = []answer[activities.FetchPagesResult]{meanwhile(func() {
			begin()
			s.interrupted()
		}, fetched(0, ""))}
		s.finished()
		stopped(t, s)
	})

	t.Run("GivesItsOwnReasonWhereThePersonGivesNone", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.fetches = []answer[activities.FetchPagesResult]{says(fetched(time.Hour, crawl.ReasonDelay))}
		s.after(time.Minute, func() { s.mustUpdate(workflows.UpdateStop, workflows.Stop{}) })
		s.finished()
		require.Equal(t, activities.BlockDomainInput{Domain: host, Reason: "stopped"}, s.calls[1].in)
	})
}

func TestSettings(t *testing.T) {
	t.Parallel()

	t.Run("AreStoredAtOnce", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		delay, budget := crawl.Duration(30*time.Second), int64(crawl.Unlimited)
		s.fetches = []answer[activities.FetchPagesResult]{says(fetched(time.Hour, crawl.ReasonDelay))}
		s.after(time.Minute, func() { s.mustUpdate(workflows.UpdateSetDelay, workflows.SetDelay{Delay: delay}) })
		s.after(2*time.Minute, func() { s.mustUpdate(workflows.UpdateSetBudget, workflows.SetBudget{MaxPages: budget}) })
		s.finished()
		require.Equal(t, []activities.SetDomainInput{
			{Domain: host, Delay: &delay}, {Domain: host, MaxPages: &budget},
		}, inputs[activities.SetDomainInput](s))
		require.Less(t, s.calls[2].at, 3*time.Minute)
	})

	t.Run("ThatCannotBeStoredFailTheUpdateAndNothingElse", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.fetches = []answer[activities.FetchPagesResult]{says(fetched(time.Hour, crawl.ReasonDelay))}
		s.others = []answer[none]{fails[none](temporal.NewNonRetryableApplicationError("no such domain", activities.TypeBadInput, nil))}
		var o *outcome
		s.after(time.Minute, func() { o = s.update(workflows.UpdateSetDelay, workflows.SetDelay{}) })
		s.finished()
		require.True(t, o.accepted)
		require.ErrorContains(t, o.err, "no such domain")
		require.Equal(t, []string{"FetchPages", "SetDomain", "FetchPages", "FinishDomain"}, s.names())
	})

	t.Run("ABudgetEndsAWaitForWork", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.fetches = []answer[activities.FetchPagesResult]{says(fetched(9*time.Minute, crawl.ReasonScheduled))}
		s.after(time.Minute, func() { s.mustUpdate(workflows.UpdateSetBudget, workflows.SetBudget{MaxPages: 5}) })
		s.finished()
		require.Equal(t, []string{"FetchPages", "SetDomain", "FetchPages", "FinishDomain"}, s.names())
		require.Less(t, s.calls[2].at, 2*time.Minute)
	})
}

func TestAddURLs(t *testing.T) {
	t.Parallel()

	add := workflows.AddURLs{Run: runName, URLs: []string{page}}

	t.Run("SaysHowManyWereNewAndEndsAWaitForWork", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.fetches = []answer[activities.FetchPagesResult]{says(fetched(9*time.Minute, crawl.ReasonScheduled))}
		s.adds = []answer[activities.AddURLsResult]{says(activities.AddURLsResult{Added: 1})}
		var o *outcome
		s.after(time.Minute, func() { o = s.update(workflows.UpdateAddURLs, add) })
		s.finished()
		require.NoError(t, errors.Join(o.refused, o.err))
		require.Equal(t, activities.AddURLsResult{Added: 1}, o.result)
		require.Equal(t, []activities.AddURLsInput{{Domain: host, Run: runName, URLs: []string{page}}}, inputs[activities.AddURLsInput](s))
		require.Equal(t, []string{"FetchPages", "AddURLs", "FetchPages", "FinishDomain"}, s.names())
		require.Less(t, s.calls[2].at, 2*time.Minute)
	})

	t.Run("IsHeardDuringTheFetchThatFindsNothing", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		added := make(chan struct{})
		// one more step of the workflow, so that the update is over before the fetch
		s.others = []answer[none]{meanwhile(func() { close(added) }, none{})}
		begin := s.inside(func() {
			s.mustUpdate(workflows.UpdateAddURLs, add)
			s.after(time.Millisecond, func() { s.mustUpdate(workflows.UpdateSetDelay, workflows.SetDelay{}) })
		})
		s.fetches = []answer[activities.FetchPagesResult]{meanwhile(func() {
			begin()
			<-added
		}, fetched(9*time.Minute, crawl.ReasonScheduled))}
		s.finished()
		require.Equal(t, []string{"FetchPages", "FinishDomain"}, s.names()[len(s.calls)-2:])
		require.Less(t, s.calls[len(s.calls)-2].at, time.Minute)
	})

	t.Run("IsFinishedBeforeTheWorkflowIs", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.adds = []answer[activities.AddURLsResult]{
			fails[activities.AddURLsResult](errors.New("the database is down")),
			fails[activities.AddURLsResult](errors.New("the database is down")),
		}
		begin := s.inside(func() { s.mustUpdate(workflows.UpdateAddURLs, add) })
		s.finishes = []answer[activities.FinishDomainResult]{meanwhile(begin, activities.FinishDomainResult{Finished: true})}
		s.finished()
		require.Len(t, inputs[activities.AddURLsInput](s), 3)
	})
}

func TestBadUpdatesLeaveNoTrace(t *testing.T) {
	t.Parallel()

	const long = 201
	urls := func(n int) []string { return strings.Fields(strings.Repeat(page+" ", n)) }
	for name, c := range map[string]struct {
		update string
		arg    any
		says   string
	}{
		"PauseWithALongReason":  {workflows.UpdatePause, workflows.Pause{Reason: strings.Repeat("x", long)}, "reason: 201 bytes"},
		"StopWithALongReason":   {workflows.UpdateStop, workflows.Stop{Reason: strings.Repeat("x", long)}, "reason: 201 bytes"},
		"NegativeDelay":         {workflows.UpdateSetDelay, workflows.SetDelay{Delay: -1}, "delay -1ns"},
		"EndlessDelay":          {workflows.UpdateSetDelay, workflows.SetDelay{Delay: crawl.Duration(crawl.DelayMax + 1)}, "delay"},
		"NegativeBudget":        {workflows.UpdateSetBudget, workflows.SetBudget{MaxPages: -2}, "max_pages -2"},
		"NoWindow":              {workflows.UpdateSetWindow, workflows.SetWindow{Window: "at night"}, "window \"at night\""},
		"NoRun":                 {workflows.UpdateAddURLs, workflows.AddURLs{URLs: urls(1)}, "run: a name is needed"},
		"NoURLs":                {workflows.UpdateAddURLs, workflows.AddURLs{Run: runName}, "0 urls"},
		"ManyURLs":              {workflows.UpdateAddURLs, workflows.AddURLs{Run: runName, URLs: urls(21)}, "21 urls"},
		"NotAURL":               {workflows.UpdateAddURLs, workflows.AddURLs{Run: runName, URLs: []string{"ftp://example.org/"}}, "ftp"},
		"AnotherDomainsPage":    {workflows.UpdateAddURLs, workflows.AddURLs{Run: runName, URLs: []string{"https://example.net/"}}, "example.net, not to example.org"},
		"MoreThanAPayloadHolds": {workflows.UpdateAddURLs, workflows.AddURLs{Run: runName, URLs: []string{page + strings.Repeat("a", 1800), page + strings.Repeat("b", 1800)}}, "use a SeedWorkflow"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := setup(t)
			s.fetches = []answer[activities.FetchPagesResult]{says(fetched(time.Hour, crawl.ReasonScheduled))}
			var o *outcome
			var before workflows.DomainState
			s.after(time.Minute, func() {
				before = s.state()
				o = s.update(c.update, c.arg)
			})
			s.after(2*time.Minute, func() { require.Equal(t, before, s.state()) })
			s.finished()
			require.False(t, o.accepted)
			require.ErrorContains(t, o.refused, c.says)
			require.Equal(t, []string{"FetchPages", "FetchPages", "FinishDomain"}, s.names())
			require.Equal(t, []time.Duration{time.Hour}, s.timers)
		})
	}
}
