package recrawl

import "time"

// Source counts the correct and wrong announcements of changes by a sitemap or a feed, and so its
// credibility. The zero value is an unknown list. It is an on-disk format, stored in the row of a
// list or of its domain.
//
// A list that announces a change of every page is no evidence: its news are wrong as often as they
// are right. So the cause of a wrong list does not matter, and a list gains nothing by lying.
type Source struct {
	// AnnouncedChanges counts announced changes, FalseAlarms announcements without a change. Old
	// visits count less.
	AnnouncedChanges float64 `json:"announced,omitzero"`
	FalseAlarms      float64 `json:"false_announcements,omitzero"`
}

const (
	// sourceDecay is each visit's discount of earlier ones: about the last hundred count.
	sourceDecay = 0.99
	minListDays = 0.001 // the shortest stored time, in days
)

// Visit returns the source after a visit to a page whose change it announced. h is the history
// before.
func (s Source) Visit(h History, v Visit) Source {
	if h.ListReadDays <= 0 || v.SinceLast <= 0 || (v.Result != Changed && v.Result != Unchanged) {
		return s
	}
	s.AnnouncedChanges *= sourceDecay
	s.FalseAlarms *= sourceDecay
	if v.Result == Changed {
		s.AnnouncedChanges++
	} else {
		s.FalseAlarms++
	}
	return Source{AnnouncedChanges: round3(s.AnnouncedChanges), FalseAlarms: round3(s.FalseAlarms)}
}

// odds returns the factor of the source's announcement on the odds that a page has changed. An
// unknown source doubles them.
func (s Source) odds() float64 {
	return (s.AnnouncedChanges + 1) / (s.AnnouncedChanges + 2) * (s.FalseAlarms + 2) / (s.FalseAlarms + 0.5)
}

// Announce returns the history after a list was read that announces a change since the last visit,
// by a later lastmod or by a new entry of a feed. A date without a time of day is news from the
// next day on. since is the time from the visit to the reading. Only more credible news replace
// news.
func (h History) Announce(since time.Duration, by Source) History {
	odds := by.odds()
	if since <= 0 || (h.ListReadDays > 0 && odds <= h.Odds) {
		return h
	}
	h.ListReadDays, h.Odds = round3(max(days(since), minListDays)), round3(max(odds, minListDays))
	return h
}
