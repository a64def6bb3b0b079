package workflows_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/activities"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/kinds"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/workflows"
)

// What controls the crawl has a task queue of its own, so that it never waits behind
// fetches, and only fetches are on the other.
func TestActivityOptions(t *testing.T) {
	t.Parallel()

	type options struct {
		queue                                    string
		startToClose, scheduleToClose, heartbeat time.Duration
	}
	record := options{queue: crawl.ControlTaskQueue, startToClose: time.Minute}
	update := options{
		queue: crawl.ControlTaskQueue, startToClose: 10 * time.Second, scheduleToClose: 30 * time.Second,
	}
	robots := options{queue: crawl.TaskQueue, startToClose: 5 * time.Minute, heartbeat: 3 * time.Minute}
	want := map[string]options{
		"FetchPages":   {queue: crawl.TaskQueue, startToClose: 12 * time.Minute, heartbeat: 3 * time.Minute},
		"FetchRobots":  robots,
		"FinishDomain": record,
		"Dispatch":     record,
		"StartCrawl":   record,
		"SetControl":   update,
		"LiftControl":  update,
		"AddURLs":      update,
		"StopRun":      update,
		"StoreSeeds":   {queue: crawl.ControlTaskQueue, startToClose: time.Hour, heartbeat: 3 * time.Minute},
		"FilterSeeds":  robots,
	}
	agree := func(t *testing.T, s *script, names ...string) {
		t.Helper()
		require.NoError(t, s.env.GetWorkflowError())
		require.Equal(t, names, s.names())
		for _, c := range s.calls {
			w := want[c.name]
			require.Equal(t, w.queue, c.info.TaskQueue, c.name)
			require.Equal(t, w.startToClose, c.info.StartToCloseTimeout, c.name)
			require.Equal(t, w.heartbeat, c.info.HeartbeatTimeout, c.name)
			if w.scheduleToClose > 0 {
				require.Equal(t, w.scheduleToClose, c.info.ScheduleToCloseTimeout, c.name)
			} else {
				require.Greater(t, c.info.ScheduleToCloseTimeout, 24*time.Hour, "%s is never given up", c.name)
			}
		}
	}

	t.Run("OfADomain", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.fetches = []answer[activities.FetchPagesResult]{
			says(activities.FetchPagesResult{
				NextStep: activities.NextStep{Next: activities.StepRobots, Origin: "https://example.org", Kind: kinds.Robots},
			}),
			says(fetched(time.Hour, reasons.Delay)), says(fetched(58*time.Minute, reasons.Delay)),
		}
		s.after(time.Minute, func() {
			s.mustUpdate(workflows.UpdateAddURLs, workflows.AddURLs{Run: runName, URLs: []string{page}})
		})
		s.after(2*time.Minute, func() { s.mustUpdate(workflows.UpdateResume) })
		s.after(3*time.Minute, func() { s.mustUpdate(workflows.UpdatePause, workflows.Pause{}) })
		s.run(workflows.DomainInput{})
		agree(t, s, "FetchPages", "FetchRobots", "FetchPages", "AddURLs", "LiftControl", "FetchPages", "SetControl",
			"FetchPages", "FinishDomain")
	})

	t.Run("OfARun", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.dispatches = []answer[activities.DispatchResult]{says(activities.DispatchResult{})}
		s.after(time.Minute, func() { s.mustUpdate(workflows.UpdateStop, workflows.Stop{}) })
		s.env.ExecuteWorkflow(workflows.CrawlWorkflowName, workflows.CrawlInput{Run: runName})
		agree(t, s, "Dispatch", "StopRun", "Dispatch")
	})

	t.Run("OfASeeding", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.env.ExecuteWorkflow(workflows.SeedWorkflowName, workflows.SeedInput{Run: runName, URLs: []string{page}})
		agree(t, s, "StoreSeeds", "StartCrawl", "FilterSeeds")
	})
}
