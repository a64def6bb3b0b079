package activities

import "time"

// Kept is an activity that waited when its process stopped, and that was neither completed nor failed: to
// Temporal it still runs. The next process with the same Temporal continues it, without a step of its
// workflow, unless its heartbeats were missed for too long: then Temporal has another attempt made.
type Kept struct {
	call

	Input   FetchPagesInput   `json:"input"`
	Result  FetchPagesResult  `json:"result"`
	Earlier *FetchPagesResult `json:"earlier,omitempty"`
	Pages   int               `json:"pages"`
	Wanting []string          `json:"wanting,omitempty"`
	// Until is the end of its wait, and Beat its last heartbeat. Its batch begins no pages after Last.
	Until time.Time `json:"until"`
	Beat  time.Time `json:"beat"`
	Last  time.Time `json:"last"`
}

func (t *task) kept() Kept {
	return Kept{
		call: t.call, Input: t.in, Result: t.res, Earlier: t.earlier, Pages: t.pages, Wanting: t.wanting,
		Until: t.until, Beat: t.beat, Last: t.deadline,
	}
}

// Keep returns the activities that wait, after Drain and once no worker polls. Temporal is told nothing of
// them, which takes no time: it is for a process whose Temporal stops with it.
func Keep(a *Activities) []Kept { return a.scheduler.keep() }

// adoptedWithin bounds the age of a kept activity's last heartbeat, in units of Kept.Every. The next
// heartbeat must come before Temporal's time-out (beatPart).
const adoptedWithin = 1.5

// Adopt continues activities that an earlier process has kept, and returns their number. Those whose
// heartbeats Temporal has missed for too long are left to it.
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
