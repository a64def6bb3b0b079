package activities

import (
	"math"
	"sync"
	"time"
)

const (
	// easeFirst is how many steps a second a process may take before it has learned
	// what Temporal can do. Twenty domains at a delay of a second need 20.
	easeFirst = 30.0
	// easeLeast and easeMost bound what it may learn.
	easeLeast = 2.0
	easeMost  = 10_000.0
	// easeSaved is how long steps that were not taken can be taken later: domains
	// that were started together go on together.
	easeSaved = time.Second
	// lateCalm is how much later than usual steps are, on average, from where Temporal
	// is not at ease: no more of them then.
	lateCalm = 40 * time.Millisecond
	// lateBusy is the same from where there are to be half as many. It is well below
	// wakeEarly, so that no request is late yet.
	lateBusy = 150 * time.Millisecond
	// lateMost is what one step counts for at the most.
	lateMost = 2 * time.Second
	// lateWeight is the least weight of one step in the average, and lateSpan what of
	// the past counts where steps are few.
	lateWeight = 1.0 / 32
	lateSpan   = 5 * time.Second
	// usualMost bounds how late steps may be and be taken for usual: what is later
	// delays requests.
	usualMost = wakeEarly / 2
	// usualSpan is for how long the earliest step is remembered.
	usualSpan = 5 * time.Minute
	// easeGrowth speeds the growth of the rate up, as a share a second, for each second
	// in which more steps are wanted and Temporal is at ease: the rate doubles in 37 s.
	// easeGrowthMost is the fastest growth.
	easeGrowth     = 0.001
	easeGrowthMost = 0.1
	// expectedMost bounds the steps that are waited for.
	expectedMost = 100_000
)

// ease decides how many steps of workflows this process takes: how often a batch of
// pages ends, so that Temporal runs the domain's timer and its next activity. Each
// costs Temporal more than all else that a page takes, so that on a busy machine
// batches go on in the process instead. It is safe for concurrent use.
//
// What it goes by is how late an activity is started: each batch that ends leaves
// word when its domain's next is due, and the next measures. Both are on this
// process's monotonic clock. A rate of steps that makes them late is halved, and
// grows slowly while they are not, so that it stays near what Temporal does with ease
// and does not swing. It is shared by all batches, since Temporal is.
type ease struct {
	mu sync.Mutex
	// rate is in steps a second, left what of it was not used, at an instant
	rate float64
	left float64
	at   time.Time
	// refused is set while steps are wanted beyond the rate, and wanted is for how long
	// they were since Temporal was last not at ease
	refused bool
	wanted  time.Duration
	// lowered is when the rate was last lowered
	lowered time.Time
	// late is how late steps are on average, and usual how late those of two spans of
	// time were that were started soonest
	late     time.Duration
	lateAt   time.Time
	usual    [2]time.Duration
	usualEnd time.Time
	expected map[string]expectation
}

// expectation is when an activity is to be started.
type expectation struct {
	// left is when the batch before it ended.
	left time.Time
	due  time.Time
	// slot is the domain's, on the database's clock: when another worker has served
	// the domain meanwhile, it is another.
	slot time.Time
}

func newEase(now time.Time) *ease {
	return &ease{
		rate: easeFirst, left: easeFirst * easeSaved.Seconds(), at: now, lateAt: now,
		usual: [2]time.Duration{usualMost, usualMost}, usualEnd: now.Add(usualSpan),
		expected: make(map[string]expectation),
	}
}

// step takes a step, if there is one to be had at the present rate. If not, the batch
// goes on.
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

// refill adds the steps that have become free, and lets the rate grow.
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

// leave notes when a domain's next activity is due, as its batch ends.
func (e *ease) leave(domain string, slot, now time.Time, wait time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.expected) >= expectedMost {
		clear(e.expected) // domains that other workers serve now
	}
	e.expected[domain] = expectation{left: now, due: now.Add(wait), slot: slot}
}

// began measures how late an activity was started, if its domain left word.
func (e *ease) began(domain string, slot, now time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	x, ok := e.expected[domain]
	delete(e.expected, domain)
	late := now.Sub(x.due)
	// Something else may have started it: news, or another worker's batch.
	if !ok || late < 0 || !x.slot.Equal(slot) {
		return
	}
	e.measured(min(late, lateMost), x.left, now)
}

// measured counts one step.
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
	// A step from before the rate was lowered tells nothing of the present one.
	if e.excess() > lateBusy && left.After(e.lowered) {
		e.rate, e.left = max(e.rate/2, easeLeast), min(e.left, 1)
		e.lowered = now
	}
}

// calm reports whether Temporal is at ease.
func (e *ease) calm() bool { return e.excess() <= lateCalm }

// excess is how much later than usual steps are.
func (e *ease) excess() time.Duration { return e.late - min(e.usual[0], e.usual[1]) }
