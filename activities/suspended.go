package activities

import "time"

// SuspendedActivity is an activity that waited when its process stopped, neither completed nor
// failed. To Temporal it still runs. The next process with the same Temporal continues it without a
// workflow step, unless too many heartbeats were missed: then Temporal retries the activity.
type SuspendedActivity struct {
	activityCall

	Input          FetchPagesInput   `json:"input"`
	Result         FetchPagesResult  `json:"result"`
	PreviousResult *FetchPagesResult `json:"earlier,omitempty"`
	Pages          int               `json:"pages"`
	ActiveRuns     []string          `json:"runs_with_work,omitempty"`
	// WaitEnd ends its wait, and LastHeartbeat is its last heartbeat. Its batch begins no pages after
	// BatchDeadline.
	WaitEnd       time.Time `json:"until"`
	LastHeartbeat time.Time `json:"last_heartbeat"`
	BatchDeadline time.Time `json:"no_new_pages_after"`
}

func (t *task) suspended() SuspendedActivity {
	return SuspendedActivity{
		activityCall: t.activityCall, Input: t.in, Result: t.res, PreviousResult: t.previousResult,
		Pages: t.requestCount, ActiveRuns: t.activeRuns,
		WaitEnd: t.waitEnd, LastHeartbeat: t.lastHeartbeat, BatchDeadline: t.deadline,
	}
}

// Suspend returns the waiting activities. Call it after Drain and once no worker polls. It reports
// nothing to Temporal, which saves time in a process that stops together with its Temporal.
func Suspend(a *Activities) []SuspendedActivity { return a.scheduler.suspend() }

// maxHeartbeatIntervals bounds the age of a suspended activity's last heartbeat, in units of
// SuspendedActivity.Every. The next heartbeat must come before Temporal's time-out
// (heartbeatsPerTimeout).
const maxHeartbeatIntervals = 1.5

// Resume continues the activities that an earlier process suspended, and returns their number. It
// leaves activities with too old a heartbeat to Temporal.
func Resume(a *Activities, suspended []SuspendedActivity) (resumed int) {
	now := time.Now()
	for _, k := range suspended {
		if now.Sub(k.LastHeartbeat).Seconds() > maxHeartbeatIntervals*k.HeartbeatInterval.Seconds() || now.After(k.Deadline) {
			continue
		}
		k.log = a.log
		a.scheduler.addTask(&task{
			batch: &batch{
				Activities: a, in: k.Input, res: k.Result, previousResult: k.PreviousResult, requestCount: k.Pages, activeRuns: k.ActiveRuns,
				waitStart: now, waitEnd: k.WaitEnd, deadline: k.BatchDeadline,
			},
			activityCall: k.activityCall, lastHeartbeat: k.LastHeartbeat,
		})
		resumed++
	}
	return resumed
}
