package politeness

import (
	"fmt"
	"slices"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/settings"
)

// The constants of [crawl.Health].
const (
	HealthSamples = 20 // stored responses, each of another URL
	minSamples    = 5  // responses needed to judge a domain
	// failuresInARow is the number of consecutive failing URLs that counts as a domain's failure.
	failuresInARow = 3

	// BreakerErrors is the share of errors, and BreakerSlow the 95th percentile of the response times,
	// above which a domain is graylisted.
	BreakerErrors     = 0.5
	BreakerSlow       = 10 * time.Second
	maxGraylistFactor = 3 // longest graylisting, as a multiple of the first

	SlowdownMax = time.Minute            // largest delay due to rising response times
	minSlowP95  = 500 * time.Millisecond // the 95th percentile below which a domain never counts as slow
)

// Response is one observed response, or its absence.
type Response struct {
	crawl.Sample

	// Failure classifies the response for the back-off. HasRetryAfter is set if the server named a
	// wait.
	Failure       FailureClass
	HasRetryAfter bool
	// Probe is set if the response, for example to a page, shows the domain's health. Many sites send
	// robots.txt even to crawlers that they otherwise refuse.
	Probe bool
}

// Judgement is a breaker's verdict on a response.
type Judgement struct {
	// Failure is the response's; a page's failure becomes the domain's if others fail too.
	Failure FailureClass
	// Graylist is the wait of a graylisted domain; 0 means not graylisted.
	Graylist time.Duration
	// AbandonStatus is crawl.DomainUnreachable or crawl.DomainBlocked if the domain is abandoned, for
	// AbandonFor.
	AbandonStatus crawl.DomainStatus
	AbandonFor    time.Duration
	// Reason explains a set Graylist or AbandonStatus.
	Reason string
}

// Observe returns the health after a response, and the breaker's judgement. Each URL counts once,
// with its last response. Each failure of the domain at a page counts ([FailureServer],
// [FailureSetup]). Failures of an origin do not count ([FailureOrigin]). delay is the domain's
// normal delay. set needs Graylist and MaxGraylistings.
func Observe(h crawl.Health, a Response, delay time.Duration, set settings.Settings) (crawl.Health, Judgement) {
	if a.Failure == FailureOrigin {
		return h, Judgement{Failure: FailureOrigin}
	}
	samples := slices.DeleteFunc(slices.Clone(h.Samples), func(s crawl.Sample) bool {
		return a.URL != 0 && s.URL == a.URL && (!a.Probe || a.Failure < FailureServer)
	})
	// A readable robots.txt proves nothing about the responses to pages.
	if a.Probe || !a.Good() {
		samples = append(samples, a.Sample)
	}
	h.Samples = samples[max(len(samples)-HealthSamples, 0):]
	last := h.Samples[max(len(h.Samples)-failuresInARow, 0):]
	failingInARow := len(last) == failuresInARow && !slices.ContainsFunc(last, func(s crawl.Sample) bool { return !s.Error })
	tr := a.Failure
	if tr == FailurePage && failingInARow {
		tr = FailureServer
	}
	h.Penalty = settings.Duration(Penalty(time.Duration(h.Penalty), tr, a.HasRetryAfter, delay))
	h, j := judge(adaptSlowdown(h, a.Sample, delay), a, set)
	j.Failure = tr
	return h, j
}

// Penalty returns the wait of a domain after failures. A failure doubles it ([FailureServer]) or
// quadruples it ([FailureSetup]), from BackoffBase or a larger delay. The cap is BackoffMax, or a
// larger delay. A success halves the penalty, and drops it below BackoffBase, so that a recovering
// server is not overloaded again. A failure with a wait named by the server, or of the page alone
// ([FailurePage]), leaves it unchanged.
func Penalty(prev time.Duration, tr FailureClass, hasRetryAfter bool, delay time.Duration) time.Duration {
	switch {
	case tr == FailureNone:
		if prev /= 2; prev < BackoffBase {
			return 0
		}
		return prev
	case hasRetryAfter || tr == FailurePage:
		return prev
	}
	return time.Duration(backoff(tr, float64(prev), delay))
}

// adaptSlowdown moves the slowdown. While the 95th percentile is twice the calm time, each further
// slow response raises the slowdown by half, from the delay, up to SlowdownMax. Below that, each
// response shrinks it by a tenth. The calm time falls at once and rises slowly, so that a
// constantly slow site does not count as failing. Errors do not count as calm, because they are
// often quick (as in Scrapy's AutoThrottle); they raise the penalty.
func adaptSlowdown(h crawl.Health, s crawl.Sample, delay time.Duration) crawl.Health {
	good := withoutErrors(h)
	if s.Error || len(good) < minSamples {
		return h
	}
	p95, baseline := percentile95(good), time.Duration(h.BaselineLatency)
	if baseline == 0 || p95 < baseline {
		baseline = p95
	} else {
		baseline += (p95 - baseline) / 50
	}
	h.BaselineLatency = settings.Duration(baseline)
	slowdown := time.Duration(h.Slowdown)
	limit := max(2*baseline, minSlowP95)
	switch {
	case p95 <= limit:
		if slowdown = slowdown * 9 / 10; slowdown < max(delay, BackoffBase) {
			slowdown = 0
		}
	case time.Duration(s.Duration) > limit:
		// only new evidence counts: one slow response stays in the samples for long
		slowdown = min(max(slowdown, delay, BackoffBase)*3/2, max(SlowdownMax, delay))
	}
	h.Slowdown = settings.Duration(slowdown)
	return h
}

// judge is the breaker. It is open while Probing is set: the domain rests, then one probe decides.
// Other requests, such as for robots.txt, do not decide.
func judge(h crawl.Health, a Response, set settings.Settings) (crawl.Health, Judgement) {
	good := a.Good() && time.Duration(a.Duration) <= BreakerSlow
	reason := breakerReason(h)
	switch {
	case *set.Graylist <= 0:
		h.Probing = false
	case h.Probing && !a.Probe:
		return h, Judgement{}
	case h.Probing && good:
		// responses before the rest prove nothing about the present
		h.Probing, h.Graylistings, h.Samples = false, 0, h.Samples[len(h.Samples)-1:]
	case h.Probing:
		return openBreaker(h, "the probe failed", set)
	case reason != "":
		return openBreaker(h, reason, set)
	}
	if good {
		h.AbandonedCount = 0
	}
	return h, Judgement{}
}

func openBreaker(h crawl.Health, reason string, set settings.Settings) (crawl.Health, Judgement) {
	h.Graylistings++
	h.Probing = true
	if h.Graylistings >= *set.MaxGraylistings {
		h.AbandonedCount++
		status := crawl.DomainUnreachable
		// most of the errors are refusals
		if share(h, func(s crawl.Sample) bool { return s.Refused }) > ErrorShare(h)/2 {
			status = crawl.DomainBlocked
		}
		return h, Judgement{AbandonStatus: status, AbandonFor: AbandonWait(h.AbandonedCount), Reason: reason}
	}
	wait := *set.Graylist
	for range h.Graylistings - 1 {
		wait = min(2*wait, maxGraylistFactor*(*set.Graylist))
	}
	return h, Judgement{Graylist: time.Duration(wait), Reason: reason}
}

// Describe returns a description of a domain's health.
func Describe(h crawl.Health) string {
	if len(h.Samples) == 0 {
		return "unknown"
	}
	text := fmt.Sprintf("%.0f of %d recent responses failed, 95th percentile %s",
		ErrorShare(h)*float64(len(h.Samples)), len(h.Samples), P95(h).Round(time.Millisecond))
	if h.Slowdown > 0 {
		text += ", slowed down to " + time.Duration(h.Slowdown).Round(time.Millisecond).String()
	}
	if h.Penalty > 0 {
		text += ", penalty " + time.Duration(h.Penalty).Round(time.Millisecond).String()
	}
	if h.Graylistings > 0 {
		text += fmt.Sprintf(", graylisted %d× in a row", h.Graylistings)
	}
	if h.AbandonedCount > 0 {
		text += fmt.Sprintf(", abandoned %d× in a row", h.AbandonedCount)
	}
	if h.Probing {
		text += ", the next response decides"
	}
	return text
}

// breakerReason returns the reason for opening the breaker; empty if it stays closed.
func breakerReason(h crawl.Health) string {
	good := withoutErrors(h)
	switch {
	case len(h.Samples) < minSamples:
		return ""
	case ErrorShare(h) > BreakerErrors:
		return "more than half of the last responses were errors"
	case len(good) >= minSamples && percentile95(good) > BreakerSlow:
		return "responses take longer than " + BreakerSlow.String()
	}
	return ""
}

// ErrorShare returns the share of errors among the samples, from 0 to 1. Refusals count only
// without any good response, because a site may have private pages.
func ErrorShare(h crawl.Health) float64 {
	hasGood := slices.ContainsFunc(h.Samples, crawl.Sample.Good)
	return share(h, func(s crawl.Sample) bool { return s.Error || s.Refused && !hasGood })
}

func share(h crawl.Health, matches func(crawl.Sample) bool) float64 {
	if len(h.Samples) == 0 {
		return 0
	}
	n := 0
	for _, s := range h.Samples {
		if matches(s) {
			n++
		}
	}
	return float64(n) / float64(len(h.Samples))
}

// P95 returns the 95th percentile of the response times, without errors; 0 without responses. It is
// the second longest (nearest rank), even of fewer samples, so that one slow response never
// decides.
func P95(h crawl.Health) time.Duration { return percentile95(withoutErrors(h)) }

// OccupancyP95 returns the same percentile of all requests, with a response or without.
func OccupancyP95(h crawl.Health) time.Duration { return percentile95(h.Samples) }

func withoutErrors(h crawl.Health) []crawl.Sample {
	return slices.DeleteFunc(slices.Clone(h.Samples), func(s crawl.Sample) bool { return s.Error })
}

func percentile95(samples []crawl.Sample) time.Duration {
	if len(samples) == 0 {
		return 0
	}
	durations := make([]settings.Duration, len(samples))
	for i, s := range samples {
		durations[i] = s.Duration
	}
	slices.Sort(durations)
	return time.Duration(durations[max(len(durations)-2, 0)])
}

// LatencyDelay returns factor times a response's time (Heritrix's delayFactor); 0 turns it off.
func LatencyDelay(latency time.Duration, factor float64) time.Duration {
	return time.Duration(min(float64(max(latency, 0))*max(factor, 0), float64(settings.DelayMax)))
}

// The shortest and the longest time before an abandoned domain or origin is retried.
const (
	AbandonWaitMin = time.Hour
	AbandonWaitMax = 30 * 24 * time.Hour
)

// AbandonWait returns the wait after so many consecutive failures to reach a domain, from 1:
// AbandonWaitMin, doubled each time, up to AbandonWaitMax.
func AbandonWait(failures int) time.Duration {
	wait := AbandonWaitMin
	for ; failures > 1 && wait < AbandonWaitMax; failures-- {
		wait *= 2
	}
	return min(wait, AbandonWaitMax)
}

// minNameMissing is the least duration of a missing name, because a zone may be broken for a while.
const minNameMissing = time.Hour

// NameGone reports whether the name of a domain has been missing for long enough.
func NameGone(h crawl.Health, now time.Time) bool {
	return !h.DNSFailingSince.IsZero() && now.Sub(h.DNSFailingSince) >= minNameMissing
}

// ObserveName returns the health after a look-up of the domain's name at an instant.
func ObserveName(h crawl.Health, missing bool, now time.Time) crawl.Health {
	switch {
	case !missing:
		h.DNSFailingSince = time.Time{}
	case h.DNSFailingSince.IsZero():
		h.DNSFailingSince = now
	}
	return h
}

// maxUnreachable is the longest duration of attempts without any connection. A failure older than
// unreachableResetFactor times maxUnreachable no longer counts.
const (
	maxUnreachable         = 6 * time.Minute
	unreachableResetFactor = 10
)

// ObserveReachability returns the health after a request that has been tried since an instant.
// unreachable is set if no connection could be made. It also reports whether to abandon the domain:
// after the wait, at the next attempt, it would have been unreachable for too long. A rarely
// requested domain with a long delay has three attempts.
func ObserveReachability(h crawl.Health, unreachable bool, since, now time.Time, wait, delay time.Duration) (crawl.Health, bool) {
	if !unreachable {
		h.ConnectionsFailingSince = time.Time{}
		return h, false
	}
	limit := max(maxUnreachable, 3*delay)
	if now.Sub(since) > unreachableResetFactor*limit {
		since = now
	}
	isStale := h.AbandonedCount == 0 && now.Sub(h.ConnectionsFailingSince) > unreachableResetFactor*limit
	if h.ConnectionsFailingSince.IsZero() || isStale || since.Before(h.ConnectionsFailingSince) {
		h.ConnectionsFailingSince = since
	}
	return h, now.Sub(h.ConnectionsFailingSince)+wait >= limit
}
