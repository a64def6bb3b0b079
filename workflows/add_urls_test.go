package workflows_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"github.com/mosey-web/mosey/activities"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/workflows"
)

func TestAddURLs(t *testing.T) {
	t.Parallel()

	add := workflows.AddURLs{Run: runName, URLs: []string{page}}

	t.Run("SaysHowManyWereNewAndEndsAWaitForWork", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.fetches = []answer[activities.FetchPagesResult]{says(fetched(9*time.Minute, reasons.Scheduled))}
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
		s.others = []answer[none]{func() (none, error) {
			close(added)
			return none{}, temporal.NewNonRetryableApplicationError("no news", activities.TypeBadInput, nil)
		}}
		begin := s.inside(func() {
			s.mustUpdate(workflows.UpdateAddURLs, add)
			s.after(time.Millisecond, func() { s.update(workflows.UpdateSetDelay, workflows.SetDelay{}) })
		})
		s.fetches = []answer[activities.FetchPagesResult]{meanwhile(func() {
			begin()
			<-added
		}, fetched(9*time.Minute, reasons.Scheduled))}
		s.finished()
		require.Equal(t, []string{"FetchPages", "FinishDomain"}, s.names()[len(s.calls)-2:])
		require.Less(t, s.calls[len(s.calls)-2].at, time.Minute)
	})

	t.Run("FailsInTimeWhileTheDatabaseIsDown", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.fetches = []answer[activities.FetchPagesResult]{says(fetched(time.Hour, reasons.Delay))}
		for range 100 {
			s.adds = append(s.adds, fails[activities.AddURLsResult](errors.New("the database is down")))
		}
		var o *outcome
		s.after(time.Minute, func() { o = s.update(workflows.UpdateAddURLs, add) })
		s.finished()
		requireUnavailable(t, o)
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
	past := time.Now().Add(-time.Hour)
	urls := func(n int) []string { return strings.Fields(strings.Repeat(page+" ", n)) }
	for name, c := range map[string]struct {
		update string
		arg    any
		says   string
	}{
		"PauseWithALongReason":  {workflows.UpdatePause, workflows.Pause{Reason: strings.Repeat("x", long)}, "reason: 201 bytes"},
		"PauseUntilThePast":     {workflows.UpdatePause, workflows.Pause{Until: &past}, "in the future"},
		"StopWithALongReason":   {workflows.UpdateStop, workflows.Stop{Reason: strings.Repeat("x", long)}, "reason: 201 bytes"},
		"NegativeDelay":         {workflows.UpdateSetDelay, workflows.SetDelay{Delay: new(settings.Duration(-1))}, "delay -1ns"},
		"EndlessDelay":          {workflows.UpdateSetDelay, workflows.SetDelay{Delay: new(settings.Duration(settings.DelayMax + 1))}, "delay"},
		"NegativeBudget":        {workflows.UpdateSetBudget, workflows.SetBudget{MaxPages: new(int64(-2))}, "max_pages -2"},
		"NoWindow":              {workflows.UpdateSetWindow, workflows.SetWindow{Window: new("at night")}, "window \"at night\""},
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
			s.fetches = []answer[activities.FetchPagesResult]{says(fetched(time.Hour, reasons.Scheduled))}
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
