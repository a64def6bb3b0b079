package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/manners/web"
	"github.com/mosey-web/mosey/test/output"
	"github.com/mosey-web/mosey/test/wait"
)

// A site that wants visits at another time of the day is asked for its robots.txt and nothing
// else, by one workflow, which ends. It is crawled when its robots.txt wants it no longer.
func TestVisitTime(t *testing.T) {
	t.Parallel()
	h, store := newHarnessWithStack(t)
	from := (time.Duration(time.Now().UTC().Hour()) + 4) * time.Hour % (24 * time.Hour)
	visit := web.VisitTime{From: from, To: from + 59*time.Minute}
	s := site{web.StartT(t, web.Options{Sites: []web.Site{{Pages: 2, Plain: true, VisitTime: visit}}, CrossLinks: -1})}
	up := h.Start(append([]string{"up"}, s.flags()...)...)
	up.Await("Ready.")
	temporal := h.client()
	require.NoError(t, h.seed(temporal, "seed/default/1", `{"run":"default","urls":["`+s.Seeds()[0]+`"],"settings":{"delay":"10ms","latency_factor":0}}`))
	run := func() crawl.Run {
		run, err := store.Run(t.Context(), "default")
		require.NoError(t, err)
		return run
	}
	executions := func() (n int, events int64) {
		list, err := temporal.ListWorkflow(t.Context(), &workflowservice.ListWorkflowExecutionsRequest{
			Query: "WorkflowId = '" + crawl.DomainWorkflowID(siteDomain) + "'",
		})
		require.NoError(t, err)
		for _, e := range list.GetExecutions() {
			if e.GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED {
				n++
			}
			history := temporal.GetWorkflowHistory(t.Context(), e.GetExecution().GetWorkflowId(), e.GetExecution().GetRunId(), false,
				enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
			for history.HasNext() {
				_, err := history.Next()
				require.NoError(t, err)
				events++
			}
		}
		return n, events
	}
	wait.Until(t, func() bool { n, _ := executions(); return n > 0 }, patience, 50*time.Millisecond)
	time.Sleep(2 * time.Second) // a loop of finishes takes some milliseconds a turn
	n, events := executions()
	require.LessOrEqual(t, n, 2, "it may be claimed once more before the seeds' robots.txt is stored")
	require.Less(t, events, int64(100))
	require.Equal(t, crawl.RunRunning, run().Status, "the run waits for the time to come")
	require.Len(t, s.Log(), 1)

	opens := time.Now().UTC().Truncate(24 * time.Hour).Add(from)
	if opens.Before(time.Now()) {
		opens = opens.Add(24 * time.Hour)
	}
	due, _, err := store.NextDue(t.Context(), run().ID)
	require.NoError(t, err)
	require.WithinDuration(t, opens, due, time.Second)
	why := h.Print("why", s.URL(siteDomain, "/"))
	output.ContainsOnSameLine(t, why, "waiting until ", "robots.txt allows visits only at other times (Visit-time)")
	output.ContainsOnSameLine(t, why, "visits only Mon-Sun ", " UTC: not before ")

	// as if it had been read when the time had come
	stored, err := store.Robots(t.Context(), s.URL(siteDomain, ""))
	require.NoError(t, err)
	stored.VisitTimes = ""
	_, err = store.SaveRobots(t.Context(), stored)
	require.NoError(t, err)
	wait.Until(t, func() bool { return len(s.Log().Pages()) == 3 }, patience, 20*time.Millisecond, "rows decide: somebody looks within 15 s")
	require.Zero(t, up.Stop().Code)
}
