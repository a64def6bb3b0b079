package manners

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/mosey-web/mosey/manners/web"
)

// secondHostPage is a page of a second host. Only a page of the first links to it.
const secondHostPage = "/beyond"

// secrets returns the cases of requests to one host that reveal data of another.
func secrets() []timingCase {
	return []timingCase{{
		id: "traffic-cookies", level: Must, source: "RFC 6265 section 5.4", title: "Sends no cookie to another host",
		sites: func(host string, _ Options) []web.Site {
			first, other := linked(host, nil, "/a"), linked("traffic-cookies-2.test", nil, "/a", "/b")
			first.Paths["/"] = serveFunc(func(v *web.Visit) {
				for _, domain := range []string{"", "; Domain=traffic-cookies-2.test", "; Domain=test"} {
					v.W.Header().Add("Set-Cookie", "manners=secret; Path=/"+domain)
				}
				page{title: host, links: []string{"/a", "http://traffic-cookies-2.test{port}" + secondHostPage}}.Serve(v)
			})
			other.Paths[secondHostPage] = page{}
			return []web.Site{first, other}
		},
		judge: func(e *Evidence) Verdict {
			return revealsNoSecret(e, "traffic-cookies-2.test", "a cookie of another host", func(r web.Record) bool {
				return strings.Contains(r.Headers["Cookie"], "manners=")
			})
		},
	}, {
		id: "traffic-credentials", level: Must, source: "RFC 7617 section 2.2", title: "Sends no user and password of a URL to another host",
		sites: func(host string, _ Options) []web.Site {
			first, other := linked(host, nil), linked("traffic-credentials-2.test", nil, "/a")
			first.Paths["/"] = page{title: host, links: []string{"http://someone:secret@" + host + "{port}/in"}}
			first.Paths["/in"] = page{links: []string{"http://traffic-credentials-2.test{port}" + secondHostPage}}
			other.Paths[secondHostPage] = page{}
			return []web.Site{first, other}
		},
		judge: func(e *Evidence) Verdict {
			return revealsNoSecret(e, "traffic-credentials-2.test", "the Authorization of another host", func(r web.Record) bool {
				return r.Headers["Authorization"] != ""
			})
		},
	}, {
		id: "traffic-referer", level: Must, source: "RFC 9110 section 10.1.3", title: "Sends no user, password or fragment in Referer",
		sites: func(host string, _ Options) []web.Site {
			s := linked(host, nil, "/below", "/beside")
			s.Paths["/"] = page{title: host, links: []string{"http://someone:secret@" + host + "{port}/in#part", "/beside#part"}}
			s.Paths["/in"] = page{links: []string{"/below"}}
			return []web.Site{s}
		},
		judge: func(e *Evidence) Verdict {
			for _, r := range e.Log {
				if strings.ContainsAny(r.Headers["Referer"], "@#") {
					return fail([]web.Record{r}, "%s was requested with Referer %q", r.Target, r.Headers["Referer"])
				}
			}
			if len(e.requestsFor("/below"))+len(e.requestsFor("/beside")) == 0 {
				return unreached("no link was followed")
			}
			return pass("none of %s had a user, password or fragment", formatCount(len(e.Log), "request"))
		},
	}, {
		id: "traffic-referer-tls", level: Must, source: "RFC 9110 section 10.1.3", title: "Sends no https Referer to an http host",
		sites: func(host string, _ Options) []web.Site {
			first, other := httpsSite(host, web.TLSValid), linked("traffic-referer-tls-2.test", nil, "/a")
			first.Paths["/"] = page{title: host, links: []string{"http://traffic-referer-tls-2.test{port}" + secondHostPage}}
			other.Paths[secondHostPage] = page{}
			return []web.Site{first, other}
		},
		judge: func(e *Evidence) Verdict {
			return revealsNoSecret(e, "traffic-referer-tls-2.test", "a Referer of https", func(r web.Record) bool {
				return strings.HasPrefix(strings.ToLower(r.Headers["Referer"]), "https:")
			})
		},
	}}
}

// revealsNoSecret fails requests to a host that reveal secrets.
func revealsNoSecret(e *Evidence, host, secret string, reveals func(web.Record) bool) Verdict {
	log := e.requestsTo(host)
	for _, r := range log {
		if reveals(r) {
			return fail([]web.Record{r}, "%s was requested from %s with %s", r.Target, host, secret)
		}
	}
	if len(requestsFor(log, secondHostPage)) == 0 {
		return unreached("the link to %s was not followed", host)
	}
	return pass("none of %s to %s had %s", formatCount(len(log), "request"), host, secret)
}

// maxRefusedRequests bounds the requests for a refused page.
const maxRefusedRequests = 3

// repeats returns the cases of needless requests.
func repeats() []timingCase {
	refusedStatus := func(id, title, source string, limit int, statuses ...int) timingCase {
		targets := make([]string, len(statuses))
		for i, status := range statuses {
			targets[i] = "/" + strconv.Itoa(status)
		}
		return timingCase{
			id: id, title: title, source: source,
			sites: func(host string, _ Options) []web.Site {
				s := linked(host, nil, targets...)
				for i, target := range targets {
					s.Paths[target] = busy(statuses[i], "")
				}
				return []web.Site{s}
			},
			judge: func(e *Evidence) Verdict { return requestedAtMost(e, limit, targets...) },
		}
	}
	return []timingCase{
		refusedStatus("traffic-refused", "Does not request refused pages repeatedly", sourceOwners, maxRefusedRequests,
			http.StatusUnauthorized, http.StatusForbidden, http.StatusUnavailableForLegalReasons),
		refusedStatus("traffic-gone", "Does not request a gone page again", "RFC 9110 section 15.5.11", 1, http.StatusGone),
		{
			id: "traffic-once", source: sourceOwners, title: "Requests a page with many links once",
			sites: func(host string, _ Options) []web.Site {
				targets := numbered("/p", 5)
				s := linked(host, nil, targets...)
				for _, target := range targets {
					s.Paths[target] = page{links: append([]string{"/"}, targets...)}
				}
				return []web.Site{s}
			},
			judge: func(e *Evidence) Verdict { return requestedAtMost(e, 1, append(numbered("/p", 5), "/")...) },
		},
		{
			id: "traffic-normal", level: Should, source: "RFC 3986 section 6.2.2", title: "Requests a URL with several spellings once",
			sites: func(host string, _ Options) []web.Site {
				s := linked(host, nil, "/dots", "/~name", "/caf%C3%A9", "/upper")
				s.Paths["/caf%c3%a9"], s.Paths["/%7Ename"], s.Paths["/x/../dots"], s.Paths["/./dots"] = page{}, page{}, page{}, page{}
				s.Paths["/"] = page{title: host, links: []string{
					"/dots", "/x/../dots", "/./dots", "/~name", "/%7Ename", "/caf%C3%A9", "/caf%c3%a9",
					"/upper", "HTTP://" + strings.ToUpper(host) + "{port}/upper",
				}}
				return []web.Site{s}
			},
			judge: func(e *Evidence) Verdict {
				return worstVerdict(
					requestedAtMost(e, 1, "/upper"),
					requestedOnce(e, "/dots", "/x/../dots", "/./dots"),
					requestedOnce(e, "/~name", "/%7Ename", "/%7ename"),
					requestedOnce(e, "/caf%C3%A9", "/caf%c3%a9"),
				)
			},
		},
		{
			id: "traffic-head", source: sourceOwners, title: "Does not send HEAD before each GET",
			sites: oneHost("", 4), judge: headFirst,
		},
	}
}

// withKillAllowance bounds the requests for a page. After a kill a crawler may not know its last
// requests.
func (e *Evidence) withKillAllowance(n int) int {
	for _, ev := range e.Events {
		if ev.Kind == Killed {
			n++
		}
	}
	return n
}

// requestedAtMost judges that each target was requested by GET at most limit times.
func requestedAtMost(e *Evidence, limit int, targets ...string) Verdict {
	return judgeCounts(e, limit, func(target string) []string { return []string{target} }, targets)
}

// requestedOnce judges that equal targets were requested by GET once in total.
func requestedOnce(e *Evidence, targets ...string) Verdict {
	return judgeCounts(e, 1, func(string) []string { return targets }, targets[:1])
}

func judgeCounts(e *Evidence, limit int, spellings func(string) []string, targets []string) Verdict {
	limit = e.withKillAllowance(limit)
	requested, maxCount := 0, 0
	for _, target := range targets {
		var got web.Log
		for _, t := range spellings(target) {
			for _, r := range e.requestsFor(t) {
				if r.Method == http.MethodGet {
					got = append(got, r)
				}
			}
		}
		if len(got) > limit {
			return fail(got, "%s was requested %d times, want at most %d", strings.Join(spellings(target), " or "), len(got), limit)
		}
		requested, maxCount = requested+min(len(got), 1), max(maxCount, len(got))
	}
	if requested == 0 {
		return unreached("%s was not requested", strings.Join(targets, " or "))
	}
	return pass("no page was requested more than %s", formatCount(maxCount, "time"))
}

func headFirst(e *Evidence) Verdict {
	heads, gets := make(map[string]bool), 0
	var doubled web.Log
	for _, r := range pages(e.requestsTo(e.host)) {
		switch r.Method {
		case http.MethodHead:
			heads[r.Target] = true
		case http.MethodGet:
			gets++
			if heads[r.Target] {
				doubled = append(doubled, r)
			}
		}
	}
	switch {
	case gets == 0:
		return unreached("no page was requested with GET")
	case len(doubled) > 1 && 2*len(doubled) > gets:
		return fail(doubled, "%d of %s with GET came after a HEAD", len(doubled), formatCount(gets, "request"))
	}
	return pass("%d of %s with GET came after a HEAD", len(doubled), formatCount(gets, "request"))
}
