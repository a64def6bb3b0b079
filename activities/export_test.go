package activities

import "math"

// WakeEarly is how much of a wait for a slot is left to the activity that follows.
const WakeEarly = wakeEarly

// SpendEase makes Temporal not at ease: no steps are to be had, until RestoreEase.
func SpendEase(a *Activities) { setEase(a, math.Inf(-1)) }

// RestoreEase makes Temporal at ease.
func RestoreEase(a *Activities) { setEase(a, easeMost) }

func setEase(a *Activities, left float64) {
	a.ease.mu.Lock()
	defer a.ease.mu.Unlock()
	a.ease.left = left
}

// Held is how many activities were handed over and not completed yet.
func Held(a *Activities) int {
	a.scheduler.mu.Lock()
	defer a.scheduler.mu.Unlock()
	return len(a.scheduler.held)
}

// Beat sends the heartbeats of all activities that were handed over.
func Beat(a *Activities) {
	a.scheduler.mu.Lock()
	for t := range a.scheduler.held {
		t.Every = 1
	}
	a.scheduler.mu.Unlock()
	a.scheduler.beatAll()
}
