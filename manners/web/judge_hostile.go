package web

import "time"

// retryAfter is an announced pause of a domain.
type retryAfter struct {
	since, until time.Duration
	wait         time.Duration // the wait that the response declared
	url          string        // the response's URL
	requested    bool          // a later request has come
}

// retryAfters judges that no domain is requested before the time that a 429 or 503 gave. It skips
// requests that began before the response ended, because their sender could not know it.
func (j *judge) retryAfters() {
	waits := make(map[string]*retryAfter)
	for _, r := range j.log {
		key := j.domainOf(r)
		if w := waits[key]; w != nil && r.Start >= w.since-j.expect.Tolerance {
			j.judgeRetry(key, r, w)
		}
		if (r.Status != 429 && r.Status != 503) || r.RetryAfter == 0 || !r.Answered() {
			continue
		}
		j.report.RetryAfters++
		if w := waits[key]; w == nil || w.until < r.End+r.RetryAfter {
			waits[key] = &retryAfter{
				since: r.End, until: r.End + r.RetryAfter, wait: r.RetryAfter, url: r.URL(),
			}
		}
	}
	j.report.RetryAfter = distribution(j.report.retries)
}

// judgeRetry judges a request that came after the response.
func (j *judge) judgeRetry(key string, r Record, w *retryAfter) {
	if !w.requested {
		w.requested = true
		j.report.retries = append(j.report.retries, r.Start-w.until)
	}
	if r.Start < w.until-j.expect.Tolerance {
		j.violatef(BreachRetryAfter, key, r, "%v before the Retry-After of %v of %s has passed",
			w.until-r.Start, w.wait, w.url)
	}
}

// forbidden judges that no request went to an address outside the web.
func (j *judge) forbidden() {
	for _, r := range j.log {
		if j.isForbidden(r) {
			j.report.Forbidden++
			addr := r.LocalAddr.Addr()
			j.violatef(BreachForbidden, addr.String(), r, "%v is outside the web", addr)
		}
	}
}

func (j *judge) isForbidden(r Record) bool {
	inside := network
	if j.expect.Plan != nil {
		inside = j.expect.Plan.Network()
	}
	addr := r.LocalAddr.Addr()
	return addr.IsValid() && !inside.Contains(addr)
}
