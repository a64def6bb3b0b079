package manners

import (
	"time"

	"github.com/mosey-web/mosey/manners/web"
)

// minLongDelayPause is the least pause of a crawler for a host whose delay far exceeds a run.
const minLongDelayPause = 10 * time.Second

// crawlDelays returns the cases of Crawl-delay in robots.txt.
func crawlDelays() []timingCase {
	newCase := func(id, title, robots string, gap time.Duration) timingCase {
		return timingCase{
			id: id, title: title, source: sourceCrawlDelay, sites: oneHost(robots, 4),
			judge: func(e *Evidence) Verdict { return judgeGaps(pages(e.requestsTo(e.host)), max(gap, e.Delay)) },
		}
	}
	ownGroup := newCase("crawl-delay-own", "Keeps the Crawl-delay of its own group", "", 3*time.Second)
	ownGroup.agent = true
	ownGroup.sites = func(host string, o Options) []web.Site {
		return oneHost("User-agent: *\nCrawl-delay: 1\n\nUser-agent: "+o.Agent+"\nCrawl-delay: 3\n", 4)(host, o)
	}
	day := newCase("crawl-delay-day", "Keeps a Crawl-delay of a day", "User-agent: *\nCrawl-delay: 86400\n", 0)
	day.judge = longDelay
	return []timingCase{
		newCase("crawl-delay", "Keeps a Crawl-delay of 3 s", "User-agent: *\nCrawl-delay: 3\n", 3*time.Second),
		newCase("crawl-delay-fraction", "Keeps a Crawl-delay of 2.5 s", "User-agent: *\nCrawl-delay: 2.5\n", 2500*time.Millisecond),
		ownGroup, day,
		newCase("crawl-delay-garbage", "Keeps its own delay if Crawl-delay is not a number", "User-agent: *\nCrawl-delay: abc\n", 0),
		newCase("crawl-delay-negative", "Keeps its own delay if Crawl-delay is negative", "User-agent: *\nCrawl-delay: -5\n", 0),
	}
}

// longDelay judges a delay longer than any run: the next page comes late, or never.
func longDelay(e *Evidence) Verdict {
	log := pages(e.requestsTo(e.host))
	if len(log) > 1 {
		if v := judgeGaps(log, minLongDelayPause); v.Result == Fail {
			return v
		}
		return pass("%d pages were requested, each at least %s after the one before", len(log), roundDuration(minLongDelayPause))
	}
	all := e.requestsTo(e.host)
	end := e.end()
	if idleTime := end - all[len(all)-1].End; idleTime < minLongDelayPause {
		return unreached("the run ended %s after the last request, want %s", roundDuration(idleTime), roundDuration(minLongDelayPause))
	}
	return pass("%s was requested, and nothing else", formatCount(len(log), "page"))
}
