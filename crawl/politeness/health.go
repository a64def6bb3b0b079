package politeness

import (
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/settings"
)

// The constants of [crawl.Health].
const (
	HealthSamples = 20 // stored answers, each of another URL
	healthLeast   = 5  // answers needed to judge a domain
	// failuresInARow is the number of consecutive failing URLs that counts as a domain's failure.
	failuresInARow = 3

	// BreakerErrors is the share of errors, and BreakerSlow the 95th percentile of the answer times,
	// above which a domain is graylisted.
	BreakerErrors  = 0.5
	BreakerSlow    = 10 * time.Second
	graylistGrowth = 3 // longest graylisting, as a multiple of the first

	SlowdownMax   = time.Minute            // largest delay due to rising answer times
	slowdownLeast = 500 * time.Millisecond // the 95th percentile below which a domain never counts as slow
)

// Answer is one observed answer, or its absence.
type Answer struct {
	crawl.Sample

	// Trouble classifies the answer for the back-off. Hinted is set if the server named a wait.
	Trouble Trouble
	Hinted  bool
	// Probe is set if the answer, for example to a page, shows the domain's health. Many sites send
	// robots.txt even to crawlers that they otherwise refuse.
	Probe bool
}

// Judgement is a breaker's verdict on an answer.
type Judgement struct {
	// Trouble is the answer's; a page's trouble becomes the domain's if others fail too.
	Trouble Trouble
	// Graylist is the wait of a graylisted domain; 0 means not graylisted.
	Graylist time.Duration
	// GiveUp is crawl.DomainUnreachable or crawl.DomainBlocked if the domain is given up, for For.
	GiveUp crawl.DomainStatus
	For    time.Duration
	// Why explains a set Graylist or GiveUp.
	Why string
}

// URLKey identifies a URL in a [crawl.Sample], and an origin in a [crawl.OriginAnswer].
func URLKey(url string) uint32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(url)) // never fails
	return h.Sum32()
}

// Observe returns the health after an answer, and the breaker's judgement. Each URL counts once,
// with its last answer. Each failure of the domain at a page counts ([TroubleServer],
// [TroubleSetup]). Failures of an origin do not count ([TroubleOrigin]). delay is the domain's
// normal delay; jitter is in [0,1).
func Observe(
	h crawl.Health, a Answer, delay time.Duration, jitter float64, set crawl.BreakerSettings,
) (crawl.Health, Judgement) {
	if a.Trouble == TroubleOrigin {
		return h, Judgement{Trouble: TroubleOrigin}
	}
	samples := slices.DeleteFunc(slices.Clone(h.Samples), func(s crawl.Sample) bool {
		return a.URL != 0 && s.URL == a.URL && (!a.Probe || a.Trouble < TroubleServer)
	})
	// A readable robots.txt proves nothing about the answers to pages.
	if a.Probe || !a.Good() {
		samples = append(samples, a.Sample)
	}
	h.Samples = samples[max(len(samples)-HealthSamples, 0):]
	tr := a.Trouble
	if tr == TroublePage && failingInARow(h) {
		tr = TroubleServer
	}
	h.Penalty = settings.Duration(Penalty(time.Duration(h.Penalty), tr, a.Hinted, delay, jitter))
	h, j := judge(adapt(h, a.Sample, delay), a, set)
	j.Trouble = tr
	return h, j
}

func failingInARow(h crawl.Health) bool {
	last := h.Samples[max(len(h.Samples)-failuresInARow, 0):]
	return len(last) == failuresInARow && !slices.ContainsFunc(last, func(s crawl.Sample) bool { return !s.Error })
}

// Penalty returns the wait of a domain after failures. A failure doubles it ([TroubleServer]) or
// quadruples it ([TroubleSetup]), from BackoffBase or a larger delay. Jitter in [0,1) adds up to a
// quarter. The cap is BackoffMax, or a larger delay. A success halves the penalty, and drops it
// below BackoffBase, so that a recovering server is not overloaded again. A failure with a wait
// named by the server, or of the page alone ([TroublePage]), leaves it unchanged.
func Penalty(prev time.Duration, tr Trouble, hinted bool, delay time.Duration, jitter float64) time.Duration {
	switch {
	case tr == TroubleNone:
		if prev /= 2; prev < BackoffBase {
			return 0
		}
		return prev
	case hinted || tr == TroublePage:
		return prev
	}
	return Jittered(backoff(tr, float64(prev), delay), delay, jitter)
}

// adapt moves the slowdown. While the 95th percentile is twice the calm time, each further slow
// answer raises the slowdown by half, from the delay, up to SlowdownMax. Below that, each answer
// shrinks it by a tenth. The calm time falls at once and rises slowly, so that a constantly slow
// site does not count as failing. Errors do not count as calm, because they are often quick (as in
// Scrapy's AutoThrottle); they raise the penalty.
func adapt(h crawl.Health, s crawl.Sample, delay time.Duration) crawl.Health {
	took := answerTimes(h)
	if s.Error || len(took) < healthLeast {
		return h
	}
	p95, calm := percentile95(took), time.Duration(h.Calm)
	if calm == 0 || p95 < calm {
		calm = p95
	} else {
		calm += (p95 - calm) / 50
	}
	h.Calm = settings.Duration(calm)
	slow := time.Duration(h.Slowdown)
	limit := max(2*calm, slowdownLeast)
	switch {
	case p95 <= limit:
		if slow = slow * 9 / 10; slow < max(delay, BackoffBase) {
			slow = 0
		}
	case time.Duration(s.Took) > limit:
		// only new evidence counts: one slow answer stays among the last for long
		slow = min(max(slow, delay, BackoffBase)*3/2, max(SlowdownMax, delay))
	}
	h.Slowdown = settings.Duration(slow)
	return h
}

// judge is the breaker. It is open while Probing is set: the domain rests, then one probe decides.
// Other requests, such as for robots.txt, do not decide.
func judge(h crawl.Health, a Answer, set crawl.BreakerSettings) (crawl.Health, Judgement) {
	good := a.Good() && time.Duration(a.Took) <= BreakerSlow
	why := trouble(h)
	switch {
	case set.Graylist <= 0:
		h.Probing = false
	case h.Probing && !a.Probe:
		return h, Judgement{}
	case h.Probing && good:
		// answers before the rest prove nothing about the present
		h.Probing, h.Graylistings, h.Samples = false, 0, h.Samples[len(h.Samples)-1:]
	case h.Probing:
		return open(h, "the probe failed", set)
	case why != "":
		return open(h, why, set)
	}
	if good {
		h.GivenUp = 0
	}
	return h, Judgement{}
}

func open(h crawl.Health, why string, set crawl.BreakerSettings) (crawl.Health, Judgement) {
	h.Graylistings++
	h.Probing = true
	if h.Graylistings >= set.Most {
		h.GivenUp++
		giveUp := crawl.DomainUnreachable
		// most of the errors are refusals
		if share(h, func(s crawl.Sample) bool { return s.Refused }) > ErrorShare(h)/2 {
			giveUp = crawl.DomainBlocked
		}
		return h, Judgement{GiveUp: giveUp, For: GiveUp(h.GivenUp), Why: why}
	}
	wait := set.Graylist
	for range h.Graylistings - 1 {
		wait = min(2*wait, graylistGrowth*set.Graylist)
	}
	return h, Judgement{Graylist: wait, Why: why}
}

// Describe returns a description of a domain's health.
func Describe(h crawl.Health) string {
	if len(h.Samples) == 0 {
		return "unknown"
	}
	text := fmt.Sprintf("%.0f %% errors in the last %d responses, 95th percentile %s",
		100*ErrorShare(h), len(h.Samples), P95(h).Round(time.Millisecond))
	if h.Slowdown > 0 {
		text += ", slowed down to " + time.Duration(h.Slowdown).Round(time.Millisecond).String()
	}
	if h.Penalty > 0 {
		text += ", penalty " + time.Duration(h.Penalty).Round(time.Millisecond).String()
	}
	if h.Graylistings > 0 {
		text += fmt.Sprintf(", graylisted %d times in a row", h.Graylistings)
	}
	if h.GivenUp > 0 {
		text += fmt.Sprintf(", abandoned %d times in a row", h.GivenUp)
	}
	if h.Probing {
		text += ", the next response decides"
	}
	return text
}

// trouble returns the reason for opening the breaker; empty if it stays closed.
func trouble(h crawl.Health) string {
	took := answerTimes(h)
	switch {
	case len(h.Samples) < healthLeast:
		return ""
	case ErrorShare(h) > BreakerErrors:
		return "more than half of the last responses were errors"
	case len(took) >= healthLeast && percentile95(took) > BreakerSlow:
		return "responses take longer than " + BreakerSlow.String()
	}
	return ""
}

// ErrorShare returns the share of errors among the samples, from 0 to 1. Refusals count only
// without any good answer, because a site may have private pages.
func ErrorShare(h crawl.Health) float64 {
	welcome := slices.ContainsFunc(h.Samples, crawl.Sample.Good)
	return share(h, func(s crawl.Sample) bool { return s.Error || s.Refused && !welcome })
}

func share(h crawl.Health, is func(crawl.Sample) bool) float64 {
	if len(h.Samples) == 0 {
		return 0
	}
	n := 0
	for _, s := range h.Samples {
		if is(s) {
			n++
		}
	}
	return float64(n) / float64(len(h.Samples))
}

// P95 returns the 95th percentile of the answer times, without errors; 0 without answers. It is the
// second longest (nearest rank), even of fewer samples, so that one slow answer never decides.
func P95(h crawl.Health) time.Duration { return percentile95(answerTimes(h)) }

// Occupies returns the same percentile of all requests, answered or not.
func Occupies(h crawl.Health) time.Duration {
	took := make([]settings.Duration, len(h.Samples))
	for i, s := range h.Samples {
		took[i] = s.Took
	}
	return percentile95(took)
}

func answerTimes(h crawl.Health) []settings.Duration {
	var took []settings.Duration
	for _, s := range h.Samples {
		if !s.Error {
			took = append(took, s.Took)
		}
	}
	return took
}

// percentile95 sorts took.
func percentile95(took []settings.Duration) time.Duration {
	if len(took) == 0 {
		return 0
	}
	slices.Sort(took)
	return time.Duration(took[max(len(took)-2, 0)])
}

// LatencyDelay returns factor times an answer's time (Heritrix's delayFactor); 0 turns it off.
func LatencyDelay(took time.Duration, factor float64) time.Duration {
	return time.Duration(min(float64(max(took, 0))*max(factor, 0), float64(settings.DelayMax)))
}

// The shortest and the longest time before a given-up domain or origin is retried.
const (
	GiveUpFirst = time.Hour
	GiveUpMost  = 30 * 24 * time.Hour
)

// GiveUp returns the wait after times consecutive failures to reach a domain, from 1: GiveUpFirst,
// doubled each time, up to GiveUpMost.
func GiveUp(times int) time.Duration {
	wait := GiveUpFirst
	for ; times > 1 && wait < GiveUpMost; times-- {
		wait *= 2
	}
	return min(wait, GiveUpMost)
}

// noNameLeast is the least duration of a missing name, because a zone may be broken for a while.
const noNameLeast = time.Hour

// NameGone reports whether the name of a domain has been missing for long enough.
func NameGone(h crawl.Health, now time.Time) bool {
	return !h.NoNameSince.IsZero() && now.Sub(h.NoNameSince) >= noNameLeast
}

// ObserveName returns the health after a look-up of the domain's name at an instant.
func ObserveName(h crawl.Health, missing bool, now time.Time) crawl.Health {
	switch {
	case !missing:
		h.NoNameSince = time.Time{}
	case h.NoNameSince.IsZero():
		h.NoNameSince = now
	}
	return h
}

// awayMost is the longest duration of attempts without any connection. A failure older than
// awayForgotten times awayMost no longer counts.
const (
	awayMost      = 6 * time.Minute
	awayForgotten = 10
)

// ObserveAway returns the health after a request that has been tried since an instant. away is set
// if no connection could be made. It also reports whether to give the domain up: after the wait, at
// the next attempt, it would have been away for too long. A rarely requested domain with a long
// delay has three attempts.
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
