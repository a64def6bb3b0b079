package main

import (
	"context"
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
	asked       activities.RequestSummary
	// failure is the message of the last attempt that failed
	failure string
}

// A failing site: its timeline names each request by the page that was requested, also where
// Temporal has made another attempt, and each timer by its reason.
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
	// The worker outlives the run, so that it can complete the domain's workflow.
	h.Start(append([]string{"up"}, s.flags()...)...).Await("Ready.")
	c := h.client()
	t.Cleanup(func() { logHistory(t, c, crawl.DomainWorkflowID(name)) })
	r := h.Execute(s.crawl(s.Seeds()[0], "--detach", "--run", "failing", "--delay", "600ms", "--set", "pages_per_activity=1",
		"--set", "graylist=0", "--set", "max_attempts=3")...)
	require.Zero(t, r.Code, r.Stderr)
	require.NoError(t, c.GetWorkflow(t.Context(), crawl.DomainWorkflowID(name), "").Get(t.Context(), nil))

	bars, result := timeline(t, c, crawl.DomainWorkflowID(name))
	var asked []string
	retried := 0
	for _, b := range bars {
		t.Logf("%-12s %-60s %d %+v", b.kind, b.label, b.attempt, b.asked)
		switch {
		case b.kind == "":
			require.Regexp(t, `^[a-z.]+[-a-z ]*(, then .+|: no page is due yet)$`, b.label, "a wait names its reason")
		case b.asked.URL != "" && b.asked.Kind == "":
			for range b.attempt {
				asked = append(asked, b.asked.URL)
			}
			if !strings.HasPrefix(b.label, "next page of ") {
				require.Equal(t, b.asked.URL, b.label)
			}
			if b.attempt > 1 {
				retried++
				require.Contains(t, b.failure, b.asked.URL+": attempt 1 of 3 failed: ")
			}
		}
	}
	require.Equal(t, 3, retried, "a wait of the whole domain is a retry")
	var requests []string
	for _, v := range s.Log().Pages() { // robots.txt may be read for the seeds first
		requests = append(requests, v.URL())
	}
	require.Equal(t, requests, asked, "each request is told by a bar")
	require.Equal(t, "no page is due", result.Reason)
	require.EqualValues(t, 6, result.Outcomes[crawl.OutcomeSuccess], "/p/3 is given up")
	require.EqualValues(t, len(requests)+1, result.Attempts, "those of retried activities count, and the sitemap's")
}

// logHistory logs the times of a workflow's events if the test failed: which of them was late?
func logHistory(t *testing.T, c client.Client, id string) {
	t.Helper()
	if !t.Failed() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second) // the test's own has ended
	defer cancel()
	events := c.GetWorkflowHistory(ctx, id, "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		e, err := events.Next()
		if err != nil {
			t.Log("read the history:", err)
			return
		}
		t.Log(e.GetEventTime().AsTime().Format("15:04:05.000"), e.GetEventId(), e.GetEventType(), string(e.GetUserMetadata().GetSummary().GetData()))
	}
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
			b := &bars[places[started.GetScheduledEventId()]]
			b.attempt, b.failure = started.GetAttempt(), started.GetLastFailure().GetMessage()
		case *historypb.HistoryEvent_ActivityTaskCompletedEventAttributes:
			done := a.ActivityTaskCompletedEventAttributes
			var res struct {
				Asked activities.RequestSummary `json:"last_request"`
			}
			require.NoError(t, read.FromPayloads(done.GetResult(), &res))
			bars[places[done.GetScheduledEventId()]].asked = res.Asked
		case *historypb.HistoryEvent_WorkflowExecutionCompletedEventAttributes:
			require.NoError(t, read.FromPayloads(a.WorkflowExecutionCompletedEventAttributes.GetResult(), &result))
		}
	}
	return bars, result
}
