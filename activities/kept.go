package activities

import "time"

// Kept is an activity that waited when its process stopped, neither completed nor failed. To
// Temporal it still runs. The next process with the same Temporal continues it without a workflow
// step, unless too many heartbeats were missed: then Temporal retries the activity.
type Kept struct {
	call

	Input   FetchPagesInput   `json:"input"`
	Result  FetchPagesResult  `json:"result"`
	Earlier *FetchPagesResult `json:"earlier,omitempty"`
	Pages   int               `json:"pages"`
	Wanting []string          `json:"runs_with_work,omitempty"`
	// Until ends its wait, and Beat is its last heartbeat. Its batch begins no pages after Last.
	Until time.Time `json:"until"`
	Beat  time.Time `json:"last_heartbeat"`
	Last  time.Time `json:"no_new_pages_after"`
}

func (t *task) kept() Kept {
	return Kept{
		call: t.call, Input: t.in, Result: t.res, Earlier: t.earlier, Pages: t.pages, Wanting: t.wanting,
		Until: t.until, Beat: t.beat, Last: t.deadline,
	}
}

// Keep returns the waiting activities. Call it after Drain and once no worker polls. It reports
// nothing to Temporal, which saves time in a process that stops together with its Temporal.
func Keep(a *Activities) []Kept { return a.scheduler.keep() }

// adoptedWithin bounds the age of a kept activity's last heartbeat, in units of Kept.Every. The
// next heartbeat must come before Temporal's time-out (beatPart).
const adoptedWithin = 1.5

// Adopt continues the activities that an earlier process kept, and returns their number. It leaves
// activities with too old a heartbeat to Temporal.
func Adopt(a *Activities, kept []Kept) (adopted int) {
	now := time.Now()
	for _, k := range kept {
		if now.Sub(k.Beat).Seconds() > adoptedWithin*k.Every.Seconds() || now.After(k.Deadline) {
			continue
		}
		k.log = a.log
		a.scheduler.hold(&task{
			batch: &batch{
				Activities: a, in: k.Input, res: k.Result, earlier: k.Earlier, pages: k.Pages, wanting: k.Wanting,
				paused: now, until: k.Until, deadline: k.Last,
			},
			call: k.call, beat: k.Beat,
		})
		adopted++
	}
	return adopted
}
