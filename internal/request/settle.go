package request

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/decide"
	"github.com/mosey-web/mosey/crawl/politeness"
	"github.com/mosey-web/mosey/internal/fetch"
)

// failed fills in an attempt that got no complete answer.
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
	switch f.Kind {
	case fetch.KindTimeout:
		at.Outcome = crawl.OutcomeTimeout
		x.Trouble = politeness.TroubleServer
	case fetch.KindConnect, fetch.KindReset, fetch.KindCanceled, fetch.KindDeadline, fetch.KindLocal:
		x.Trouble = politeness.TroubleServer
	case fetch.KindTLS, fetch.KindDNS:
		x.Trouble = politeness.TroubleSetup
	case fetch.KindBomb, fetch.KindDecode, fetch.KindForbiddenAddr, fetch.KindInvalid, fetch.KindProtocol:
	}
}

// contentTypeMax bounds what is stored of a Content-Type header.
const contentTypeMax = 200

// answered fills in an attempt that got an answer.
func answered(x *Exchange) {
	at, resp := &x.Attempt, x.Response
	at.Outcome, at.StatusCode = crawl.OutcomeOfStatus(resp.Status), KnownStatus(resp.Status)
	if at.StatusCode == 0 {
		at.Error = fmt.Sprintf("answered with the unknown status %d", resp.Status)
	}
	at.ContentType = crawl.CleanText(resp.ContentType, contentTypeMax)
	at.Truncated = resp.Truncated
	at.Bytes, at.Duration, at.EndedAt = resp.WireBytes, crawl.Span(resp.Total), resp.EndedAt
	if Overloaded(resp.Status) {
		x.Trouble = politeness.TroubleServer
	}
}

// pace decides how long the domain and the address are left alone, whether and
// when the page is tried again, and what becomes of the domain.
func (c *Client) pace(ask Ask, x *Exchange) {
	at, w := &x.Attempt, ask.Pace.Waits
	normal, _ := politeness.Delay(w)
	w.CrawlDelay = max(w.CrawlDelay, x.CrawlDelay)
	hinted := false
	if x.Response != nil && x.Trouble != politeness.TroubleNone {
		if w.RetryAfter, hinted = retryAfter(x.Response); hinted {
			at.RetryAfter = crawl.Millis(w.RetryAfter)
		}
	}
	refuses := refused(at.StatusCode) || at.Login && *ask.Run.Settings.BlockOnLogin
	sample := crawl.Sample{
		Took: crawl.Duration(at.Duration), Refused: refuses,
		Error: x.Trouble != politeness.TroubleNone || refuses,
	}
	health, j := politeness.Observe(ask.Health, sample, x.Trouble, hinted, normal, 0, decide.Breaker(ask.Run))
	at.Health, at.Verdict, at.VerdictReason = &health, j.Verdict, j.Why
	w.Latency = politeness.LatencyDelay(time.Duration(at.Duration), *ask.Run.Settings.LatencyFactor)
	w.Slowdown, w.Graylist = time.Duration(health.Slowdown), j.Graylist
	if !hinted {
		// the server's own word counts, not our guess
		w.Backoff = time.Duration(health.Penalty)
		if x.Trouble != politeness.TroubleNone {
			w.Backoff = politeness.Jittered(w.Backoff, normal, c.Jitter())
		}
	}
	delay, reason := politeness.Delay(w)
	at.Delay, at.Reason = crawl.Millis(delay), reason
	for _, s := range at.Shared {
		kind, key, _ := strings.Cut(s.Key, ":")
		switch kind {
		case "ip":
			at.IPDelay = s.Delay
		case "subnet":
			at.Subnet, at.SubnetDelay = key, s.Delay
		}
	}
	if x.Trouble != politeness.TroubleNone && ask.Retry {
		at.RetryIn = &at.Delay
	}
}

// Overloaded reports whether a status asks to come again later: a 429, or any 5xx.
func Overloaded(status int) bool {
	return status == http.StatusTooManyRequests || status >= http.StatusInternalServerError
}

// refused reports whether a status means that the server does not want us.
func refused(status int) bool {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests,
		http.StatusUnavailableForLegalReasons:
		return true
	}
	return false
}

// KnownStatus is 0 for a code that HTTP does not have (RFC 9110 §15), such as 999:
// sites send them, but they cannot be stored.
func KnownStatus(code int) int {
	if code < http.StatusContinue || code > 599 {
		return 0
	}
	return code
}

// retryAfter is what an answer asks for. A date is measured by the server's own
// clock (the Date header, RFC 9110 §6.6.1) or by ours, whichever leaves the longer
// wait: neither of them need be right, and a server that stretches the wait could
// have asked for it.
func retryAfter(resp *fetch.Response) (time.Duration, bool) {
	now := resp.EndedAt
	if date, err := http.ParseTime(resp.Header.Get("Date")); err == nil && date.Before(now) {
		now = date
	}
	return politeness.ParseRetryAfter(resp.Header.Get("Retry-After"), now)
}
