package activities

import (
	"math"
	"sync"
	"time"
)

const (
	// easeFirst is the initial rate, in steps a second. Twenty domains at a delay of 1 s need 20.
	easeFirst = 30.0
	// easeLeast and easeMost bound the rate.
	easeLeast = 2.0
	easeMost  = 10_000.0
	// easeSaved bounds how long unused steps are saved: domains that start together stay together.
	easeSaved = time.Second
	// lateCalm is the average extra lateness above which the rate does not grow.
	lateCalm = 40 * time.Millisecond
	// lateBusy halves the rate. It is well below wakeEarly, so that no request is late yet.
	lateBusy = 150 * time.Millisecond
	// lateMost caps the lateness of one step.
	lateMost = 2 * time.Second
	// lateWeight is the least weight of one step in the average. Rare steps are averaged over
	// lateSpan.
	lateWeight = 1.0 / 32
	lateSpan   = 5 * time.Second
	// usualMost bounds the usual lateness, because a higher value would delay requests.
	usualMost = wakeEarly / 2
	// usualSpan is the span that the earliest step is remembered for.
	usualSpan = 5 * time.Minute
	// easeGrowth, a share a second, is added to the rate's growth every second while Temporal is not
	// busy and more steps are wanted. So the rate doubles in 37 s. easeGrowthMost caps the growth.
	easeGrowth     = 0.001
	easeGrowthMost = 0.1
	// expectedMost bounds the expected steps.
	expectedMost = 100_000
)

// ease limits the steps of workflows that this process takes. A step ends a batch of pages, so that
// Temporal runs the domain's timer and its next activity. A step costs Temporal more than the rest
// of a page, so batches on a busy machine continue in the process. It is safe for concurrent use.
//
// A batch that ends records when its domain's next activity is due. ease measures how late that
// activity starts, on this process's monotonic clock. Late steps halve the rate, which grows slowly
// otherwise so that it does not oscillate. All batches share it.
type ease struct {
	mu sync.Mutex
	// rate is in steps a second; left counts the unused steps at an instant
	rate float64
	left float64
	at   time.Time
	// refused is set while more steps are wanted; wanted is how long they were since lowered
	refused bool
	wanted  time.Duration
	lowered time.Time
	// late is the average lateness; usual holds the least lateness of two spans of time
	late     time.Duration
	lateAt   time.Time
	usual    [2]time.Duration
	usualEnd time.Time
	expected map[string]expectation
}

type expectation struct {
	// left is the end of the previous batch.
	left time.Time
	due  time.Time
	// slot is the domain's, on the database's clock; other workers that serve the domain change it.
	slot time.Time
}

func newEase(now time.Time) *ease {
	return &ease{
		rate: easeFirst, left: easeFirst * easeSaved.Seconds(), at: now, lateAt: now,
		usual: [2]time.Duration{usualMost, usualMost}, usualEnd: now.Add(usualSpan),
		expected: make(map[string]expectation),
	}
}

// step takes a step if the rate allows one. Otherwise the batch continues.
func (e *ease) step(now time.Time) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.refill(now)
	if e.left < 1 {
		e.refused = true
		return false
	}
	e.left--
	return true
}

// forced counts a step that is taken whatever the rate.
func (e *ease) forced(now time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.refill(now)
	e.left = max(e.left-1, -e.rate)
}

func (e *ease) refill(now time.Time) {
	passed := now.Sub(e.at)
	if passed <= 0 {
		return
	}
	if e.refused && e.calm() {
		e.wanted += passed
		growth := min(easeGrowth*e.wanted.Seconds(), easeGrowthMost)
		e.rate = min(e.rate*math.Exp(growth*passed.Seconds()), easeMost)
	}
	e.refused = e.refused && e.left+e.rate*passed.Seconds() < 1
	e.left = min(e.left+e.rate*passed.Seconds(), max(e.rate*easeSaved.Seconds(), 1))
	e.at = now
}

// leave records when a domain's next activity is due, as its batch ends.
func (e *ease) leave(domain string, slot, now time.Time, wait time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.expected) >= expectedMost {
		clear(e.expected) // other workers serve these domains now
	}
	e.expected[domain] = expectation{left: now, due: now.Add(wait), slot: slot}
}

// began measures how late an activity started, if leave recorded its domain.
func (e *ease) began(domain string, slot, now time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	x, ok := e.expected[domain]
	delete(e.expected, domain)
	late := now.Sub(x.due)
	// News or another worker's batch may have started it.
	if !ok || late < 0 || !x.slot.Equal(slot) {
		return
	}
	e.measured(min(late, lateMost), x.left, now)
}

func (e *ease) measured(late time.Duration, left, now time.Time) {
	if now.After(e.usualEnd) {
		e.usual = [2]time.Duration{usualMost, e.usual[0]}
		e.usualEnd = now.Add(usualSpan)
	}
	e.usual[0] = min(e.usual[0], late)
	weight := min(max(lateWeight, now.Sub(e.lateAt).Seconds()/lateSpan.Seconds()), 0.25)
	e.late += time.Duration(weight * float64(late-e.late))
	e.lateAt = now
	if e.calm() {
		return
	}
	e.wanted = 0
	// A step from before the last decrease does not measure the present rate.
	if e.excess() > lateBusy && left.After(e.lowered) {
		e.rate, e.left = max(e.rate/2, easeLeast), min(e.left, 1)
		e.lowered = now
	}
}

func (e *ease) calm() bool { return e.excess() <= lateCalm }

// excess returns how much later than usual steps are.
func (e *ease) excess() time.Duration { return e.late - min(e.usual[0], e.usual[1]) }
