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

// awayMost is for how long a domain to which no connection can be made is asked in vain, and
// awayForgotten how many times as long ago a failure says nothing about now.
const (
	awayMost      = 6 * time.Minute
	awayForgotten = 10
)

// ObserveAway is the health after a request that was asked for in vain since an instant, if
// it was away, that is, had no connection. It also reports whether the domain is to be given
// up: by the next try, after a wait, it would have been away for too long. A domain that is
// rarely asked, for its delay, has three chances.
func ObserveAway(h crawl.Health, away bool, since, now time.Time, wait, delay time.Duration) (crawl.Health, bool) {
	if !away {
		h.AwaySince = time.Time{}
		return h, false
	}
	most := max(awayMost, 3*delay)
	if now.Sub(since) > awayForgotten*most {
		since = now
	}
	forgotten := h.GivenUp == 0 && now.Sub(h.AwaySince) > awayForgotten*most
	if h.AwaySince.IsZero() || forgotten || since.Before(h.AwaySince) {
		h.AwaySince = since
	}
	return h, now.Sub(h.AwaySince)+wait >= most
}
