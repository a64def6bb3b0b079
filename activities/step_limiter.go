package activities

import (
	"math"
	"sync"
	"time"
)

const (
	// initialStepRate is the initial rate, in steps a second. Twenty domains at a delay of 1 s need
	// 20.
	initialStepRate = 30.0
	// minStepRate and maxStepRate bound the rate.
	minStepRate = 2.0
	maxStepRate = 10_000.0
	// unusedStepLifetime bounds how long unused steps are saved: domains that start together stay
	// together.
	unusedStepLifetime = time.Second
	// growthMaxLateness is the average extra lateness above which the rate does not grow.
	growthMaxLateness = 40 * time.Millisecond
	// throttleLateness halves the rate. It is well below timerLead, so that no request is late yet.
	throttleLateness = 150 * time.Millisecond
	// maxLateness caps the lateness of one step.
	maxLateness = 2 * time.Second
	// minLatenessWeight is the least weight of one step in the average. Rare steps are averaged over
	// latenessWindow.
	minLatenessWeight = 1.0 / 32
	latenessWindow    = 5 * time.Second
	// maxBaselineLateness bounds the usual lateness, because a higher value would delay requests.
	maxBaselineLateness = timerLead / 2
	// baselineWindow is the span that the earliest step is remembered for.
	baselineWindow = 5 * time.Minute
	// stepRateGrowth, a share a second, is added to the rate's growth every second while Temporal is
	// not busy and more steps are wanted. So the rate doubles in 37 s. maxStepRateGrowth caps the
	// growth.
	stepRateGrowth    = 0.001
	maxStepRateGrowth = 0.1
	// maxExpectations bounds the expected steps.
	maxExpectations = 100_000
)

// stepLimiter limits the steps of workflows that this process takes. A step ends a batch of pages,
// so that Temporal runs the domain's timer and its next activity. A step costs Temporal more than
// the rest of a page, so batches on a busy machine continue in the process. It is safe for
// concurrent use.
//
// A batch that ends records when its domain's next activity is due. stepLimiter measures how late
// that activity starts, on this process's monotonic clock. Late steps halve the rate, which grows
// slowly otherwise so that it does not oscillate. All batches share it.
type stepLimiter struct {
	mu sync.Mutex
	// rate is in steps a second; availableSteps counts the unused steps at an instant
	rate           float64
	availableSteps float64
	refilledAt     time.Time
	// hasDemand is set while more steps are wanted; demandDuration is how long they were since lowered
	hasDemand      bool
	demandDuration time.Duration
	loweredAt      time.Time
	// avgLateness is the average lateness; baselines holds the least lateness of two spans of time
	avgLateness  time.Duration
	measuredAt   time.Time
	baselines    [2]time.Duration
	baselineEnd  time.Time
	expectations map[string]expectation
}

type expectation struct {
	// batchEnd is the end of the previous batch.
	batchEnd time.Time
	due      time.Time
	// slot is the domain's, on the database's clock; other workers that serve the domain change it.
	slot time.Time
}

func newStepLimiter(now time.Time) *stepLimiter {
	return &stepLimiter{
		rate: initialStepRate, availableSteps: initialStepRate * unusedStepLifetime.Seconds(), refilledAt: now, measuredAt: now,
		baselines: [2]time.Duration{maxBaselineLateness, maxBaselineLateness}, baselineEnd: now.Add(baselineWindow),
		expectations: make(map[string]expectation),
	}
}

// acquireStep takes a step if the rate allows one. Otherwise the batch continues.
func (e *stepLimiter) acquireStep(now time.Time) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.refill(now)
	if e.availableSteps < 1 {
		e.hasDemand = true
		return false
	}
	e.availableSteps--
	return true
}

// countForcedStep counts a step that is taken whatever the rate.
func (e *stepLimiter) countForcedStep(now time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.refill(now)
	e.availableSteps = max(e.availableSteps-1, -e.rate)
}

func (e *stepLimiter) refill(now time.Time) {
	passed := now.Sub(e.refilledAt)
	if passed <= 0 {
		return
	}
	if e.hasDemand && e.isOnTime() {
		e.demandDuration += passed
		growth := min(stepRateGrowth*e.demandDuration.Seconds(), maxStepRateGrowth)
		e.rate = min(e.rate*math.Exp(growth*passed.Seconds()), maxStepRate)
	}
	e.hasDemand = e.hasDemand && e.availableSteps+e.rate*passed.Seconds() < 1
	e.availableSteps = min(e.availableSteps+e.rate*passed.Seconds(), max(e.rate*unusedStepLifetime.Seconds(), 1))
	e.refilledAt = now
}

// expectStart records when a domain's next activity is due, as its batch ends.
func (e *stepLimiter) expectStart(domain string, slot, now time.Time, wait time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.expectations) >= maxExpectations {
		clear(e.expectations) // other workers serve these domains now
	}
	e.expectations[domain] = expectation{batchEnd: now, due: now.Add(wait), slot: slot}
}

// recordStart measures how late an activity started, if leave recorded its domain.
func (e *stepLimiter) recordStart(domain string, slot, now time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	expected, ok := e.expectations[domain]
	delete(e.expectations, domain)
	lateness := now.Sub(expected.due)
	// News or another worker's batch may have started it.
	if !ok || lateness < 0 || !expected.slot.Equal(slot) {
		return
	}
	e.recordLateness(min(lateness, maxLateness), expected.batchEnd, now)
}

func (e *stepLimiter) recordLateness(lateness time.Duration, batchEnd, now time.Time) {
	if now.After(e.baselineEnd) {
		e.baselines = [2]time.Duration{maxBaselineLateness, e.baselines[0]}
		e.baselineEnd = now.Add(baselineWindow)
	}
	e.baselines[0] = min(e.baselines[0], lateness)
	weight := min(max(minLatenessWeight, now.Sub(e.measuredAt).Seconds()/latenessWindow.Seconds()), 0.25)
	e.avgLateness += time.Duration(weight * float64(lateness-e.avgLateness))
	e.measuredAt = now
	if e.isOnTime() {
		return
	}
	e.demandDuration = 0
	// A step from before the last decrease does not measure the present rate.
	if e.excessLateness() > throttleLateness && batchEnd.After(e.loweredAt) {
		e.rate, e.availableSteps = max(e.rate/2, minStepRate), min(e.availableSteps, 1)
		e.loweredAt = now
	}
}

func (e *stepLimiter) isOnTime() bool { return e.excessLateness() <= growthMaxLateness }

// excessLateness returns how much later than usual steps are.
func (e *stepLimiter) excessLateness() time.Duration {
	return e.avgLateness - min(e.baselines[0], e.baselines[1])
}
