package manners

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/mosey-web/mosey/manners/web"
)

// timed is a case of the timing of requests.
type timed struct {
	id, title, source string

	agent, direct, restart bool
	level                  Level

	sites func(host string, o Options) []web.Site
	judge func(*Evidence) Verdict
}

// make builds the case. Its level defaults to Opinion.
func (t timed) make(group Group) Case {
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
	for _, table := range [][]timed{
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

// onePlace returns the sites of a case with one host of n pages. Its robots.txt answers 404 if it
// is empty.
func onePlace(robots string, n int) func(string, Options) []web.Site {
	return func(host string, _ Options) []web.Site {
		var answer web.Behaviour
		if robots != "" {
			answer = text{body: robots}
		}
		return []web.Site{linked(host, answer, numbered("/p", n)...)}
	}
}

// answered has the same behaviour for each of n pages below a healthy root.
func answered(n int, b web.Behaviour) func(string, Options) []web.Site {
	return func(host string, _ Options) []web.Site {
		s := linked(host, nil, numbered("/p", n)...)
		for _, target := range numbered("/p", n) {
			s.Paths[target] = b
		}
		return []web.Site{s}
	}
}

// delayed judges only if the crawler was given a delay.
func delayed(judge func(*Evidence) Verdict) func(*Evidence) Verdict {
	return func(e *Evidence) Verdict {
		if e.Delay == 0 {
			return unjudged("the delay of the crawler is 0s or unknown")
		}
		return judge(e)
	}
}

func timeGaps() []timed {
	return []timed{{
		id: "time-gap", source: sourceDelay, title: "Keeps the delay between two pages of a host",
		sites: onePlace("", 6),
		judge: delayed(func(e *Evidence) Verdict { return gaps(pages(e.of(e.host)), e.Delay) }),
	}, {
		id: "time-gap-robots", source: sourceDelay, title: "Keeps the delay between robots.txt and the first page",
		sites: onePlace("User-agent: *\nAllow: /\n", 2),
		judge: delayed(func(e *Evidence) Verdict {
			log := e.of(e.host)
			at := slices.IndexFunc(log, func(r web.Record) bool { return r.Target == robotsPath })
			if at < 0 {
				return unreached("robots.txt was not requested")
			}
			return gaps(log[at:min(at+2, len(log))], e.Delay)
		}),
	}, {
		id: "time-head", source: sourceDelay, title: "Keeps the delay around HEAD requests too",
		sites: onePlace("", 4),
		judge: delayed(func(e *Evidence) Verdict {
			log := pages(e.of(e.host))
			for i, r := range log {
				if r.Method != http.MethodHead {
					continue
				}
				if v := gaps(log[max(0, i-1):min(i+2, len(log))], e.Delay); v.Result != Pass {
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
		judge: delayed(func(e *Evidence) Verdict {
			log := pages(e.of(e.host))
			if !slices.ContainsFunc(log, func(r web.Record) bool { return r.Target != "/" }) {
				return unjudged("no image or stylesheet was requested")
			}
			return gaps(log, e.Delay)
		}),
	}, {
		id: "time-address", source: sourceDelay, direct: true, title: "Keeps the delay between two hosts of one address",
		sites: func(host string, _ Options) []web.Site {
			one, two := linked(host, nil, numbered("/p", 3)...), linked("time-address-2.test", nil, numbered("/p", 3)...)
			one.IPGroup, two.IPGroup = "time-address", "time-address"
			return []web.Site{one, two}
		},
		judge: delayed(func(e *Evidence) Verdict {
			for _, host := range e.hosts {
				if len(pages(e.of(host))) == 0 {
					return unreached("no page of %s was requested", host)
				}
			}
			return gaps(pages(e.Log), e.Delay)
		}),
	}}
}

// timeLoad returns the cases of slow hosts.
func timeLoad() []timed {
	one := func(e *Evidence) Verdict { return gaps(pages(e.of(e.host)), 0) }
	return []timed{{
		id: "time-one", source: sourceOwners, title: "Makes one request to a host at a time",
		sites: answered(6, slowly(300*time.Millisecond)), judge: one,
	}, {
		id: "time-slow", source: sourceOwners, title: "Waits for a slow response before the next request",
		sites: answered(5, slowly(2*time.Second)), judge: one,
	}, {
		id: "time-slower", source: sourceOwners, title: "Slows down for a host that gets slower",
		sites: answered(6, serveFunc(func(v *web.Visit) {
			v.Wait(time.Duration(min(v.SiteVisit, 8)) * 300 * time.Millisecond)
			page{}.Serve(v)
		})),
		judge: func(e *Evidence) Verdict { return gaps(pages(e.of(e.host)), e.Delay) },
	}}
}

// slowly answers with a page after a wait.
func slowly(wait time.Duration) web.Behaviour {
	return serveFunc(func(v *web.Visit) {
		v.Wait(wait)
		page{}.Serve(v)
	})
}

func timeRedirects() []timed {
	const there = "time-redirect-host-2.test"
	return []timed{{
		id: "time-redirect", source: sourceDelay, title: "Keeps the delay between a redirect and its target on the same host",
		sites: func(host string, _ Options) []web.Site { return []web.Site{redirecting(host, "")} },
		judge: delayed(func(e *Evidence) Verdict {
			log, followed := pages(e.of(e.host)), 0
			for i, from := range numbered("/go/", 3) {
				for _, r := range asked(log, from) {
					to := slices.IndexFunc(log, func(o web.Record) bool { return o.Target == numbered("/to/", 3)[i] && o.Start >= r.Start })
					if to < 0 {
						continue
					}
					followed++
					if v := gaps([]web.Record{r, log[to]}, e.Delay); v.Result != Pass {
						return v
					}
				}
			}
			if followed == 0 {
				return unreached("no redirect was followed")
			}
			return pass("the delay was kept after each of %s", counted(followed, "redirect"))
		}),
	}, {
		id: "time-redirect-host", source: sourceDelay, title: "Keeps the delay of the target host of redirects",
		sites: func(host string, _ Options) []web.Site {
			target := linked(there, nil, append(numbered("/to/", 3), numbered("/p", 3)...)...)
			return []web.Site{redirecting(host, "http://"+there+"{port}"), target}
		},
		judge: delayed(func(e *Evidence) Verdict {
			log := pages(e.of(there))
			if !slices.ContainsFunc(log, func(r web.Record) bool { return slices.Contains(numbered("/to/", 3), r.Target) }) {
				return unreached("no redirect was followed")
			}
			return gaps(log, e.Delay)
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
