package manners

import (
	"net/http"
	"slices"
	"time"

	"github.com/mosey-web/mosey/manners/web"
)

const sourceRestart = "Mosey's own promise: killing the crawler changes nothing for a site"

// restartPages are enough for a kill to happen among them.
const restartPages = 40

// maxRepeatedPages bounds the pages requested again: the one in flight, and one with an unsaved
// response.
const maxRepeatedPages = 2

// restarts returns the cases of a crawler that is killed and restarted.
func restarts() []timingCase {
	return []timingCase{{
		id: "restart-gap", source: sourceRestart, restart: true, title: "Keeps the delay across a restart",
		sites: oneHost("", restartPages), judge: ifDelaySet(restartGap),
	}, {
		id: "restart-again", source: sourceRestart, restart: true, title: "Does not request pages again after a restart",
		sites: oneHost("", restartPages), judge: restartRefetch,
	}, {
		id: "restart-retry", level: Should, source: sourceRetry, restart: true, title: "Remembers a Retry-After across a restart",
		sites: busyThird(6, busy(http.StatusTooManyRequests, "45")), judge: restartRetry,
	}, {
		id: "restart-crawl-delay", source: sourceCrawlDelay, restart: true, title: "Keeps a Crawl-delay after a restart",
		sites: oneHost("User-agent: *\nCrawl-delay: 3\n", restartPages), judge: restartCrawlDelay,
	}}
}

// aroundKill returns the requests of the case's host before the first kill, and after the next
// start.
func (e *Evidence) aroundKill() (before, after web.Log, v Verdict) {
	kill := slices.IndexFunc(e.Events, func(ev Event) bool { return ev.Kind == Killed })
	start := kill + slices.IndexFunc(e.Events[kill:], func(ev Event) bool { return ev.Kind == Started })
	for _, r := range e.requestsTo(e.host) {
		switch {
		case r.Start <= e.Events[kill].At:
			before = append(before, r)
		case r.Start >= e.Events[start].At:
			after = append(after, r)
		}
	}
	switch {
	case len(before) == 0:
		return nil, nil, unreached("no request came before the kill")
	case len(after) == 0:
		return nil, nil, unreached("no request came after the restart")
	}
	return before, after, pass("requests came before and after")
}

func restartGap(e *Evidence) Verdict {
	before, after, v := e.aroundKill()
	if v.Result != Pass {
		return v
	}
	return judgeGaps([]web.Record{before[len(before)-1], after[0]}, e.Delay)
}

func restartRefetch(e *Evidence) Verdict {
	before, after, v := e.aroundKill()
	if v.Result != Pass {
		return v
	}
	var repeated web.Log
	for _, r := range pages(after) {
		wasComplete := slices.ContainsFunc(before, func(o web.Record) bool {
			return o.Target == r.Target && o.Answered() && o.Status == http.StatusOK && o.Method == http.MethodGet
		})
		if wasComplete && r.Method == http.MethodGet {
			repeated = append(repeated, r)
		}
	}
	if len(repeated) > maxRepeatedPages {
		return fail(repeated, "%d of %s before the kill were requested again, want at most %d",
			len(repeated), formatCount(len(pages(before)), "page"), maxRepeatedPages)
	}
	return pass("%d of %s before the kill were requested again", len(repeated), formatCount(len(pages(before)), "page"))
}

func restartRetry(e *Evidence) Verdict {
	r, later, ok := firstBusy(e)
	kill := slices.IndexFunc(e.Events, func(ev Event) bool { return ev.Kind == Killed })
	start := kill + slices.IndexFunc(e.Events[kill:], func(ev Event) bool { return ev.Kind == Started })
	due := r.End + r.RetryAfter
	switch {
	case !ok || r.End > e.Events[kill].At:
		return unreached("no response had a Retry-After before the kill")
	case due < e.Events[start].At:
		return unjudged("the wait of %s was over before the restart", roundDuration(r.RetryAfter))
	}
	for _, o := range later {
		if o.Start >= e.Events[start].At && o.Start < due-slack(r) {
			return fail([]web.Record{r, o}, "%s was requested after the restart, %s after the response %d, want %s",
				o.Target, roundDuration(o.Start-r.End), r.Status, roundDuration(r.RetryAfter))
		}
	}
	if end := e.end(); end < due && end-e.Events[start].At < minLongDelayPause {
		return unreached("the run ended %s after the restart, want %s", roundDuration(end-e.Events[start].At), roundDuration(minLongDelayPause))
	}
	return pass("the host got no request after the restart, as the response %d required", r.Status)
}

func restartCrawlDelay(e *Evidence) Verdict {
	const gap = 3 * time.Second
	before, after, v := e.aroundKill()
	if v.Result != Pass {
		return v
	}
	log := pages(after)
	if earlier := pages(before); len(earlier) > 0 && after[0].Target != robotsPath {
		log = append(web.Log{earlier[len(earlier)-1]}, log...)
	}
	return judgeGaps(log, gap)
}
