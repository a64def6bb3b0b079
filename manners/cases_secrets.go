package manners

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/mosey-web/mosey/manners/web"
)

func portText(port int) string { return strconv.Itoa(port) }

// beyond is a page of a second host. Only a page of the first links to it.
const beyond = "/beyond"

// secrets returns the cases of requests to one host that reveal data of another.
func secrets() []timed {
	return []timed{{
		id: "traffic-cookies", level: Must, source: "RFC 6265 section 5.4", title: "Sends no cookie to another host",
		sites: func(host string, _ Options) []web.Site {
			first, other := linked(host, nil, "/a"), linked("traffic-cookies-2.test", nil, "/a", "/b")
			first.Paths["/"] = serveFunc(func(v *web.Visit) {
				for _, domain := range []string{"", "; Domain=traffic-cookies-2.test", "; Domain=test"} {
					v.W.Header().Add("Set-Cookie", "manners=secret; Path=/"+domain)
				}
				page{title: host, links: []string{"/a", "http://traffic-cookies-2.test{port}" + beyond}}.Serve(v)
			})
			other.Paths[beyond] = page{}
			return []web.Site{first, other}
		},
		judge: func(e *Evidence) Verdict {
			return told(e, "traffic-cookies-2.test", "a cookie of another host", func(r web.Record) bool {
				return strings.Contains(r.Headers["Cookie"], "manners=")
			})
		},
	}, {
		id: "traffic-credentials", level: Must, source: "RFC 7617 section 2.2", title: "Sends no user and password of a URL to another host",
		sites: func(host string, _ Options) []web.Site {
			first, other := linked(host, nil), linked("traffic-credentials-2.test", nil, "/a")
			first.Paths["/"] = page{title: host, links: []string{"http://someone:secret@" + host + "{port}/in"}}
			first.Paths["/in"] = page{links: []string{"http://traffic-credentials-2.test{port}" + beyond}}
			other.Paths[beyond] = page{}
			return []web.Site{first, other}
		},
		judge: func(e *Evidence) Verdict {
			return told(e, "traffic-credentials-2.test", "the Authorization of another host", func(r web.Record) bool {
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
			if len(e.asked("/below"))+len(e.asked("/beside")) == 0 {
				return unreached("no link was followed")
			}
			return pass("none of %s had a user, password or fragment", counted(len(e.Log), "request"))
		},
	}, {
		id: "traffic-referer-tls", level: Must, source: "RFC 9110 section 10.1.3", title: "Sends no https Referer to an http host",
		sites: func(host string, _ Options) []web.Site {
			first, other := secure(host, web.TLSValid), linked("traffic-referer-tls-2.test", nil, "/a")
			first.Paths["/"] = page{title: host, links: []string{"http://traffic-referer-tls-2.test{port}" + beyond}}
			other.Paths[beyond] = page{}
			return []web.Site{first, other}
		},
		judge: func(e *Evidence) Verdict {
			return told(e, "traffic-referer-tls-2.test", "a Referer of https", func(r web.Record) bool {
				return strings.HasPrefix(strings.ToLower(r.Headers["Referer"]), "https:")
			})
		},
	}}
}

// told fails requests to a host that reveal secrets.
func told(e *Evidence, host, what string, tells func(web.Record) bool) Verdict {
	log := e.of(host)
	for _, r := range log {
		if tells(r) {
			return fail([]web.Record{r}, "%s was requested from %s with %s", r.Target, host, what)
		}
	}
	if len(asked(log, beyond)) == 0 {
		return unreached("the link to %s was not followed", host)
	}
	return pass("none of %s to %s had %s", counted(len(log), "request"), host, what)
}

// refusedMost bounds the requests for a refused page.
const refusedMost = 3

// repeats returns the cases of needless requests.
func repeats() []timed {
	refusedStatus := func(id, title, source string, most int, statuses ...int) timed {
		targets := make([]string, len(statuses))
		for i, status := range statuses {
			targets[i] = "/" + strconv.Itoa(status)
		}
		return timed{
			id: id, title: title, source: source,
			sites: func(host string, _ Options) []web.Site {
				s := linked(host, nil, targets...)
				for i, target := range targets {
					s.Paths[target] = busy(statuses[i], "")
				}
				return []web.Site{s}
			},
			judge: func(e *Evidence) Verdict { return atMost(e, most, targets...) },
		}
	}
	return []timed{
		refusedStatus("traffic-refused", "Does not request refused pages repeatedly", sourceOwners, refusedMost,
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
			judge: func(e *Evidence) Verdict { return atMost(e, 1, append(numbered("/p", 5), "/")...) },
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
				return worst(
					atMost(e, 1, "/upper"),
					together(e, "/dots", "/x/../dots", "/./dots"),
					together(e, "/~name", "/%7Ename", "/%7ename"),
					together(e, "/caf%C3%A9", "/caf%c3%a9"),
				)
			},
		},
		{
			id: "traffic-head", source: sourceOwners, title: "Does not send HEAD before each GET",
			sites: onePlace("", 4), judge: headFirst,
		},
	}
}

// most bounds the requests for a page. After a kill a crawler may not know its last requests.
func (e *Evidence) most(n int) int {
	for _, ev := range e.Events {
		if ev.Kind == Killed {
			n++
		}
	}
	return n
}

// atMost judges that each target was requested by GET at most this often.
func atMost(e *Evidence, most int, targets ...string) Verdict {
	return bounded(e, most, func(target string) []string { return []string{target} }, targets)
}

// together judges that equal targets were requested by GET once in total.
func together(e *Evidence, targets ...string) Verdict {
	return bounded(e, 1, func(string) []string { return targets }, targets[:1])
}

func bounded(e *Evidence, most int, same func(string) []string, targets []string) Verdict {
	most = e.most(most)
	came, often := 0, 0
	for _, target := range targets {
		var got web.Log
		for _, t := range same(target) {
			for _, r := range e.asked(t) {
				if r.Method == http.MethodGet {
					got = append(got, r)
				}
			}
		}
		if len(got) > most {
			return fail(got, "%s was requested %d times, want at most %d", strings.Join(same(target), " or "), len(got), most)
		}
		came, often = came+min(len(got), 1), max(often, len(got))
	}
	if came == 0 {
		return unreached("%s was not requested", strings.Join(targets, " or "))
	}
	return pass("no page was requested more than %s", counted(often, "time"))
}

func headFirst(e *Evidence) Verdict {
	heads, gets := make(map[string]bool), 0
	var doubled web.Log
	for _, r := range pages(e.of(e.host)) {
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
		return fail(doubled, "%d of %s with GET came after a HEAD", len(doubled), counted(gets, "request"))
	}
	return pass("%d of %s with GET came after a HEAD", len(doubled), counted(gets, "request"))
}
