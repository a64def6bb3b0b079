package activities

import (
	"math"
	"time"
)

// WakeEarly is how much of a wait for a slot is left to the activity that follows.
const WakeEarly = timerLead

// SpendEase makes Temporal not at ease: no steps are to be had, until RestoreEase.
func SpendEase(a *Activities) { setEase(a, math.Inf(-1)) }

// RestoreEase makes Temporal at ease.
func RestoreEase(a *Activities) { setEase(a, maxStepRate) }

func setEase(a *Activities, left float64) {
	a.stepLimiter.mu.Lock()
	defer a.stepLimiter.mu.Unlock()
	a.stepLimiter.availableSteps = left
}

// Held is how many activities were handed over and not completed yet.
func Held(a *Activities) int {
	a.scheduler.mu.Lock()
	defer a.scheduler.mu.Unlock()
	return len(a.scheduler.openTasks)
}

// Postpone makes all activities that were handed over wait for an hour more.
func Postpone(a *Activities) {
	a.scheduler.mu.Lock()
	defer a.scheduler.mu.Unlock()
	for _, waiting := range a.scheduler.waiting {
		for _, t := range waiting {
			t.waitEnd = t.waitEnd.Add(time.Hour)
		}
	}
}

// Beat sends the heartbeats of all activities that were handed over.
func Beat(a *Activities) {
	a.scheduler.mu.Lock()
	for t := range a.scheduler.openTasks {
		t.HeartbeatInterval = 1
	}
	a.scheduler.mu.Unlock()
	a.scheduler.sendHeartbeats()
}
