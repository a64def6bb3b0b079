package manners

import (
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/mosey-web/mosey/manners/web"
)

const (
	sourceRetry = "RFC 9110 section 10.2.3"
	retryWait   = 4 * time.Second
)

// busy responds with a status and a Retry-After; empty omits the header.
func busy(status int, retryAfter string) web.Behaviour {
	header := make(map[string]string)
	if retryAfter != "" {
		header["Retry-After"] = retryAfter
	}
	return text{status: status, header: header, body: http.StatusText(status) + "\n"}
}

// busyUntil responds with a date, wait after the request, in a form of dates.
func busyUntil(status int, wait time.Duration, form string) web.Behaviour {
	return serveFunc(func(v *web.Visit) {
		busy(status, time.Now().UTC().Add(wait).Format(form)).Serve(v)
	})
}

// busyRoot is a site whose root is busy at first.
func busyRoot(answer web.Behaviour) func(string, Options) []web.Site {
	return func(host string, _ Options) []web.Site {
		s := linked(host, nil, numbered("/p", 2)...)
		s.Paths["/"] = sequence{answer, s.Paths["/"]}
		return []web.Site{s}
	}
}

// busyThird is a site of n pages. It is busy at the third request, whatever its page.
func busyThird(n int, answer web.Behaviour) func(string, Options) []web.Site {
	return func(host string, _ Options) []web.Site {
		s := linked(host, nil, numbered("/p", n)...)
		for target, b := range s.Paths {
			s.Paths[target] = serveFunc(func(v *web.Visit) {
				if v.SiteVisit == 3 {
					answer.Serve(v)
					return
				}
				b.Serve(v)
			})
		}
		return []web.Site{s}
	}
}

// firstBusy returns the first 429 or 503 of the case's host.
func firstBusy(e *Evidence) (r web.Record, later web.Log, ok bool) {
	log := e.requestsTo(e.host)
	at := slices.IndexFunc(log, func(r web.Record) bool {
		return r.Status == http.StatusTooManyRequests || r.Status == http.StatusServiceUnavailable
	})
	if at < 0 {
		return web.Record{}, nil, false
	}
	for _, o := range log {
		// Requests from before the end of the response do not count against the crawler.
		if o.Start >= log[at].End {
			later = append(later, o)
		}
	}
	return log[at], later, true
}

// waitsAfterBusy judges that a host was left alone for the time in its first busy response, at
// least for minWait.
func waitsAfterBusy(minWait time.Duration) func(*Evidence) Verdict {
	return func(e *Evidence) Verdict {
		r, later, ok := firstBusy(e)
		if !ok {
			return unreached("no request got a 429 or 503")
		}
		required := max(minWait, r.RetryAfter)
		if len(later) > 0 {
			if wait := later[0].Start - r.End; wait < required-slack(r) {
				return fail([]web.Record{r, later[0]}, "%s was requested %s after the response %d, want %s",
					later[0].Target, roundDuration(wait), r.Status, roundDuration(required))
			}
			return pass(
				"the next request came %s after the response %d, want %s", roundDuration(later[0].Start-r.End), r.Status,
				roundDuration(required),
			)
		}
		if end := e.end(); end-r.End < required {
			return unreached("the run ended %s after the response %d, want %s", roundDuration(end-r.End), r.Status, roundDuration(required))
		}
		return cautious("the host was not requested again after the response %d", r.Status)
	}
}

// waitsWholeRun judges a wait longer than any run.
func waitsWholeRun(e *Evidence) Verdict {
	r, later, ok := firstBusy(e)
	end := e.end()
	switch {
	case !ok:
		return unreached("no request got a 429 or 503")
	case len(later) > 0 && later[0].Start-r.End < r.RetryAfter:
		return fail([]web.Record{r, later[0]}, "%s was requested %s after the response %d, want %s",
			later[0].Target, roundDuration(later[0].Start-r.End), r.Status, roundDuration(r.RetryAfter))
	case end-r.End < minLongDelayPause:
		return unreached("the run ended %s after the response %d, want %s", roundDuration(end-r.End), r.Status, roundDuration(minLongDelayPause))
	}
	return pass("the host got no request for %s after the response %d", roundDuration(end-r.End), r.Status)
}

// retries returns the cases of a valid Retry-After.
func retries() []timingCase {
	const second = "4"
	var cases []timingCase
	for _, status := range []int{http.StatusTooManyRequests, http.StatusServiceUnavailable} {
		code := strconv.Itoa(status)
		cases = append(cases, timingCase{
			id: "retry-" + code + "-seconds", level: Should, source: sourceRetry,
			title: "Waits for the seconds of the Retry-After of a " + code,
			sites: busyRoot(busy(status, second)), judge: waitsAfterBusy(0),
		}, timingCase{
			id: "retry-" + code + "-date", level: Should, source: sourceRetry,
			title: "Waits until the date of the Retry-After of a " + code,
			sites: busyRoot(busyUntil(status, retryWait+time.Second, http.TimeFormat)), judge: waitsAfterBusy(0),
		}, timingCase{
			id: "retry-" + code + "-host", level: Opinion, source: sourceOwners,
			title: "Requests no other page of a host after a " + code,
			sites: busyThird(5, busy(status, second)), judge: waitsAfterBusy(0),
		})
	}
	return append(cases, timingCase{
		id: "retry-date-asctime", level: Should, source: "RFC 9110 section 5.6.7",
		title: "Reads a date of Retry-After in the form of asctime",
		sites: busyRoot(busyUntil(http.StatusServiceUnavailable, retryWait+time.Second, time.ANSIC)), judge: waitsAfterBusy(0),
	}, timingCase{
		id: "retry-robots", level: Should, source: sourceRetry, title: "Waits for the Retry-After of a 503 for robots.txt",
		sites: func(host string, _ Options) []web.Site {
			return []web.Site{linked(host, sequence{busy(http.StatusServiceUnavailable, second), text{body: "User-agent: *\nAllow: /\n"}}, "/a")}
		},
		judge: waitsAfterBusy(0),
	}, timingCase{
		id: "retry-long", level: Should, source: sourceRetry, title: "Waits for a Retry-After of two hours",
		sites: busyRoot(busy(http.StatusServiceUnavailable, "7200")), judge: waitsWholeRun,
	}, timingCase{
		id: "retry-huge", level: Should, source: sourceRetry, title: "Treats an overflowing number of seconds as a long wait",
		sites: busyRoot(busy(http.StatusServiceUnavailable, "99999999999999999999")), judge: waitsWholeRun,
	})
}

// retryOdd returns the cases of a Retry-After without a future time.
func retryOdd() []timingCase {
	usual := func(e *Evidence) Verdict { return waitsAfterBusy(max(e.Delay, 500*time.Millisecond))(e) }
	odd := func(id, title string, answer web.Behaviour) timingCase {
		return timingCase{id: id, source: sourceOwners, title: title, sites: busyRoot(answer), judge: usual}
	}
	zero := odd("retry-zero", "Keeps its own delay after a Retry-After of 0", busy(http.StatusServiceUnavailable, "0"))
	zero.judge = ifDelaySet(func(e *Evidence) Verdict { return waitsAfterBusy(e.Delay)(e) })
	return []timingCase{
		zero,
		odd("retry-negative", "Does not retry at once after a negative Retry-After", busy(http.StatusServiceUnavailable, "-5")),
		odd("retry-garbage", "Does not retry at once after a Retry-After that is no time", busy(http.StatusTooManyRequests, "soon")),
		odd("retry-past", "Does not retry at once after a Retry-After that has passed",
			busyUntil(http.StatusServiceUnavailable, -time.Hour, http.TimeFormat)),
		{
			id: "retry-none", source: "RFC 6585 section 4", title: "Waits longer than usual after a 429 without Retry-After",
			sites: busyRoot(busy(http.StatusTooManyRequests, "")),
			judge: func(e *Evidence) Verdict {
				minBackoff := max(e.Delay, time.Second) * 3 / 2 // longer than a usual gap
				return waitsAfterBusy(minBackoff)(e)
			},
		},
	}
}

const maxRetries = 10

// failures returns the cases of hosts that fail without a Retry-After.
func failures() []timingCase {
	judgeRetries := func(e *Evidence) Verdict { return retriesAfterPause(e, numbered("/p", 3)) }
	return []timingCase{{
		id: "fail-500", source: sourceOwners, title: "Does not retry without end pages that always return 500",
		sites: pagesWith(4, busy(http.StatusInternalServerError, "")),
		judge: func(e *Evidence) Verdict {
			log := pages(e.requestsTo(e.host))
			if !slices.ContainsFunc(log, func(r web.Record) bool { return r.Status == http.StatusInternalServerError }) {
				return unreached("no page with response 500 was requested")
			}
			for _, target := range numbered("/p", 4) {
				if got := requestsFor(log, target); len(got) > maxRetries {
					return fail(got, "%s was requested %d times, want at most %d", target, len(got), maxRetries)
				}
			}
			return retriesAfterPause(e, numbered("/p", 4))
		},
	}, {
		id: "fail-reset", source: sourceOwners, title: "Does not retry at once after a connection is reset",
		sites: pagesWith(3, web.Reset{}), judge: judgeRetries,
	}, {
		id: "fail-hang", source: sourceOwners, title: "Does not retry at once a page without a response",
		sites: pagesWith(3, web.Hang{}), judge: judgeRetries,
	}}
}

// retriesAfterPause judges that failing targets are requested again only after a pause.
func retriesAfterPause(e *Evidence, targets []string) Verdict {
	log, requested := e.requestsTo(e.host), 0
	for _, target := range targets {
		got := requestsFor(log, target)
		requested += len(got)
		if len(got) < 2 {
			continue
		}
		if v := judgeGaps(got, max(e.Delay, 500*time.Millisecond)); v.Result == Fail {
			return v
		}
	}
	if requested == 0 {
		return unreached("no failing page was requested")
	}
	return pass(
		"%s for %s that fail, none at once after a request for the same page", formatCount(requested, "request"),
		formatCount(len(targets), "page"),
	)
}
