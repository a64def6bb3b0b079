package main

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"github.com/mosey-web/mosey/activities"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/manners/web"
	"github.com/mosey-web/mosey/workflows"
)

// bar is one activity or timer in the timeline of Temporal's UI.
type bar struct {
	// label is its summary, and kind its activity; empty is a timer.
	label, kind string
	attempt     int32
	asked       activities.Asked
	failed      bool
}

// A site in trouble: its timeline names each request by the page that was asked for, and each
// wait by its reason.
func TestTimeline(t *testing.T) {
	t.Parallel()
	h, _ := newHarnessWithStack(t)
	s := site{web.StartT(t, web.Options{CrossLinks: -1, Sites: []web.Site{{
		Pages: 6, Plain: true, Paths: map[string]web.Behaviour{
			"/robots.txt": web.Flaky{First: 1, Code: 503, RetryAfter: time.Second},
			"/p/1":        web.Flaky{First: 1, Code: 429, RetryAfter: 2 * time.Second},
			"/p/2":        web.Flaky{First: 1, Code: 503, RetryAfter: time.Second},
			"/p/3":        web.Status{Code: 500},
			"/p/4":        web.Flaky{First: 1, Code: 429, RetryAfter: time.Second},
		},
	}}})}
	const name = "site-001.test"
	r := h.Execute(s.crawl(s.Seeds()[0], "--run", "troubled", "--delay", "600ms", "--set", "pages_per_activity=1",
		"--set", "graylist=0", "--set", "max_attempts=2")...)
	require.Zero(t, r.Code, r.Stderr)

	bars, result := timeline(t, h.client(), crawl.DomainWorkflowID(name))
	var asked []string
	for i, b := range bars {
		t.Logf("%-12s %-60s %v %+v", b.kind, b.label, b.failed, b.asked)
		require.LessOrEqual(t, b.attempt, int32(1), b.label)
		switch {
		case b.kind == "":
			require.Regexp(t, `^[a-z.]+[-a-z ]*(, then .+|: nothing is due yet)$`, b.label, "a wait names its reason")
		case b.asked.URL != "" && b.asked.Kind == "":
			asked = append(asked, b.asked.URL)
			if !strings.HasPrefix(b.label, "next page of ") {
				require.Equal(t, b.asked.URL, b.label)
			}
		}
		if b.failed {
			require.NotEqual(t, crawl.OutcomeSuccess, b.asked.Outcome)
			require.Empty(t, bars[i+1].kind, "a wait follows")
			require.Regexp(t, `^(retry-after|back-off|robots.txt unreachable), then `, bars[i+1].label)
		}
	}
	var requests []string
	for _, v := range s.Log().Pages() { // robots.txt may be read for the seeds first
		requests = append(requests, v.URL())
	}
	require.Equal(t, requests, asked, "each request is told by one bar")
	require.Equal(t, "nothing is due", result.Reason)
	require.EqualValues(t, 6, result.Outcomes[crawl.OutcomeSuccess], "/p/3 is given up")
}

// timeline reads the history of a workflow that has ended.
func timeline(t *testing.T, c client.Client, id string) (bars []bar, result workflows.DomainResult) {
	t.Helper()
	places := map[int64]int{}
	read := converter.GetDefaultDataConverter()
	events := c.GetWorkflowHistory(t.Context(), id, "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		e, err := events.Next()
		require.NoError(t, err)
		label := func() (text string) {
			require.NoError(t, read.FromPayload(e.GetUserMetadata().GetSummary(), &text))
			return text
		}
		switch a := e.GetAttributes().(type) {
		case *historypb.HistoryEvent_ActivityTaskScheduledEventAttributes:
			places[e.GetEventId()] = len(bars)
			bars = append(bars, bar{label: label(), kind: a.ActivityTaskScheduledEventAttributes.GetActivityType().GetName()})
		case *historypb.HistoryEvent_TimerStartedEventAttributes:
			bars = append(bars, bar{label: label()})
		case *historypb.HistoryEvent_ActivityTaskStartedEventAttributes:
			started := a.ActivityTaskStartedEventAttributes
			bars[places[started.GetScheduledEventId()]].attempt = started.GetAttempt()
		case *historypb.HistoryEvent_ActivityTaskCompletedEventAttributes:
			done := a.ActivityTaskCompletedEventAttributes
			var res struct{ Asked activities.Asked }
			require.NoError(t, read.FromPayloads(done.GetResult(), &res))
			bars[places[done.GetScheduledEventId()]].asked = res.Asked
		case *historypb.HistoryEvent_ActivityTaskFailedEventAttributes:
			done := a.ActivityTaskFailedEventAttributes
			var res struct{ Asked activities.Asked }
			require.NoError(t, read.FromPayloads(done.GetFailure().GetApplicationFailureInfo().GetDetails(), &res))
			b := &bars[places[done.GetScheduledEventId()]]
			b.failed, b.asked = true, res.Asked
			require.Contains(t, done.GetFailure().GetMessage(), res.Asked.URL)
		case *historypb.HistoryEvent_WorkflowExecutionCompletedEventAttributes:
			require.NoError(t, read.FromPayloads(a.WorkflowExecutionCompletedEventAttributes.GetResult(), &result))
		}
	}
	return bars, result
}
