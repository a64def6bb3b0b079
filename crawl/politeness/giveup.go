package politeness

import (
	"time"

	"github.com/mosey-web/mosey/crawl"
)

// How long a domain or an origin that does not answer is given up for, at first and
// at the most. Nothing is given up for good.
const (
	GiveUpFirst = time.Hour
	GiveUpMost  = 30 * 24 * time.Hour
)

// GiveUp is how long to leave alone what has been found out of reach so many times
// in a row, from 1: GiveUpFirst, doubled each time, up to GiveUpMost.
func GiveUp(times int) time.Duration {
	wait := GiveUpFirst
	for ; times > 1 && wait < GiveUpMost; times-- {
		wait *= 2
	}
	return min(wait, GiveUpMost)
}

// noNameLeast is for how long a name has to be missing before it counts: a zone may
// be broken for a while.
const noNameLeast = time.Hour

// NameGone reports whether a domain's name, which was looked up in vain at an
// instant, has been missing for so long that the domain is out of reach.
func NameGone(h crawl.Health, now time.Time) bool {
	return !h.NoNameSince.IsZero() && now.Sub(h.NoNameSince) >= noNameLeast
}

// ObserveName is the health after a look-up of the domain's name at an instant.
func ObserveName(h crawl.Health, missing bool, now time.Time) crawl.Health {
	switch {
	case !missing:
		h.NoNameSince = time.Time{}
	case h.NoNameSince.IsZero():
		h.NoNameSince = now
	}
	return h
}

// awayMost is for how long a domain to which no connection can be made is asked in vain.
const awayMost = 6 * time.Minute

// ObserveAway is the health after a request, by whether it had a connection, and whether
// the domain is to be given up: until it were asked again, after a wait, it would have been
// away for too long. It was asked in vain since an instant. A domain that is rarely asked
// has three chances.
func ObserveAway(h crawl.Health, away bool, since, now time.Time, wait, delay time.Duration) (crawl.Health, bool) {
	if !away {
		h.AwaySince = time.Time{}
		return h, false
	}
	if h.AwaySince.IsZero() || since.Before(h.AwaySince) {
		h.AwaySince = since
	}
	return h, now.Sub(h.AwaySince)+wait >= max(awayMost, 3*delay)
}
