package recrawl

import "time"

// Source counts how often a sitemap or a feed was right about changes, and so how far
// it is believed. The zero value is an unknown list. It is an on-disk format, stored in
// the row of a list or of its domain.
//
// A list that announces a change of every page is no evidence, and a list with fixed
// dates is not either: both are wrong as often as they are right. So the cause of a
// wrong list does not matter, and a list gains nothing by lying.
type Source struct {
	// Told counts the changes that the list had announced, Missed those that it had not. Old visits
	// count less, as in Alarms and Quiet.
	Told   float64 `json:"told,omitzero"`
	Missed float64 `json:"missed,omitzero"`
	// Alarms counts visits without a change although the list had announced one, Quiet those
	// without both.
	Alarms float64 `json:"alarms,omitzero"`
	Quiet  float64 `json:"quiet,omitzero"`
}

const (
	// sourceMemory is the factor by which each visit discounts earlier ones: about the last hundred
	// count.
	sourceMemory = 0.99
	// believed bounds the odds of a change below which the time counts as time without one.
	believed    = 0.5
	leastListed = 0.001 // the shortest time that is kept, in days
)

// Visit is the source after a visit to a page that it names. h is the history before.
func (s Source) Visit(h History, v Visit) Source {
	if h.Listed <= 0 || v.Since <= 0 || (v.Found != Changed && v.Found != Unchanged) {
		return s
	}
	s.Told *= sourceMemory
	s.Missed *= sourceMemory
	s.Alarms *= sourceMemory
	s.Quiet *= sourceMemory
	switch {
	case v.Found == Changed && h.News:
		s.Told++
	case v.Found == Changed:
		// the change may have come after the list was read, and is not held against it then
		s.Missed += min(h.Listed/days(v.Since), 1)
	case h.News:
		s.Alarms++
	default:
		s.Quiet++
	}
	return Source{Told: short(s.Told), Missed: short(s.Missed), Alarms: short(s.Alarms), Quiet: short(s.Quiet)}
}

// odds is the factor by which the source's word multiplies the odds that a page has
// changed. News of an unknown source double them; no news change them little.
func (s Source) odds(news bool) float64 {
	told := (s.Told + 1) / (s.Told + s.Missed + 2)
	alarms := (s.Alarms + 0.5) / (s.Alarms + s.Quiet + 2)
	if news {
		return told / alarms
	}
	return (1 - told) / (1 - alarms)
}

// Hint is what a list says about a page.
type Hint struct {
	// Since is how long after the page's last visit the list was read.
	Since time.Duration
	// News is set if the list says that the page has changed since: by a later lastmod, or by a new
	// entry of a feed. A date without a time of day is news from the next day on.
	News   bool
	Source Source
}

// Hint is the history after a list was read. The last list counts; only more credible news replace
// news.
func (h History) Hint(hint Hint) History {
	since := days(hint.Since)
	odds := hint.Source.odds(hint.News)
	if since <= 0 || (h.News && (!hint.News || odds <= h.Odds)) {
		return h
	}
	if !hint.News && odds < believed {
		h.Calm = short(since)
	}
	h.Listed, h.News, h.Odds = short(max(since, leastListed)), hint.News, short(max(odds, leastListed))
	return h
}
