package recrawl

import "time"

// WebSub is the protocol by which hubs tell of changes. What they tell counts apart from what owners do.
const WebSub = "websub"

// Ping is what the owner of a page, or its hub, has told of it last: that it is new or has changed. It is a
// part of [History], and an on-disk format.
type Ping struct {
	// At is when that was told, in Unix seconds, and By how: the name of a protocol.
	At int64  `json:"at"`
	By string `json:"by,omitempty"`
	// Listed is how many days after the last visit that was. Odds multiplies the odds that the
	// page has changed. Both are 0 once a visit has followed.
	Listed float64 `json:"listed,omitzero"`
	Odds   float64 `json:"odds,omitzero"`
}

// open reports whether no visit has followed yet.
func (p *Ping) open() bool { return p != nil && p.Listed > 0 }

// used is a ping that a visit has followed.
func (p *Ping) used() *Ping {
	if p == nil {
		return nil
	}
	return &Ping{At: p.At, By: p.By}
}

// Tell is the history after the page's owner has told that it has changed. since is how long
// after the last visit that was. If it is zero or less, the ping is only remembered. pings is how
// far the owner's pings are believed. If several follow one visit, the first counts.
func (h History) Tell(at time.Time, by string, since time.Duration, pings Source) History {
	last := &h.Ping
	if by == WebSub {
		last = &h.Push
	}
	next := &Ping{At: at.Unix(), By: by}
	switch {
	case (*last).open():
		next.Listed, next.Odds = (*last).Listed, (*last).Odds
	case since > 0:
		next.Listed = short(max(days(since), leastListed))
		next.Odds = short(max(pings.odds(true), leastListed))
	}
	*last = next
	return h
}

// Told is what the page's owner or its hub has told of it last; nil is nothing.
func (h History) Told() *Ping {
	if h.Ping == nil || h.Push != nil && h.Push.At > h.Ping.At {
		return h.Push
	}
	return h.Ping
}

// withPing is the history with what was told as news of a list, if that is more credible.
func (h History) withPing() History {
	for _, p := range []*Ping{h.Ping, h.Push} {
		if p.open() && (!h.News || h.Odds < p.Odds) {
			h.Listed, h.News, h.Odds = p.Listed, true, p.Odds
		}
	}
	return h
}

// VisitPings is how far pings are believed after a visit to a page of a domain that sends them. h
// is the page's history before the visit. A change without a ping counts against them, as one that
// a list did not announce. A visit that a hub alone has caused says nothing of them.
func (s Source) VisitPings(h History, v Visit) Source {
	if h.Push.open() && !h.Ping.open() {
		return s
	}
	return s.Visit(History{Listed: max(days(v.Since), leastListed), News: h.Ping.open()}, v)
}

// VisitPushes is how far the hub of a page is believed after a visit, if it was to tell of all changes since
// the last one. h is the page's history before the visit.
func (s Source) VisitPushes(h History, v Visit) Source {
	return s.Visit(History{Listed: max(days(v.Since), leastListed), News: h.Push.open()}, v)
}

// silentAfter is how many changes a hub has to have kept silent about, less those that are long ago.
const silentAfter = 2.9

// Silent reports whether the page's hub tells of nothing: it has missed about three changes, and has
// hardly told of one.
func (h History) Silent() bool {
	return h.Pushes != nil && h.Pushes.Missed >= silentAfter && h.Pushes.Told+h.Pushes.Alarms < 0.5
}
