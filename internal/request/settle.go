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
	"github.com/mosey-web/mosey/internal/walls"
)

func recordFailure(x *Exchange, startedAt time.Time) {
	at, err := &x.Attempt, x.Err
	at.Outcome, at.Error, at.EndedAt = crawl.OutcomeFailed, err.Error(), time.Now()
	f, ok := errors.AsType[*fetch.Error](err)
	if !ok {
		at.Duration = crawl.ElapsedMillis(at.EndedAt.Sub(startedAt))
		x.FailureClass = politeness.FailureSetup // the name could not be resolved
		return
	}
	at.EndedAt, at.StatusCode = f.EndedAt, KnownStatus(f.Status)
	at.Duration = crawl.ElapsedMillis(f.EndedAt.Sub(startedAt))
	switch f.Cause {
	case fetch.CauseTimeout:
		at.Outcome = crawl.OutcomeTimeout
		if x.FailureClass = politeness.FailureServer; f.Connected {
			x.FailureClass = politeness.FailurePage // other pages need not hang
		}
	case fetch.CauseConnect, fetch.CauseReset:
		x.FailureClass = politeness.FailureServer
	case fetch.CauseCanceled, fetch.CauseDeadline, fetch.CauseLocal:
		x.Interrupted = true
	case fetch.CauseTLS, fetch.CauseDNS, fetch.CauseFamily:
		x.FailureClass = politeness.FailureSetup
	case fetch.CauseBomb, fetch.CauseDecode, fetch.CauseForbiddenAddr, fetch.CauseInvalid, fetch.CauseProtocol:
	}
}

const maxContentTypeBytes = 200

func recordResponse(x *Exchange) {
	at, resp := &x.Attempt, x.Response
	at.Outcome, at.StatusCode = crawl.OutcomeOfStatus(resp.Status), KnownStatus(resp.Status)
	if at.StatusCode == 0 {
		at.Error = fmt.Sprintf("unknown status %d", resp.Status)
	}
	at.ContentType = crawl.CleanText(resp.ContentType, maxContentTypeBytes)
	at.Truncated = resp.Truncated
	at.Bytes, at.Duration, at.EndedAt = resp.WireBytes, crawl.ElapsedMillis(resp.Total), resp.EndedAt
	if wall, evidence := walls.InHeader(resp.Status, resp.Header); wall != "" {
		crawl.RecordWall(at, wall, evidence)
	}
	if !Overloaded(resp.Status) {
		return
	}
	_, hasRetryAfter := retryAfter(resp)
	switch {
	case hasRetryAfter, resp.Status == http.StatusTooManyRequests, resp.Status == http.StatusServiceUnavailable:
		x.FailureClass = politeness.FailureServer
	default:
		x.FailureClass = politeness.FailurePage
	}
}

// setPace sets the pauses of domain and address, and decides about the page's retry, or whether to
// abandon the domain.
func (c *Client) setPace(req Request, x *Exchange) {
	at, w := &x.Attempt, req.Pace.Waits
	normal, _ := politeness.Delay(w)
	w.CrawlDelay = max(w.CrawlDelay, x.CrawlDelay)
	setSharedDelays(at)
	if x.Interrupted {
		setInterruptedPace(req, at, w)
		return
	}
	hasRetryAfter := false // of a failure, whose wait it replaces
	if x.Response != nil {
		w.RetryAfter, hasRetryAfter = retryAfter(x.Response)
		at.RetryAfter = crawl.Millis(w.RetryAfter)
		hasRetryAfter = hasRetryAfter && x.FailureClass != politeness.FailureNone
	}
	if isOriginFailure(req, x, hasRetryAfter) {
		x.FailureClass = politeness.FailureOrigin
	}
	domainFails := x.FailureClass >= politeness.FailureServer
	isRefused := isRefusal(at.StatusCode) || at.Login || at.Skipped.Row().IsWall
	response := politeness.Response{
		Sample: crawl.Sample{
			Duration: settings.Duration(at.Duration), Refused: isRefused, Error: x.FailureClass != politeness.FailureNone,
			URL: crawl.Hash32(req.URL.String()),
		},
		Failure: x.FailureClass, HasRetryAfter: hasRetryAfter, Probe: req.Probe,
	}
	health, j := politeness.Observe(observeNameResult(req, x), response, normal, req.Run.Settings)
	x.FailureClass = j.Failure
	if failed := x.FailureClass >= politeness.FailureOrigin; failed || x.FailureClass == politeness.FailureNone {
		health = politeness.ObserveOrigin(health, req.URL.Origin(), !failed, req.Now)
	}
	at.Health, at.AbandonStatus, at.AbandonReason, at.AbandonFor = &health, j.AbandonStatus, j.Reason, crawl.Millis(j.AbandonFor)
	if x.Response != nil {
		w.Latency = politeness.LatencyDelay(time.Duration(at.Duration), *req.Run.Settings.LatencyFactor)
	}
	w.Slowdown, w.Graylist = time.Duration(health.Slowdown), j.Graylist
	if !hasRetryAfter {
		// The server's own wait replaces our estimate.
		w.Backoff = time.Duration(health.Penalty)
		// A retry policy adds no jitter.
		if x.FailureClass != politeness.FailureNone && (!domainFails || x.FailureClass == politeness.FailureSetup) {
			w.Backoff = politeness.Jittered(float64(w.Backoff), normal, c.Jitter())
		}
	}
	delay, reason := politeness.Delay(w)
	at.Delay, at.Reason = crawl.Millis(delay), reason
	if x.FailureClass != politeness.FailureOrigin {
		recordUnconnected(req, x, delay, normal)
	}
	if x.FailureClass == politeness.FailureNone || !req.Retry {
		return
	}
	retry := delay
	if x.FailureClass < politeness.FailureServer {
		// The page waits longer than its domain.
		retry = max(retry, politeness.Backoff(politeness.FailureServer, req.Run.Attempt.Number, normal, c.Jitter()))
	}
	// A page of a failing domain is requested next. Its last attempt comes after all first
	// attempts, so that a site's outage costs no page.
	next := *req.Run.Attempt
	next.Number++
	at.RetryIn, at.RetryFirst = new(crawl.Millis(retry)), domainFails && !decide.LastAttempt(req.Run, next)
}

// isOriginFailure reports whether only the request's origin fails, while another origin of the
// domain responds. Its host has no name, its port no connection or TLS, or its robots.txt is
// unreadable. A response that demands fewer requests counts for the domain, whose origins mostly
// share a server.
func isOriginFailure(req Request, x *Exchange, hasRetryAfter bool) bool {
	if x.FailureClass == politeness.FailureNone || politeness.LastOtherOriginAnswer(req.Health, req.URL.Origin()).IsZero() {
		return false
	}
	f, isFetchError := errors.AsType[*fetch.Error](x.Err)
	switch {
	case isFetchError && (!f.Connected || f.Cause == fetch.CauseTLS):
		return true
	case !isFetchError && x.Response == nil:
		return errors.Is(x.Err, dns.ErrNotFound) // such as of www, which belongs to the same domain
	}
	return req.Start.Prerequisite && !req.Probe && !hasRetryAfter && x.Attempt.StatusCode != http.StatusTooManyRequests
}

// recordUnconnected records a missing connection, and abandons such a domain unless robots.txt was
// requested.
func recordUnconnected(req Request, x *Exchange, delay, normal time.Duration) {
	if errors.Is(x.Err, dns.ErrNotFound) {
		return // see observeNameResult
	}
	at := &x.Attempt
	*at.Health, x.Unreachable = politeness.ObserveReachability(
		*at.Health, unconnected(x.Err), req.Now.Add(-req.WithdrawnTime), req.Now, delay, normal,
	)
	if !x.Unreachable || req.Start.Prerequisite || at.AbandonStatus != "" {
		return
	}
	at.Health.AbandonedCount++
	at.Health.Probing = true
	at.AbandonStatus, at.AbandonFor = crawl.DomainUnreachable, crawl.Millis(politeness.AbandonWait(at.Health.AbandonedCount))
	at.AbandonReason = fmt.Sprintf("unreachable for %s: %s",
		req.Now.Sub(at.Health.ConnectionsFailingSince).Round(time.Second), crawl.CleanText(x.Err.Error(), maxErrorBytes))
}

// maxErrorBytes caps the text of an error that makes us abandon a domain, in bytes.
const maxErrorBytes = 200

// unconnected reports whether a request had no connection, for any reason.
func unconnected(err error) bool {
	f, ok := errors.AsType[*fetch.Error](err)
	if !ok {
		return errors.Is(err, dns.ErrTemporary)
	}
	return !f.Connected && (f.Cause == fetch.CauseConnect || f.Unreached())
}

// setInterruptedPace paces after a request that we aborted. The page is retried in any case.
func setInterruptedPace(req Request, at *crawl.Attempt, w crawl.Waits) {
	delay, reason := delayWithoutNewSample(req, w)
	at.Delay, at.Reason = crawl.Millis(delay), reason
	if !req.Start.Prerequisite {
		at.RetryIn = &at.Delay
	}
}

// delayWithoutNewSample returns the delay by the domain's earlier responses, if a request gives no
// new sample.
func delayWithoutNewSample(req Request, w crawl.Waits) (time.Duration, reasons.Reason) {
	w.Slowdown, w.Backoff = time.Duration(req.Health.Slowdown), time.Duration(req.Health.Penalty)
	return politeness.Delay(w)
}

func observeNameResult(req Request, x *Exchange) crawl.Health {
	if errors.Is(x.Err, dns.ErrTemporary) {
		return req.Health
	}
	return politeness.ObserveName(req.Health, errors.Is(x.Err, dns.ErrNotFound), req.Now)
}

func setSharedDelays(at *crawl.Attempt) {
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

func isRefusal(status int) bool {
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
