package politeness

import (
	"time"

	"github.com/mosey-web/mosey/crawl"
)

// The shortest and the longest time for which a domain or an origin is given up, never for good.
const (
	GiveUpFirst = time.Hour
	GiveUpMost  = 30 * 24 * time.Hour
)

// GiveUp is how long to leave a domain alone that was out of reach so many times
// in a row, from 1: GiveUpFirst, doubled each time, up to GiveUpMost.
func GiveUp(times int) time.Duration {
	wait := GiveUpFirst
	for ; times > 1 && wait < GiveUpMost; times-- {
		wait *= 2
	}
	return min(wait, GiveUpMost)
}

// noNameLeast is how long a name has to be missing, since a zone may be broken for a while.
const noNameLeast = time.Hour

// NameGone reports whether the name of a domain has been missing for long enough.
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

// awayMost is how long a domain is asked in vain if no connection to it can be made. A
// failure that is awayForgotten times as old no longer counts.
const (
	awayMost      = 6 * time.Minute
	awayForgotten = 10
)

// ObserveAway is the health after a request that has been tried since an instant; away means
// that no connection could be made. It also reports whether to give the domain up: after the
// wait, at the next try, it would have been away for too long. A domain with a long delay,
// which is rarely asked, has three tries.
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
