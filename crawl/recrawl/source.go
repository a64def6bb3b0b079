package recrawl

import "time"

// Source counts the correct and wrong hints of a sitemap or a feed, and so its credibility. The
// zero value is an unknown list. It is an on-disk format, stored in the row of a list or of its
// domain.
//
// A list that announces a change of every page is no evidence, and neither is a list with fixed
// dates: both are wrong as often as they are right. So the cause of a wrong list does not matter,
// and a list gains nothing by lying.
type Source struct {
	// Told counts announced changes, Missed unannounced ones. Old visits count less, in all fields.
	Told   float64 `json:"announced,omitzero"`
	Missed float64 `json:"unannounced,omitzero"`
	// Alarms counts announcements without a change, Quiet the visits without both.
	Alarms float64 `json:"false_announcements,omitzero"`
	Quiet  float64 `json:"silent_visits,omitzero"`
}

const (
	// sourceMemory is each visit's discount of earlier ones: about the last hundred count.
	sourceMemory = 0.99
	// believed bounds the odds of a change below which the time counts as time without one.
	believed    = 0.5
	leastListed = 0.001 // the shortest stored time, in days
)

// Visit returns the source after a visit to a page that it names. h is the history before.
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
		// a change after the list was read does not count against it
		s.Missed += min(h.Listed/days(v.Since), 1)
	case h.News:
		s.Alarms++
	default:
		s.Quiet++
	}
	return Source{Told: short(s.Told), Missed: short(s.Missed), Alarms: short(s.Alarms), Quiet: short(s.Quiet)}
}

// odds returns the factor of the source's hint on the odds that a page has changed. News of an
// unknown source double them; no news change them little.
func (s Source) odds(news bool) float64 {
	told := (s.Told + 1) / (s.Told + s.Missed + 2)
	alarms := (s.Alarms + 0.5) / (s.Alarms + s.Quiet + 2)
	if news {
		return told / alarms
	}
	return (1 - told) / (1 - alarms)
}

// Hint is a list's statement about a page.
type Hint struct {
	// Since is the time from the page's last visit to the reading of the list.
	Since time.Duration
	// News is set if the list declares a change since then: by a later lastmod, or by a new entry of a
	// feed. A date without a time of day is news from the next day on.
	News   bool
	Source Source
}

// Hint returns the history after a list was read. The last list counts, but only more credible news
// replace news.
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
