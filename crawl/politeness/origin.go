package politeness

import (
	"slices"
	"time"

	"github.com/mosey-web/mosey/crawl"
)

// AnsweringMax limits the stored origins of a domain with a good response. Two would suffice to
// know one besides any origin; the third helps when an origin fails.
const AnsweringMax = 3

// answeringStep is the precision of the stored times: a change with each response would be costly.
const answeringStep = 10 // seconds

// ObserveOrigin returns the health after an origin's good response, or its failure as a whole, at
// an instant.
func ObserveOrigin(h crawl.Health, origin string, answered bool, now time.Time) crawl.Health {
	key, at := crawl.Hash32(origin), now.Unix()
	if front := h.AnsweringOrigins; answered && len(front) > 0 && front[0].Origin == key && at-front[0].At < answeringStep {
		return h
	}
	others := slices.DeleteFunc(slices.Clone(h.AnsweringOrigins), func(o crawl.OriginAnswer) bool { return o.Origin == key })
	if answered {
		others = slices.Insert(others, 0, crawl.OriginAnswer{Origin: key, At: at})
	}
	h.AnsweringOrigins = others[:min(len(others), AnsweringMax)]
	return h
}

// LastOtherOriginAnswer returns the last good response of another origin of the domain. It is zero
// if no other origin has one, or if each has failed since.
func LastOtherOriginAnswer(h crawl.Health, origin string) time.Time {
	key := crawl.Hash32(origin)
	for _, o := range h.AnsweringOrigins {
		if o.Origin != key {
			return time.Unix(o.At, 0)
		}
	}
	return time.Time{}
}
