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
