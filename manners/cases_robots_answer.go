package manners

import (
	"net/http"
	"strings"

	"github.com/mosey-web/mosey/manners/web"
)

// robotsAnswerCases returns the cases of responses to a robots.txt request.
func robotsAnswerCases() []Case {
	var cases []Case
	for _, t := range robotsAnswers() {
		cases = append(cases, t.make())
	}
	return append(cases, robotsRedirects(), robotsRedirectHost(), robotsChanges(), robotsReturns())
}

// robotsAnswers returns the cases of the status of a robots.txt.
func robotsAnswers() []rules {
	answers := func(code int) web.Behaviour {
		return text{status: code, body: http.StatusText(code) + "\n"}
	}
	pages := []string{"/", "/a"}
	return []rules{{
		id: "robots-404", section: "2.3.1.3", level: Should, title: "Treats 404 as no rules",
		answer: answers(404), allow: []string{"/a"},
	}, {
		id: "robots-403", section: "2.3.1.3", level: Should, title: "Treats 403 as no rules",
		answer: answers(403), allow: []string{"/a"},
	}, {
		id: "robots-500", section: "2.3.1.4", title: "Requests nothing while robots.txt returns 500",
		answer: answers(500), deny: pages,
	}, {
		id: "robots-503", section: "2.3.1.4", title: "Requests nothing while robots.txt returns 503",
		answer: answers(503), deny: pages,
	}, {
		id: "robots-429", section: "2.3.1.3", level: Opinion, title: "Treats 429 as an overloaded site, not as no rules",
		answer: answers(429), deny: pages,
	}, {
		id: "robots-reset", section: "2.3.1.4", title: "Requests nothing while robots.txt is unavailable",
		answer: web.Reset{}, deny: pages,
	}, {
		id: "robots-hang", section: "2.3.1.4", title: "Requests nothing while robots.txt gets no response",
		answer: web.Hang{}, deny: pages,
	}, {
		id: "robots-gzip", section: "2.3", title: "Reads a compressed robots.txt",
		answer: gzipped{body: "User-agent: *\nDisallow: /private/\n"}, allow: []string{"/a"}, deny: []string{"/private/"},
	}, {
		id: "robots-loop", section: "2.3.1.2", level: Opinion, title: "Requests nothing if robots.txt redirects in a loop",
		answer: web.Redirect{Code: 302, To: robotsPath}, deny: pages,
	}}
}

// robotsRedirects has five redirects before its text.
func robotsRedirects() Case {
	const id = "robots-redirects"
	return Case{
		ID: id, Group: GroupRobots, Level: Should, Source: "RFC 9309 section 2.3.1.2",
		Title: "Follows five redirects to a robots.txt",
		sites: func(Options) []web.Site {
			s := linked(id+".test", web.Redirect{Code: 302, To: "/r/1"}, "/private/", "/a")
			hops := numbered("/r/", 5)
			for i, hop := range hops[:4] {
				s.Paths[hop] = web.Redirect{Code: 302, To: hops[i+1]}
			}
			s.Paths["/r/5"] = text{body: "User-agent: *\nDisallow: /private/\n"}
			return []web.Site{s}
		},
		judge: func(e *Evidence) Verdict {
			got, last := e.requestsTo(e.host), e.requestsFor("/r/5")
			for _, r := range got {
				named := r.Target == robotsPath || strings.HasPrefix(r.Target, "/r/")
				if !named && r.Host != "" && (len(last) == 0 || r.Start < last[0].End-tolerance) {
					return fail([]web.Record{r}, "%s was requested before the redirects of robots.txt had been followed", r.Target)
				}
			}
			return judgeRules(e, e.host, []string{"/a"}, []string{"/private/"})
		},
	}
}

// robotsRedirectHost redirects robots.txt to another host, whose text applies to the first.
func robotsRedirectHost() Case {
	const id, other = "robots-redirect-host", "robots-redirect-host-2.test"
	return Case{
		ID: id, Group: GroupRobots, Level: Should, Source: "RFC 9309 section 2.3.1.2",
		Title: "Applies a robots.txt after a redirect to another host",
		sites: func(Options) []web.Site {
			first := linked(id+".test", web.Redirect{Code: 301, To: "http://" + other + "{port}/robots.txt"}, "/private/", "/a")
			second := linked(other, text{body: "User-agent: *\nDisallow: /private/\n"})
			second.Unseeded = true
			return []web.Site{first, second}
		},
		judge: func(e *Evidence) Verdict {
			if len(requestsFor(e.requestsTo(other), robotsPath)) == 0 && len(pages(e.requestsTo(e.host))) > 0 {
				return fail(pages(e.requestsTo(e.host)), "the redirect was not followed, and pages were requested")
			}
			return judgeRules(e, e.host, []string{"/a"}, []string{"/private/"})
		},
	}
}

// robotsChanges has a robots.txt that denies all from the second request on. A crawler may cache
// the first for a day, so only one that requests it again, as after a restart, can break it.
func robotsChanges() Case {
	const id, many = "robots-changes", 12
	return Case{
		ID: id, Group: GroupRobots, Level: Must, Source: "RFC 9309 section 2.4",
		Title: "Obeys the newest robots.txt",
		sites: func(Options) []web.Site {
			age := map[string]string{"Cache-Control": "max-age=1"}
			return []web.Site{linked(id+".test", sequence{
				text{body: "User-agent: *\nAllow: /\n", header: age},
				text{body: "User-agent: *\nDisallow: /\n", header: age},
			}, numbered("/a", many)...)}
		},
		judge: func(e *Evidence) Verdict {
			if first := e.robotsFirst(e.host); first.Result == Fail {
				return first
			}
			texts := e.requestsFor(robotsPath)
			if len(texts) < 2 {
				return unjudged("robots.txt was read once, and may be cached for a day")
			}
			for _, r := range pages(e.requestsTo(e.host)) {
				if r.Start > texts[1].End+tolerance {
					return fail([]web.Record{texts[1], r}, "%s was requested, but the newest robots.txt disallows everything", r.Target)
				}
			}
			return pass("robots.txt was read %d times, and obeyed", len(texts))
		},
	}
}

// robotsReturns has a robots.txt that responds with 503 at first. A patient crawler retries.
func robotsReturns() Case {
	const id = "robots-returns"
	return Case{
		ID: id, Group: GroupRobots, Level: Must, Source: "RFC 9309 section 2.3.1.4",
		Title: "Obeys a robots.txt that becomes available later",
		sites: func(Options) []web.Site {
			return []web.Site{linked(id+".test", sequence{
				text{status: 503, header: map[string]string{"Retry-After": "3"}},
				text{body: "User-agent: *\nDisallow: /private/\n"},
			}, "/private/", "/a")}
		},
		judge: func(e *Evidence) Verdict {
			texts := e.requestsFor(robotsPath)
			for _, r := range pages(e.requestsTo(e.host)) {
				if len(texts) < 2 || r.Start < texts[1].End-tolerance {
					return fail([]web.Record{r}, "%s was requested while robots.txt was unavailable", r.Target)
				}
			}
			if len(texts) < 2 {
				return cautious("robots.txt was not requested again")
			}
			return judgeRules(e, e.host, []string{"/a"}, []string{"/private/"})
		},
	}
}
