package manners

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/mosey-web/mosey/manners/web"
)

// timingCase is a case of the timing of requests.
type timingCase struct {
	id, title, source string

	agent, direct, restart bool
	level                  Level

	sites func(host string, o Options) []web.Site
	judge func(*Evidence) Verdict
}

// make builds the case. Its level defaults to Opinion.
func (t timingCase) make(group Group) Case {
	level := t.level
	if level == "" {
		level = Opinion
	}
	return Case{
		ID: t.id, Group: group, Level: level, Source: t.source, Title: t.title,
		Agent: t.agent, Direct: t.direct, Restart: t.restart,
		sites: func(o Options) []web.Site { return t.sites(t.id+".test", o) },
		judge: t.judge,
	}
}

// Sources of opinions about timing.
const (
	sourceDelay      = "the delay set in the crawler"
	sourceCrawlDelay = "Crawl-delay, as robots.txt files have had it since about 2000"
	sourceOwners     = "the interest of site owners"
)

// timeCases returns the cases of the timing of requests.
func timeCases() []Case {
	var cases []Case
	for _, table := range [][]timingCase{
		timeGaps(), timeLoad(), timeRedirects(), crawlDelays(), retries(), retryOdd(), failures(), restarts(),
	} {
		for _, t := range table {
			cases = append(cases, t.make(GroupTime))
		}
	}
	return cases
}

// numbered returns n targets: prefix1, prefix2 and so on.
func numbered(prefix string, n int) []string {
	targets := make([]string, n)
	for i := range targets {
		targets[i] = prefix + strconv.Itoa(i+1)
	}
	return targets
}

// oneHost returns the sites of a case with one host of n pages. Its robots.txt responds with 404 if
// it is empty.
func oneHost(robots string, n int) func(string, Options) []web.Site {
	return func(host string, _ Options) []web.Site {
		var answer web.Behaviour
		if robots != "" {
			answer = text{body: robots}
		}
		return []web.Site{linked(host, answer, numbered("/p", n)...)}
	}
}

// pagesWith has the same behaviour for each of n pages below a healthy root.
func pagesWith(n int, b web.Behaviour) func(string, Options) []web.Site {
	return func(host string, _ Options) []web.Site {
		s := linked(host, nil, numbered("/p", n)...)
		for _, target := range numbered("/p", n) {
			s.Paths[target] = b
		}
		return []web.Site{s}
	}
}

// ifDelaySet judges only if the crawler was given a delay.
func ifDelaySet(judge func(*Evidence) Verdict) func(*Evidence) Verdict {
	return func(e *Evidence) Verdict {
		if e.Delay == 0 {
			return unjudged("the delay of the crawler is 0s or unknown")
		}
		return judge(e)
	}
}

func timeGaps() []timingCase {
	return []timingCase{{
		id: "time-gap", source: sourceDelay, title: "Keeps the delay between two pages of a host",
		sites: oneHost("", 6),
		judge: ifDelaySet(func(e *Evidence) Verdict { return judgeGaps(pages(e.requestsTo(e.host)), e.Delay) }),
	}, {
		id: "time-gap-robots", source: sourceDelay, title: "Keeps the delay between robots.txt and the first page",
		sites: oneHost("User-agent: *\nAllow: /\n", 2),
		judge: ifDelaySet(func(e *Evidence) Verdict {
			log := e.requestsTo(e.host)
			at := slices.IndexFunc(log, func(r web.Record) bool { return r.Target == robotsPath })
			if at < 0 {
				return unreached("robots.txt was not requested")
			}
			return judgeGaps(log[at:min(at+2, len(log))], e.Delay)
		}),
	}, {
		id: "time-head", source: sourceDelay, title: "Keeps the delay around HEAD requests too",
		sites: oneHost("", 4),
		judge: ifDelaySet(func(e *Evidence) Verdict {
			log := pages(e.requestsTo(e.host))
			for i, r := range log {
				if r.Method != http.MethodHead {
					continue
				}
				if v := judgeGaps(log[max(0, i-1):min(i+2, len(log))], e.Delay); v.Result != Pass {
					return v
				}
			}
			if !slices.ContainsFunc(log, func(r web.Record) bool { return r.Method == http.MethodHead }) {
				return unjudged("no HEAD request came")
			}
			return pass("the delay was kept around HEAD requests")
		}),
	}, {
		id: "time-assets", source: sourceDelay, title: "Keeps the delay for images and stylesheets of a page",
		sites: func(host string, _ Options) []web.Site {
			s := linked(host, nil)
			p := page{title: host, head: `<link rel="stylesheet" href="/style.css">` + "\n"}
			for _, target := range numbered("/image/", 8) {
				p.body += fmt.Sprintf("<img src=%q alt=\"\">\n", target)
				s.Paths[target] = web.Content{Type: "image/gif", Body: "GIF89a\x01\x00\x01\x00\x00\x00\x00;"}
			}
			s.Paths["/"], s.Paths["/style.css"] = p, web.Content{Type: "text/css", Body: "body{}\n"}
			return []web.Site{s}
		},
		judge: ifDelaySet(func(e *Evidence) Verdict {
			log := pages(e.requestsTo(e.host))
			if !slices.ContainsFunc(log, func(r web.Record) bool { return r.Target != "/" }) {
				return unjudged("no image or stylesheet was requested")
			}
			return judgeGaps(log, e.Delay)
		}),
	}, {
		id: "time-address", source: sourceDelay, direct: true, title: "Keeps the delay between two hosts of one address",
		sites: func(host string, _ Options) []web.Site {
			first, second := linked(host, nil, numbered("/p", 3)...), linked("time-address-2.test", nil, numbered("/p", 3)...)
			first.IPGroup, second.IPGroup = "time-address", "time-address"
			return []web.Site{first, second}
		},
		judge: ifDelaySet(func(e *Evidence) Verdict {
			for _, host := range e.hosts {
				if len(pages(e.requestsTo(host))) == 0 {
					return unreached("no page of %s was requested", host)
				}
			}
			return judgeGaps(pages(e.Log), e.Delay)
		}),
	}}
}

// timeLoad returns the cases of slow hosts.
func timeLoad() []timingCase {
	judgeOverlap := func(e *Evidence) Verdict { return judgeGaps(pages(e.requestsTo(e.host)), 0) }
	return []timingCase{{
		id: "time-one", source: sourceOwners, title: "Makes one request to a host at a time",
		sites: pagesWith(6, slowPage(300*time.Millisecond)), judge: judgeOverlap,
	}, {
		id: "time-slow", source: sourceOwners, title: "Waits for a slow response before the next request",
		sites: pagesWith(5, slowPage(2*time.Second)), judge: judgeOverlap,
	}, {
		id: "time-slower", source: sourceOwners, title: "Slows down for a host that gets slower",
		sites: pagesWith(6, serveFunc(func(v *web.Visit) {
			v.Wait(time.Duration(min(v.SiteVisit, 8)) * 300 * time.Millisecond)
			page{}.Serve(v)
		})),
		judge: func(e *Evidence) Verdict { return judgeGaps(pages(e.requestsTo(e.host)), e.Delay) },
	}}
}

// slowPage responds with a page after a wait.
func slowPage(wait time.Duration) web.Behaviour {
	return serveFunc(func(v *web.Visit) {
		v.Wait(wait)
		page{}.Serve(v)
	})
}

func timeRedirects() []timingCase {
	const targetHost = "time-redirect-host-2.test"
	return []timingCase{{
		id: "time-redirect", source: sourceDelay, title: "Keeps the delay between a redirect and its target on the same host",
		sites: func(host string, _ Options) []web.Site { return []web.Site{redirecting(host, "")} },
		judge: ifDelaySet(func(e *Evidence) Verdict {
			log, followed := pages(e.requestsTo(e.host)), 0
			for i, from := range numbered("/go/", 3) {
				for _, r := range requestsFor(log, from) {
					to := slices.IndexFunc(log, func(o web.Record) bool { return o.Target == numbered("/to/", 3)[i] && o.Start >= r.Start })
					if to < 0 {
						continue
					}
					followed++
					if v := judgeGaps([]web.Record{r, log[to]}, e.Delay); v.Result != Pass {
						return v
					}
				}
			}
			if followed == 0 {
				return unreached("no redirect was followed")
			}
			return pass("the delay was kept after each of %s", formatCount(followed, "redirect"))
		}),
	}, {
		id: "time-redirect-host", source: sourceDelay, title: "Keeps the delay of the target host of redirects",
		sites: func(host string, _ Options) []web.Site {
			target := linked(targetHost, nil, append(numbered("/to/", 3), numbered("/p", 3)...)...)
			return []web.Site{redirecting(host, "http://"+targetHost+"{port}"), target}
		},
		judge: ifDelaySet(func(e *Evidence) Verdict {
			log := pages(e.requestsTo(targetHost))
			if !slices.ContainsFunc(log, func(r web.Record) bool { return slices.Contains(numbered("/to/", 3), r.Target) }) {
				return unreached("no redirect was followed")
			}
			return judgeGaps(log, e.Delay)
		}),
	}}
}

// redirecting is a site with three redirects: /go/1 leads to /to/1 of the same site, or below the
// base.
func redirecting(host, base string) web.Site {
	s := linked(host, nil, numbered("/go/", 3)...)
	for i, from := range numbered("/go/", 3) {
		to := numbered("/to/", 3)[i]
		s.Paths[from] = web.Redirect{Code: 302, To: base + to}
		if base == "" {
			s.Paths[to] = page{}
		}
	}
	return s
}
