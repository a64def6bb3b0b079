package recrawl

import "time"

// Source counts the correct and wrong hints of a sitemap or a feed, and so its credibility. The
// zero value is an unknown list. It is an on-disk format, stored in the row of a list or of its
// domain.
//
// A list that announces a change of every page is no evidence, and neither is a list with fixed
// dates: their hints are wrong as often as they are right. So the cause of a wrong list does not
// matter, and a list gains nothing by lying.
type Source struct {
	// AnnouncedChanges counts announced changes, MissedChanges unannounced ones. Old visits count
	// less, in all fields.
	AnnouncedChanges float64 `json:"announced,omitzero"`
	MissedChanges    float64 `json:"unannounced,omitzero"`
	// FalseAlarms counts announcements without a change, QuietVisits the visits without both.
	FalseAlarms float64 `json:"false_announcements,omitzero"`
	QuietVisits float64 `json:"silent_visits,omitzero"`
}

const (
	// sourceDecay is each visit's discount of earlier ones: about the last hundred count.
	sourceDecay = 0.99
	// maxUnchangedOdds bounds the odds of a change below which the time counts as time without one.
	maxUnchangedOdds = 0.5
	minListDays      = 0.001 // the shortest stored time, in days
)

// Visit returns the source after a visit to a page that it names. h is the history before.
func (s Source) Visit(h History, v Visit) Source {
	if h.ListReadDays <= 0 || v.SinceLast <= 0 || (v.Result != Changed && v.Result != Unchanged) {
		return s
	}
	s.AnnouncedChanges *= sourceDecay
	s.MissedChanges *= sourceDecay
	s.FalseAlarms *= sourceDecay
	s.QuietVisits *= sourceDecay
	switch {
	case v.Result == Changed && h.ChangeAnnounced:
		s.AnnouncedChanges++
	case v.Result == Changed:
		// a change after the list was read does not count against it
		s.MissedChanges += min(h.ListReadDays/days(v.SinceLast), 1)
	case h.ChangeAnnounced:
		s.FalseAlarms++
	default:
		s.QuietVisits++
	}
	return Source{
		AnnouncedChanges: round3(s.AnnouncedChanges), MissedChanges: round3(s.MissedChanges),
		FalseAlarms: round3(s.FalseAlarms), QuietVisits: round3(s.QuietVisits),
	}
}

// odds returns the factor of the source's hint on the odds that a page has changed. An unknown
// source doubles them if it has announced a change, and changes them little if not.
func (s Source) odds(announced bool) float64 {
	announcedShare := (s.AnnouncedChanges + 1) / (s.AnnouncedChanges + s.MissedChanges + 2)
	falseAlarmShare := (s.FalseAlarms + 0.5) / (s.FalseAlarms + s.QuietVisits + 2)
	if announced {
		return announcedShare / falseAlarmShare
	}
	return (1 - announcedShare) / (1 - falseAlarmShare)
}

// Hint is a list's statement about a page.
type Hint struct {
	// SinceVisit is the time from the page's last visit to the reading of the list.
	SinceVisit time.Duration
	// ChangeAnnounced is set if the list declares a change since then: by a later lastmod, or by a new
	// entry of a feed. A date without a time of day is news from the next day on.
	ChangeAnnounced bool
	Source          Source
}

// Hint returns the history after a list was read. The last list counts, but only more credible news
// replace news.
func (h History) Hint(hint Hint) History {
	since := days(hint.SinceVisit)
	odds := hint.Source.odds(hint.ChangeAnnounced)
	if since <= 0 || (h.ChangeAnnounced && (!hint.ChangeAnnounced || odds <= h.Odds)) {
		return h
	}
	if !hint.ChangeAnnounced && odds < maxUnchangedOdds {
		h.ListUnchangedDays = round3(since)
	}
	h.ListReadDays, h.ChangeAnnounced, h.Odds = round3(max(since, minListDays)), hint.ChangeAnnounced, round3(max(odds, minListDays))
	return h
}
