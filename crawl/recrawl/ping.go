package recrawl

import "time"

// Ping is what the owner of a page has told of it last: that it is new or has changed. It is a
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
	next := &Ping{At: at.Unix(), By: by}
	switch {
	case h.Ping.open():
		next.Listed, next.Odds = h.Ping.Listed, h.Ping.Odds
	case since > 0:
		next.Listed = short(max(days(since), leastListed))
		next.Odds = short(max(pings.odds(true), leastListed))
	}
	h.Ping = next
	return h
}

// withPing is the history with the ping as news of a list, if that is more credible.
func (h History) withPing() History {
	if h.Ping.open() && (!h.News || h.Odds < h.Ping.Odds) {
		h.Listed, h.News, h.Odds = h.Ping.Listed, true, h.Ping.Odds
	}
	return h
}

// VisitPings is how far pings are believed after a visit to a page of a domain that sends them. h
// is the page's history before the visit. A change without a ping counts against them, as one that
// a list did not announce.
func (s Source) VisitPings(h History, v Visit) Source {
	return s.Visit(History{Listed: max(days(v.Since), leastListed), News: h.Ping.open()}, v)
}
