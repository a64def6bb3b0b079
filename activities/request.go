package activities

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/politeness"
	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/internal/dns"
	"github.com/mosey-web/mosey/internal/fetch"
)

// sharedDelays are the delays of the address and subnet of a request. Networks that
// are known to be shared front ends have none: there an address says nothing about
// whose machine it is.
func (a *Activities) sharedDelays(n crawl.Next, t target) (ip, subnet time.Duration) {
	if t.addr.IsValid() && a.frontEnds.Contains(t.addr) {
		return 0, 0
	}
	return n.IPDelay, n.SubnetDelay
}

// isQueue says whether a wait was for a place in a queue of domains.
func isQueue(why crawl.Reason) bool {
	return why == crawl.ReasonIP || why == crawl.ReasonSubnet
}

// target resolves a page. A page that may not be requested at all comes back as
// an attempt to record.
func (s *slice) target(ctx context.Context, n crawl.Next) (target, *crawl.Attempt, error) {
	refuse := func(err error) *crawl.Attempt {
		at := unrequested(n, s.in.Domain, crawl.OutcomeFailed, err.Error())
		return &at
	}
	u, err := urls.Parse(n.URL)
	if err != nil {
		return target{}, refuse(err), nil
	}
	t, err := s.resolve(ctx, u)
	switch {
	case errors.Is(err, dns.ErrLimited):
		return target{}, nil, err
	case err != nil:
		return target{}, refuse(err), nil
	}
	return t, nil, nil
}

// request makes the request whose slot is held, records it, and says what comes
// next. The error is for Temporal's retry policy.
func (s *slice) request(
	ctx context.Context, n crawl.Next, t target, deadline time.Time,
) (crawl.Next, bool, error) {
	at := crawl.Attempt{
		CrawlID: n.CrawlID, Domain: s.in.Domain, Requested: true, IP: t.ip(), RetryIn: crawl.NoRetry,
		Origin: n.Origin, RobotsVersion: n.RobotsVersion,
	}
	began := time.Now()
	var resp *fetch.Response
	err := t.dnsErr
	if err == nil {
		resp, err = s.do(ctx, fetch.Request{
			URL: n.URL, Addr: t.addr, Deadline: deadline, Accept: acceptPages, WantBody: wantPage(n.Visit),
			Header: conditions(n.Visit),
		})
	}
	if own := s.ownTrouble(err); own != nil {
		return n, true, errors.Join(own, s.store.Abandon(context.WithoutCancel(ctx), n.CrawlID, s.in.Domain, t.ip()))
	}
	var tr politeness.Trouble
	if err != nil {
		tr = failed(&at, err, began)
	} else {
		tr = answered(&at, resp)
		if at.Outcome == crawl.OutcomeSuccess {
			if err := s.read(ctx, &at, n, t.url, resp); err != nil {
				return n, true, err
			}
		}
	}
	s.pace(&at, n, tr, resp)
	next, err := s.record(ctx, at)
	if err != nil {
		return n, true, err
	}
	if tr == politeness.TroubleNone || at.RetryIn < 0 {
		return next, false, nil
	}
	return s.troubled(ctx, next, n, at)
}

// do makes a request whose slots are held until its deadline, and is done with it
// by then: a process that was stopped for a while after it took the slots would
// begin late, and still be reading while others ask.
func (a *Activities) do(ctx context.Context, r fetch.Request) (*fetch.Response, error) {
	ctx, cancel := context.WithDeadline(ctx, r.Deadline)
	defer cancel()
	resp, err := a.fetcher.Do(ctx, r)
	a.noteAddress(r.Addr, err)
	return resp, err
}

// troubled ends the slice after an attempt that will be made again: with an error
// that makes Temporal run the activity again in time, or by putting the domain
// away.
func (s *slice) troubled(ctx context.Context, next, n crawl.Next, at crawl.Attempt) (crawl.Next, bool, error) {
	// A graylisted domain sleeps in its workflow, and one that was given up ends it.
	if at.Reason == crawl.ReasonGraylist || at.Verdict != "" {
		return next, false, nil
	}
	if stopping(ctx) || politeness.PutAway(at.Delay, at.Reason, n.Patience) {
		next.Patience = n.Patience
		s.wait(next, at.Delay, at.Reason)
		return next, true, nil
	}
	if at.Delay > longWait {
		if err := s.store.HoldDomain(ctx, s.in.Domain, at.Delay+longWait); err != nil {
			return next, true, err
		}
	}
	what := fmt.Sprintf("%s: attempt %d of %d: %s; again in %s (%s)",
		urls.Shorten(n.URL, urlShown), n.Attempt, n.MaxAttempts, cause(at), at.Delay.Round(time.Millisecond), at.Reason)
	return next, true, siteTrouble(what, time.Until(at.EndedAt.Add(at.Delay)))
}

func cause(at crawl.Attempt) string {
	if at.Error != "" {
		return at.Error
	}
	return fmt.Sprintf("%d %s", at.StatusCode, http.StatusText(at.StatusCode))
}

// ownTrouble returns the error if it is this machine's, not the site's, and no
// request was made.
func (*Activities) ownTrouble(err error) error {
	var f *fetch.Error
	if errors.As(err, &f) && !f.Sent && (f.Kind == fetch.KindLocal || f.Kind == fetch.KindDeadline || f.Kind == fetch.KindCanceled) {
		return err
	}
	return nil
}

// failed fills in an attempt that got no complete answer.
func failed(at *crawl.Attempt, err error, began time.Time) politeness.Trouble {
	at.Outcome, at.Error, at.EndedAt = crawl.OutcomeFailed, err.Error(), time.Now()
	var f *fetch.Error
	if !errors.As(err, &f) {
		at.Duration = at.EndedAt.Sub(began)
		return politeness.TroubleSetup // the name could not be resolved
	}
	at.EndedAt, at.StatusCode = f.EndedAt, knownStatus(f.Status)
	at.Duration = f.EndedAt.Sub(began)
	switch f.Kind {
	case fetch.KindTimeout:
		at.Outcome = crawl.OutcomeTimeout
		return politeness.TroubleServer
	case fetch.KindConnect, fetch.KindReset, fetch.KindCanceled, fetch.KindDeadline, fetch.KindLocal:
		return politeness.TroubleServer
	case fetch.KindTLS, fetch.KindDNS:
		return politeness.TroubleSetup
	case fetch.KindBomb, fetch.KindDecode, fetch.KindForbiddenAddr, fetch.KindInvalid, fetch.KindProtocol:
	}
	return politeness.TroubleNone
}

// answered fills in an attempt that got an answer.
func answered(at *crawl.Attempt, resp *fetch.Response) politeness.Trouble {
	at.Outcome, at.StatusCode = crawl.OutcomeOfStatus(resp.Status), knownStatus(resp.Status)
	if at.StatusCode == 0 {
		at.Error = fmt.Sprintf("answered with the unknown status %d", resp.Status)
	}
	at.ContentType = cleanText(resp.ContentType, contentTypeMax)
	at.Bytes, at.Duration, at.EndedAt = resp.WireBytes, resp.Total, resp.EndedAt
	if overloaded(resp.Status) {
		return politeness.TroubleServer
	}
	return politeness.TroubleNone
}

// knownStatus is 0 for a code that HTTP does not have (RFC 9110 §15), such as 999:
// sites send them, but they cannot be stored.
func knownStatus(code int) int {
	if code < http.StatusContinue || code > 599 {
		return 0
	}
	return code
}

// pace decides how long the domain and the address are left alone, whether and
// when the page is tried again, and what becomes of the domain.
func (s *slice) pace(at *crawl.Attempt, n crawl.Next, tr politeness.Trouble, resp *fetch.Response) {
	w := n.Waits
	normal, _ := politeness.Delay(w)
	hinted := false
	if resp != nil && tr != politeness.TroubleNone {
		if w.RetryAfter, hinted = retryAfter(resp); hinted {
			at.RetryAfter = w.RetryAfter
		}
	}
	refuses := refused(at.StatusCode) || at.Login && n.BlockOnLogin
	sample := crawl.Sample{
		Took: crawl.Duration(at.Duration), Refused: refuses, Error: tr != politeness.TroubleNone || refuses,
	}
	health, j := politeness.Observe(n.Health, sample, tr, hinted, normal, s.jitter(), n.Breaker)
	at.Health, at.Verdict, at.VerdictReason = health, j.Verdict, j.Why
	w.Latency = politeness.LatencyDelay(at.Duration, n.LatencyFactor)
	w.Slowdown, w.Graylist = time.Duration(health.Slowdown), j.Graylist
	if !hinted {
		// the server's own word counts, not our guess
		w.Backoff = time.Duration(health.Penalty)
	}
	at.Delay, at.Reason = politeness.Delay(w)
	at.IPDelay, at.SubnetDelay = n.IPDelay, n.SubnetDelay
	if tr != politeness.TroubleNone && n.Attempt < n.MaxAttempts {
		at.RetryIn = at.Delay
	}
}

// overloaded says whether a status asks to come again later: a 429, or any 5xx.
func overloaded(status int) bool {
	return status == http.StatusTooManyRequests || status >= http.StatusInternalServerError
}

// refused says whether a status means that the server does not want us.
func refused(status int) bool {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests,
		http.StatusUnavailableForLegalReasons:
		return true
	}
	return false
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
