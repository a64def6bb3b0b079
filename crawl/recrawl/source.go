package recrawl

import "time"

// Source is how far a sitemap or a feed is believed: how often it said that a page had
// changed which had, and which had not. The zero value is a list that nobody knows yet.
// It is an on-disk format, of the row of a list or of its domain.
//
// A list that says of every page that it has changed just now says nothing, and neither
// does one whose dates never move: their word is as common where it is wrong. So it is
// never asked why a list is wrong, and a list that lies gains nothing by it.
type Source struct {
	// Told is how many changes visits found of which the list had spoken, Missed how many
	// of which it had not. What is old counts less, as in Alarms and Quiet.
	Told   float64 `json:"told,omitzero"`
	Missed float64 `json:"missed,omitzero"`
	// Alarms is how many visits found no change where the list had spoken of one, Quiet
	// how many where it had not.
	Alarms float64 `json:"alarms,omitzero"`
	Quiet  float64 `json:"quiet,omitzero"`
}

const (
	// sourceMemory is what a visit leaves of what a source was known for, so that about
	// the last hundred visits count.
	sourceMemory = 0.99
	// believed is what no news have to make of the odds of a change for the time to count
	// as one without.
	believed = 0.5
	// leastListed is the shortest time that is kept, in days.
	leastListed = 0.001
)

// Visit is the source after a visit to a page that it names; h is the page's history
// before the visit.
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

// odds is by how much the source's word multiplies the odds that a page has changed. Of
// an unknown source, news double them, and no news mean little.
func (s Source) odds(news bool) float64 {
	told := (s.Told + 1) / (s.Told + s.Missed + 2)
	alarms := (s.Alarms + 0.5) / (s.Alarms + s.Quiet + 2)
	if news {
		return told / alarms
	}
	return (1 - told) / (1 - alarms)
}

// Hint is what a list says of a page that it names.
type Hint struct {
	// Since is how long after the page's last visit the list was read.
	Since time.Duration
	// News is whether the list says that the page has changed since that visit: a lastmod
	// that is later, or an entry of a feed that is new. A date without a time of day is
	// news from the next day on.
	News   bool
	Source Source
}

// Hint is the history after a list was read. The word of the last list counts, but once
// there are news, only news that are believed more.
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
