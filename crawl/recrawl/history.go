package recrawl

import (
	"math"
	"time"
)

// The rule for one page: a week at first, half of it after a change, half as much again without a
// change, between MinInterval and MaxInterval.
const (
	MinInterval = time.Hour
	MaxInterval = 180 * 24 * time.Hour
)

const (
	FadeMissing     = 5                   // consecutive 404s after which a page fades out
	FadeGone        = 2                   // the same for 410: one can be a mistake
	MaxSkipInterval = 30 * 24 * time.Hour // longest time until a skipped page returns
)

// The rule, in days.
const (
	initialDays = 7.0
	minDays     = 1.0 / 24
	maxDays     = 180.0

	changedFactor   = 0.5
	unchangedFactor = 1.5
	missingFactor   = 2.0
	minMissingDays  = 1.0 // the minimum interval that a missing page doubles
)

const (
	// evidenceDecay is each visit's discount of earlier ones: about the last thirty count.
	evidenceDecay = 0.97
	gapClasses    = 13 // classes of gaps: 1 h, 2 h, 4 h, … 4096 h
	// minDateAge is the least age of a date. Servers date generated pages at this moment.
	minDateAge = time.Minute
)

// VisitResult is the result of a visit.
type VisitResult int

// The results of visits.
const (
	Failed    VisitResult = iota // proves nothing about the page: no response, 429, 5xx
	Unchanged                    // the page as it was at the last visit: see freshness.Unchanged
	Changed                      // another page than at the last visit
	Missing                      // a 404, or an equivalent response
	Gone                         // a 410
)

// Visit is the evidence of one visit.
type Visit struct {
	Result VisitResult
	// SinceLast is the time since the last visit that found the page; 0 at the first.
	SinceLast time.Duration
	// ChangedAgo is the time since the last change, by Last-Modified or a believed list; 0 means
	// unknown. Less than a minute, or a time before the last visit, is not believed.
	ChangedAgo time.Duration
}

// History summarizes the changes that visits to a page, and lists that name it, have revealed. The
// zero value is a page that was visited once. It is bounded, about 150 bytes of JSON, an on-disk
// format.
type History struct {
	// Visits counts the visits after the first that found the page, Changes the visits with a change.
	Visits  int `json:"visits,omitzero"`
	Changes int `json:"changes,omitzero"`
	// Days is the interval of the rule; 0 means a week.
	Days float64 `json:"days,omitzero"`
	// UnchangedDays counts the days without a change. Old evidence counts less, as in DatedChanges and
	// Gaps.
	UnchangedDays float64 `json:"days_unchanged,omitzero"`
	// DatedChanges counts the changes with a known time.
	DatedChanges float64 `json:"dated_changes,omitzero"`
	// Gaps counts the changes of unknown time: element i counts those in gaps of 2^i hours.
	Gaps []float64 `json:"gaps,omitempty"`
	// Missing counts the last consecutive 404 and 410, Gone the 410 among them.
	Missing int `json:"missing,omitzero"`
	Gone    int `json:"gone,omitzero"`
	// SkippedCount counts the consecutive due times that were skipped without a request.
	SkippedCount int `json:"skipped_due_times,omitzero"`
	// ListReadDays is the reading time of a list that announces a change since the last visit, in
	// days after that visit.
	ListReadDays float64 `json:"listed,omitzero"`
	// Odds is the factor of the list on the odds that the page has changed: see [Source].
	Odds float64 `json:"odds,omitzero"`
}

// Visit returns the history after a visit. It consumes the earlier news of lists.
func (h History) Visit(v Visit) History {
	if v.Result == Failed {
		return h
	}
	announced := h.ListReadDays > 0
	h.SkippedCount = 0
	h.ListReadDays, h.Odds = 0, 0
	if v.Result == Missing || v.Result == Gone {
		h.Missing++
		if v.Result == Gone {
			h.Gone++
		}
		h.Days = round3(min(max(h.ruleDays(), minMissingDays)*missingFactor, maxDays))
		return h
	}
	h.Missing, h.Gone = 0, 0
	if v.SinceLast <= 0 {
		return h
	}
	h.Visits++
	if v.Result == Changed {
		h.Changes++
		h.Days = round3(max(h.ruleDays()*changedFactor, minDays))
	} else {
		h.Days = round3(min(h.ruleDays()*unchangedFactor, maxDays))
	}
	return h.observe(v, announced)
}

// observe adds the evidence of a visit on the rate of changes.
func (h History) observe(v Visit, announced bool) History {
	h.UnchangedDays *= evidenceDecay
	h.DatedChanges *= evidenceDecay
	gaps := make([]float64, gapClasses)
	for i, n := range h.Gaps[:min(len(h.Gaps), gapClasses)] {
		gaps[i] = n * evidenceDecay
	}
	since := days(v.SinceLast)
	switch {
	case v.Result == Unchanged:
		h.UnchangedDays += since
	case !announced && minDateAge <= v.ChangedAgo && v.ChangedAgo < v.SinceLast:
		h.DatedChanges++
		h.UnchangedDays += days(v.ChangedAgo)
	default:
		addGap(gaps, since)
	}
	h.UnchangedDays, h.DatedChanges, h.Gaps = round3(h.UnchangedDays), round3(h.DatedChanges), trimGaps(gaps)
	return h
}

// Skip returns the history of a due page that was skipped because of robots.txt or its URL, and the
// wait before the next check. The wait grows to MaxSkipInterval, or to the page's interval.
func (h History) Skip() (History, time.Duration) {
	wait := h.ruleDays() * math.Pow(unchangedFactor, float64(h.SkippedCount))
	h.SkippedCount++
	return h, duration(min(wait, max(h.ruleDays(), MaxSkipInterval.Hours()/24)))
}

// addGap shares a gap between the two classes next to it, so that their mean is the gap.
func addGap(gaps []float64, days float64) {
	position := min(max(math.Log2(24*days), 0), gapClasses-1)
	i := int(position)
	part := position - float64(i)
	gaps[i] += 1 - part
	if part > 0 {
		gaps[i+1] += part
	}
}

func trimGaps(gaps []float64) []float64 {
	last := 0
	for i := range gaps {
		gaps[i] = round3(gaps[i])
		if gaps[i] > 0 {
			last = i + 1
		}
	}
	if last == 0 {
		return nil
	}
	return gaps[:last:last]
}

// Faded reports whether the page is no longer requested automatically.
func (h History) Faded() bool { return h.Missing >= FadeMissing || h.Gone >= FadeGone }

func (h History) ruleDays() float64 {
	if h.Days <= 0 {
		return initialDays
	}
	return min(max(h.Days, minDays), maxDays)
}

// round3 rounds to three decimals, which are enough to store.
func round3(x float64) float64 { return math.Round(x*1000) / 1000 }

func days(d time.Duration) float64 { return d.Hours() / 24 }

func duration(days float64) time.Duration {
	return min(max(time.Duration(days*24*float64(time.Hour)), MinInterval), MaxInterval)
}
