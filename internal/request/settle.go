package request

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/decide"
	"github.com/mosey-web/mosey/crawl/politeness"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/internal/dns"
	"github.com/mosey-web/mosey/internal/fetch"
)

func failed(x *Exchange, asked time.Time) {
	at, err := &x.Attempt, x.Err
	at.Outcome, at.Error, at.EndedAt = crawl.OutcomeFailed, err.Error(), time.Now()
	f, ok := errors.AsType[*fetch.Error](err)
	if !ok {
		at.Duration = crawl.Span(at.EndedAt.Sub(asked))
		x.Trouble = politeness.TroubleSetup // the name could not be resolved
		return
	}
	at.EndedAt, at.StatusCode = f.EndedAt, KnownStatus(f.Status)
	at.Duration = crawl.Span(f.EndedAt.Sub(asked))
	switch f.Cause {
	case fetch.CauseTimeout:
		at.Outcome = crawl.OutcomeTimeout
		if x.Trouble = politeness.TroubleServer; f.Connected {
			x.Trouble = politeness.TroublePage // other pages need not hang
		}
	case fetch.CauseConnect, fetch.CauseReset:
		x.Trouble = politeness.TroubleServer
	case fetch.CauseCanceled, fetch.CauseDeadline, fetch.CauseLocal:
		x.Interrupted = true
	case fetch.CauseTLS, fetch.CauseDNS, fetch.CauseFamily:
		x.Trouble = politeness.TroubleSetup
	case fetch.CauseBomb, fetch.CauseDecode, fetch.CauseForbiddenAddr, fetch.CauseInvalid, fetch.CauseProtocol:
	}
}

const contentTypeMax = 200

func answered(x *Exchange) {
	at, resp := &x.Attempt, x.Response
	at.Outcome, at.StatusCode = crawl.OutcomeOfStatus(resp.Status), KnownStatus(resp.Status)
	if at.StatusCode == 0 {
		at.Error = fmt.Sprintf("unknown status %d", resp.Status)
	}
	at.ContentType = crawl.CleanText(resp.ContentType, contentTypeMax)
	at.Truncated = resp.Truncated
	at.Bytes, at.Duration, at.EndedAt = resp.WireBytes, crawl.Span(resp.Total), resp.EndedAt
	if !Overloaded(resp.Status) {
		return
	}
	_, hinted := retryAfter(resp)
	switch {
	case hinted, resp.Status == http.StatusTooManyRequests, resp.Status == http.StatusServiceUnavailable:
		x.Trouble = politeness.TroubleServer
	default:
		x.Trouble = politeness.TroublePage
	}
}

// pace sets the pauses of domain and address, and decides about the page's retry and giving up.
func (c *Client) pace(ask Ask, x *Exchange) {
	at, w := &x.Attempt, ask.Pace.Waits
	normal, _ := politeness.Delay(w)
	w.CrawlDelay = max(w.CrawlDelay, x.CrawlDelay)
	shared(at)
	if x.Interrupted {
		interrupted(ask, at, w)
		return
	}
	hinted := false
	if x.Response != nil && x.Trouble != politeness.TroubleNone {
		if w.RetryAfter, hinted = retryAfter(x.Response); hinted {
			at.RetryAfter = crawl.Millis(w.RetryAfter)
		}
	}
	if ofOrigin(ask, x, hinted) {
		x.Trouble = politeness.TroubleOrigin
	}
	ofDomain := x.Trouble >= politeness.TroubleServer
	refuses := refused(at.StatusCode) || at.Login
	answer := politeness.Answer{
		Sample: crawl.Sample{
			Took: settings.Duration(at.Duration), Refused: refuses, Error: x.Trouble != politeness.TroubleNone,
			URL: politeness.URLKey(ask.URL.String()),
		},
		Trouble: x.Trouble, Hinted: hinted, Probe: ask.Probe,
	}
	health, j := politeness.Observe(observeName(ask, x), answer, normal, 0, decide.Breaker(ask.Run))
	x.Trouble = j.Trouble
	if failed := x.Trouble >= politeness.TroubleOrigin; failed || x.Trouble == politeness.TroubleNone {
		health = politeness.ObserveOrigin(health, ask.URL.Origin(), !failed, ask.Now)
	}
	at.Health, at.GiveUp, at.GiveUpReason, at.GiveUpFor = &health, j.GiveUp, j.Why, crawl.Millis(j.For)
	if x.Response != nil {
		w.Latency = politeness.LatencyDelay(time.Duration(at.Duration), *ask.Run.Settings.LatencyFactor)
	}
	w.Slowdown, w.Graylist = time.Duration(health.Slowdown), j.Graylist
	if !hinted {
		// The server's own wait replaces our estimate.
		w.Backoff = time.Duration(health.Penalty)
		// A retry policy adds no jitter.
		if x.Trouble != politeness.TroubleNone && (!ofDomain || x.Trouble == politeness.TroubleSetup) {
			w.Backoff = politeness.Jittered(float64(w.Backoff), normal, c.Jitter())
		}
	}
	delay, reason := politeness.Delay(w)
	at.Delay, at.Reason = crawl.Millis(delay), reason
	if x.Trouble != politeness.TroubleOrigin {
		away(ask, x, delay, normal)
	}
	if x.Trouble == politeness.TroubleNone || !ask.Retry {
		return
	}
	retry := delay
	if x.Trouble < politeness.TroubleServer {
		// The page waits longer than its domain.
		retry = max(retry, politeness.Backoff(politeness.TroubleServer, ask.Run.Crawl.Attempt, normal, c.Jitter()))
	}
	at.RetryIn, at.RetryFirst = new(crawl.Millis(retry)), ofDomain && decide.RetriesFirst(ask.Run, *ask.Run.Crawl)
}

// ofOrigin reports whether only the request's origin fails, while another origin of the domain
// responds. Its host has no name, its port no connection or TLS, or its robots.txt is unreadable. A
// response that asks for fewer requests counts for the domain, whose origins mostly share a server.
func ofOrigin(ask Ask, x *Exchange, hinted bool) bool {
	if x.Trouble == politeness.TroubleNone || politeness.AnsweredElsewhere(ask.Health, ask.URL.Origin()).IsZero() {
		return false
	}
	f, unanswered := errors.AsType[*fetch.Error](x.Err)
	switch {
	case unanswered && (!f.Connected || f.Cause == fetch.CauseTLS):
		return true
	case !unanswered && x.Response == nil:
		return errors.Is(x.Err, dns.ErrNotFound) // such as of www, which belongs to the same domain
	}
	return ask.Start.Prerequisite && !ask.Probe && !hinted && x.Attempt.StatusCode != http.StatusTooManyRequests
}

// away records a missing connection, and gives up such a domain unless robots.txt was requested.
func away(ask Ask, x *Exchange, delay, normal time.Duration) {
	if errors.Is(x.Err, dns.ErrNotFound) {
		return // see observeName
	}
	at := &x.Attempt
	*at.Health, x.Away = politeness.ObserveAway(*at.Health, unconnected(x.Err), ask.Now.Add(-ask.Spared), ask.Now, delay, normal)
	if !x.Away || ask.Start.Prerequisite || at.GiveUp != "" {
		return
	}
	at.Health.GivenUp++
	at.Health.Probing = true
	at.GiveUp, at.GiveUpFor = crawl.DomainUnreachable, crawl.Millis(politeness.GiveUp(at.Health.GivenUp))
	at.GiveUpReason = fmt.Sprintf("unreachable for %s: %s",
		ask.Now.Sub(at.Health.AwaySince).Round(time.Second), crawl.CleanText(x.Err.Error(), errorMax))
}

// errorMax caps the text of an error that makes us give up a domain, in bytes.
const errorMax = 200

// unconnected reports whether a request had no connection, for any reason.
func unconnected(err error) bool {
	f, ok := errors.AsType[*fetch.Error](err)
	if !ok {
		return errors.Is(err, dns.ErrTemporary)
	}
	return !f.Connected && (f.Cause == fetch.CauseConnect || f.Unreached())
}

// interrupted paces after a request that we aborted. The page is retried in any case.
func interrupted(ask Ask, at *crawl.Attempt, w crawl.Waits) {
	delay, reason := earned(ask, w)
	at.Delay, at.Reason = crawl.Millis(delay), reason
	if !ask.Start.Prerequisite {
		at.RetryIn = &at.Delay
	}
}

// earned returns the delay by the domain's earlier responses, if a request says nothing about it.
func earned(ask Ask, w crawl.Waits) (time.Duration, reasons.Reason) {
	w.Slowdown, w.Backoff = time.Duration(ask.Health.Slowdown), time.Duration(ask.Health.Penalty)
	return politeness.Delay(w)
}

func observeName(ask Ask, x *Exchange) crawl.Health {
	if errors.Is(x.Err, dns.ErrTemporary) {
		return ask.Health
	}
	return politeness.ObserveName(ask.Health, errors.Is(x.Err, dns.ErrNotFound), ask.Now)
}

func shared(at *crawl.Attempt) {
	for _, s := range at.Shared {
		kind, key, _ := strings.Cut(s.Key, ":")
		switch kind {
		case "ip":
			at.IPDelay = s.Delay
		case "subnet":
			at.Subnet, at.SubnetDelay = key, s.Delay
		case "registered":
			at.Registered, at.RegisteredDelay = key, s.Delay
		}
	}
}

// Overloaded reports whether a status means "retry later": a 429, or any 5xx.
func Overloaded(status int) bool {
	return status == http.StatusTooManyRequests || status >= http.StatusInternalServerError
}

func refused(status int) bool {
	return slices.Contains([]int{
		http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests,
		http.StatusUnavailableForLegalReasons,
	}, status)
}

// KnownStatus returns 0 for a code outside RFC 9110 §15, such as 999, which cannot be stored.
func KnownStatus(code int) int {
	if code < http.StatusContinue || code > 599 {
		return 0
	}
	return code
}

// retryAfter returns the wait that a response requests. The wait until a date is the longer of two:
// by the server's own clock (the Date header, RFC 9110 §6.6.1) and by ours, as either can be wrong.
// A server whose clock makes the wait longer could have requested that wait.
func retryAfter(resp *fetch.Response) (time.Duration, bool) {
	now := resp.EndedAt
	if date, err := http.ParseTime(resp.Header.Get("Date")); err == nil && date.Before(now) {
		now = date
	}
	return politeness.ParseRetryAfter(resp.Header.Get("Retry-After"), now)
}
