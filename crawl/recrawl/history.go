package recrawl

import (
	"math"
	"time"
)

// The rule for one page: a week at first, half of it after a change, half as much again after none,
// between Least and Most.
const (
	Least = time.Hour
	Most  = 180 * 24 * time.Hour
)

const (
	FadeMissing = 5                   // 404s in a row after which a page fades out
	FadeGone    = 2                   // the same for 410: one can be a mistake
	PassMost    = 30 * 24 * time.Hour // longest time until a page that is passed over comes again
)

// The rule, in days.
const (
	firstDays = 7.0
	leastDays = 1.0 / 24
	mostDays  = 180.0

	onChange    = 0.5
	onNone      = 1.5
	onMissing   = 2.0
	missingDays = 1.0 // the least interval that is doubled while a page is missing
)

const (
	// memory is the factor by which each visit discounts earlier ones: about the last thirty count.
	memory     = 0.97
	gapClasses = 13 // classes of gaps: 1 h, 2 h, 4 h, … 4096 h
	// dateLeast is the least age of a date. Servers that make pages on request date them at this
	// moment.
	dateLeast = time.Minute
)

// Found is what a visit found.
type Found int

// What a visit finds.
const (
	Failed    Found = iota // says nothing about the page: no answer, 429, 5xx
	Unchanged              // the page as it was at the last visit: see freshness.Unchanged
	Changed                // another page than at the last visit
	Missing                // a 404, or an answer that counts as one
	Gone                   // a 410
)

// Visit is the evidence of one visit.
type Visit struct {
	Found Found
	// Since is the time since the last visit that found the page; 0 at the first.
	Since time.Duration
	// ChangedAgo is the time since the last change, by Last-Modified or by a list that is believed;
	// 0 if unknown. Less than a minute, or a time before the last visit, is not believed.
	ChangedAgo time.Duration
}

// History sums up what visits to a page, and lists that name it, have shown of how
// often it changes. The zero value is a page that was visited once. It is bounded,
// about 150 bytes of JSON, which is an on-disk format.
type History struct {
	// Visits counts the visits after the first that found the page, Changes those with a change.
	Visits  int `json:"visits,omitzero"`
	Changes int `json:"changes,omitzero"`
	// Days is the interval of the rule; 0 is a week.
	Days float64 `json:"days,omitzero"`
	// Quiet is the days without a change. Old evidence counts less, as in Dated and Gaps.
	Quiet float64 `json:"quiet,omitzero"`
	// Dated is how many changes there were whose time is known.
	Dated float64 `json:"dated,omitzero"`
	// Gaps counts the changes of unknown time: the i-th element those in gaps of 2^i hours.
	Gaps []float64 `json:"gaps,omitempty"`
	// Missing counts the last 404 and 410 in a row, Gone the 410 among them.
	Missing int `json:"missing,omitzero"`
	Gone    int `json:"gone,omitzero"`
	// Passed is how often in a row its time came and it was passed over, without a request.
	Passed int `json:"passed,omitzero"`
	// Listed is how many days after the last visit a list that names the page was read.
	Listed float64 `json:"listed,omitzero"`
	// News is whether that list says that the page has changed since the last visit.
	News bool `json:"news,omitzero"`
	// Odds is the factor of the list on the odds that the page has changed: see [Source].
	Odds float64 `json:"odds,omitzero"`
	// Calm is the days after the last visit without a change, by a list that is believed.
	Calm float64 `json:"calm,omitzero"`
}

// Visit is the history after a visit. The hints of lists before it are used up.
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
		// A visit that follows news comes just after a change. Its gap would make the page
		// seem to change ever faster, if the time before the news did not count.
		calm = min(calm, since)
		h.Quiet += calm
		addGap(gaps, since-calm)
	}
	h.Quiet, h.Dated, h.Gaps = short(h.Quiet), short(h.Dated), compact(gaps)
	return h
}

// Pass is the history of a page that was due and was passed over, because of robots.txt or its URL,
// and when to look again: ever more rarely, down to once in PassMost, or as rarely as the page
// changes.
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

// Faded reports whether the page is no longer asked for by itself.
func (h History) Faded() bool { return h.Missing >= FadeMissing || h.Gone >= FadeGone }

// Again is the history of a page that is named anew: by a seed, by a new link, or by a
// list that announces a change. If the page had faded out, it is asked for once more,
// and fades out at once if it is still missing.
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
