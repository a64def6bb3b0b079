package manners

import (
	"time"

	"github.com/mosey-web/mosey/manners/web"
)

// stayAway is the least pause of a crawler for a host whose delay far exceeds a run.
const stayAway = 10 * time.Second

// crawlDelays returns the cases of Crawl-delay in robots.txt.
func crawlDelays() []timed {
	wants := func(id, title, robots string, gap time.Duration) timed {
		return timed{
			id: id, title: title, source: sourceCrawlDelay, sites: onePlace(robots, 4),
			judge: func(e *Evidence) Verdict { return gaps(pages(e.of(e.host)), max(gap, e.Delay)) },
		}
	}
	own := wants("crawl-delay-own", "Keeps the Crawl-delay of its own group", "", 3*time.Second)
	own.agent = true
	own.sites = func(host string, o Options) []web.Site {
		return onePlace("User-agent: *\nCrawl-delay: 1\n\nUser-agent: "+o.Agent+"\nCrawl-delay: 3\n", 4)(host, o)
	}
	day := wants("crawl-delay-day", "Keeps a Crawl-delay of a day", "User-agent: *\nCrawl-delay: 86400\n", 0)
	day.judge = longDelay
	return []timed{
		wants("crawl-delay", "Keeps a Crawl-delay of 3 s", "User-agent: *\nCrawl-delay: 3\n", 3*time.Second),
		wants("crawl-delay-fraction", "Keeps a Crawl-delay of 2.5 s", "User-agent: *\nCrawl-delay: 2.5\n", 2500*time.Millisecond),
		own, day,
		wants("crawl-delay-garbage", "Keeps its own delay if Crawl-delay is not a number", "User-agent: *\nCrawl-delay: abc\n", 0),
		wants("crawl-delay-negative", "Keeps its own delay if Crawl-delay is negative", "User-agent: *\nCrawl-delay: -5\n", 0),
	}
}

// longDelay judges a delay longer than any run: the next page comes late, or never.
func longDelay(e *Evidence) Verdict {
	log := pages(e.of(e.host))
	if len(log) > 1 {
		if v := gaps(log, stayAway); v.Result == Fail {
			return v
		}
		return pass("%d pages were requested, each at least %s after the one before", len(log), short(stayAway))
	}
	all := e.of(e.host)
	end := e.end()
	if rest := end - all[len(all)-1].End; rest < stayAway {
		return unreached("the run ended %s after the last request, want %s", short(rest), short(stayAway))
	}
	return pass("%s was requested, and nothing else", counted(len(log), "page"))
}
