package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/test/wait"
)

// An activity that Temporal sends to a worker that has stopped is lost until its heartbeat time-out.
func TestAStoppingWorkerLosesNoActivity(t *testing.T) {
	t.Parallel()
	h, _ := newHarnessWithStack(t)
	temporal := h.client()
	s := newSite(t, 40, 400)
	for range 3 {
		before := len(s.Log().Pages())
		c := h.Start(s.crawl(append(s.Seeds(), "--delay", "50ms", "--set", "pages_per_activity=1")...)...)
		wait.Until(t, func() bool { return len(s.Log().Pages()) >= before+200 }, patience, 5*time.Millisecond)
		r := c.Stop()
		require.Zero(t, r.Code, r.Stderr)
		for _, seed := range s.Seeds() {
			u, err := urls.Parse(seed)
			require.NoError(t, err)
			id := crawl.DomainWorkflowID(u.Domain())
			execution, err := temporal.DescribeWorkflowExecution(t.Context(), id, "")
			require.NoError(t, err)
			for _, a := range execution.GetPendingActivities() {
				require.NotEqual(t, enumspb.PENDING_ACTIVITY_STATE_STARTED, a.GetState(), "%s: %s of %s",
					id, a.GetActivityType().GetName(), a.GetLastWorkerIdentity())
			}
		}
	}
}
