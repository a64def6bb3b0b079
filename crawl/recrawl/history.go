package recrawl

import (
	"math"
	"time"
)

// The rule for one page: a week at first, half of it after a change, half as much again without a
// change, between Least and Most.
const (
	Least = time.Hour
	Most  = 180 * 24 * time.Hour
)

const (
	FadeMissing = 5                   // consecutive 404s after which a page fades out
	FadeGone    = 2                   // the same for 410: one can be a mistake
	PassMost    = 30 * 24 * time.Hour // longest time until a skipped page returns
)

// The rule, in days.
const (
	firstDays = 7.0
	leastDays = 1.0 / 24
	mostDays  = 180.0

	onChange    = 0.5
	onNone      = 1.5
	onMissing   = 2.0
	missingDays = 1.0 // the minimum interval that a missing page doubles
)

const (
	// memory is each visit's discount of earlier ones: about the last thirty count.
	memory     = 0.97
	gapClasses = 13 // classes of gaps: 1 h, 2 h, 4 h, … 4096 h
	// dateLeast is the least age of a date. Servers date generated pages at this moment.
	dateLeast = time.Minute
)

// Found is the result of a visit.
type Found int

// The results of visits.
const (
	Failed    Found = iota // proves nothing about the page: no answer, 429, 5xx
	Unchanged              // the page as it was at the last visit: see freshness.Unchanged
	Changed                // another page than at the last visit
	Missing                // a 404, or an equivalent answer
	Gone                   // a 410
)

// Visit is the evidence of one visit.
type Visit struct {
	Found Found
	// Since is the time since the last visit that found the page; 0 at the first.
	Since time.Duration
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
	// Quiet counts the days without a change. Old evidence counts less, as in Dated and Gaps.
	Quiet float64 `json:"days_unchanged,omitzero"`
	// Dated counts the changes with a known time.
	Dated float64 `json:"dated_changes,omitzero"`
	// Gaps counts the changes of unknown time: element i counts those in gaps of 2^i hours.
	Gaps []float64 `json:"gaps,omitempty"`
	// Missing counts the last consecutive 404 and 410, Gone the 410 among them.
	Missing int `json:"missing,omitzero"`
	Gone    int `json:"gone,omitzero"`
	// Passed counts the consecutive due times that were skipped without a request.
	Passed int `json:"skipped_due_times,omitzero"`
	// Listed is the reading time of a list that names the page, in days after the last visit.
	Listed float64 `json:"listed,omitzero"`
	// News is set if that list declares a change since the last visit.
	News bool `json:"change_announced,omitzero"`
	// Odds is the factor of the list on the odds that the page has changed: see [Source].
	Odds float64 `json:"odds,omitzero"`
	// Calm counts the days after the last visit without a change, by a believed list.
	Calm float64 `json:"listed_unchanged_days,omitzero"`
}

// Visit returns the history after a visit. It consumes the earlier hints of lists.
func (h History) Visit(v Visit) History {
	if v.Found == Failed {
		return h
	}
	calm, news := h.Calm, h.News
	h.Passed = 0
	h.Listed, h.News, h.Odds, h.Calm = 0, false, 0, 0
	if v.Found == Missing || v.Found == Gone {
		h.Missing++
		if v.Found == Gone {
			h.Gone++
		}
		h.Days = short(min(max(h.ruleDays(), missingDays)*onMissing, mostDays))
		return h
	}
	h.Missing, h.Gone = 0, 0
	if v.Since <= 0 {
		return h
	}
	h.Visits++
	if v.Found == Changed {
		h.Changes++
		h.Days = short(max(h.ruleDays()*onChange, leastDays))
	} else {
		h.Days = short(min(h.ruleDays()*onNone, mostDays))
	}
	return h.observe(v, calm, news)
}

// observe adds the evidence of a visit on the rate of changes.
func (h History) observe(v Visit, calm float64, news bool) History {
	h.Quiet *= memory
	h.Dated *= memory
	gaps := make([]float64, gapClasses)
	for i, n := range h.Gaps[:min(len(h.Gaps), gapClasses)] {
		gaps[i] = n * memory
	}
	since := days(v.Since)
	switch {
	case v.Found == Unchanged:
		h.Quiet += since
	case !news && dateLeast <= v.ChangedAgo && v.ChangedAgo < v.Since:
		h.Dated++
		h.Quiet += days(v.ChangedAgo)
	default:
		// A visit that follows news comes just after a change. Count the time before the news, or its
		// gap would make the page seem to change ever faster.
		calm = min(calm, since)
		h.Quiet += calm
		addGap(gaps, since-calm)
	}
	h.Quiet, h.Dated, h.Gaps = short(h.Quiet), short(h.Dated), compact(gaps)
	return h
}

// Pass returns the history of a due page that was skipped because of robots.txt or its URL, and the
// wait before the next check. The wait grows to PassMost, or to the page's interval.
func (h History) Pass() (History, time.Duration) {
	wait := h.ruleDays() * math.Pow(onNone, float64(h.Passed))
	h.Passed++
	return h, duration(min(wait, max(h.ruleDays(), PassMost.Hours()/24)))
}

// addGap shares a gap between the two classes next to it, so that their mean is the gap.
func addGap(gaps []float64, days float64) {
	at := min(max(math.Log2(24*days), 0), gapClasses-1)
	i := int(at)
	part := at - float64(i)
	gaps[i] += 1 - part
	if part > 0 {
		gaps[i+1] += part
	}
}

func compact(gaps []float64) []float64 {
	last := 0
	for i := range gaps {
		gaps[i] = short(gaps[i])
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

// Again returns the history of a page named anew: by a seed, by a new link, or by a list that
// announces a change. A faded page gets one more request, and fades out at once if still missing.
func (h History) Again() History {
	h.Missing = min(h.Missing, FadeMissing-1)
	h.Gone = min(h.Gone, FadeGone-1)
	return h
}

func (h History) ruleDays() float64 {
	if h.Days <= 0 {
		return firstDays
	}
	return min(max(h.Days, leastDays), mostDays)
}

// short rounds to three decimals, which are enough to store.
func short(x float64) float64 { return math.Round(x*1000) / 1000 }

func days(d time.Duration) float64 { return d.Hours() / 24 }

func duration(days float64) time.Duration {
	return min(max(time.Duration(days*24*float64(time.Hour)), Least), Most)
}
