package manners

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/mosey-web/mosey/manners/web"
)

// maxRedirectRequests bounds the requests for one chain of redirects: the first, and the 20
// redirects that the Fetch standard follows (HTTP-redirect fetch).
const maxRedirectRequests = 21

// linksRedirects has a redirect of each status, and of each form of Location.
func linksRedirects() Case {
	const id, host = "links-redirects", "links-redirects.test"
	return links{
		id: id, level: Must, source: "RFC 9110 sections 10.2.2 and 15.4", exact: true,
		title: "Resolves the Location of redirects, for every redirect status",
		root:  page{links: []string{"/go/301", "/go/302", "/go/303", "/go/307", "/go/308"}},
		pages: map[string]web.Behaviour{
			"/go/301": web.Redirect{Code: 301, To: "/to/301"},
			"/go/302": web.Redirect{Code: 302, To: "../to/302"},
			"/go/303": web.Redirect{Code: 303, To: "http://" + host + "{port}/to/303"},
			"/go/307": web.Redirect{Code: 307, To: "//" + host + "{port}/to/307"},
			"/go/308": web.Redirect{Code: 308, To: "308/to#part"},
		},
		first: []string{"/go/301"},
		want: []string{
			"/go/302", "/go/303", "/go/307", "/go/308", "/to/301", "/to/302", "/to/303", "/to/307", "/go/308/to",
		},
		deny: []string{
			"/go/to/302", "/../to/302", "/go/../to/302", "/to/http://" + host + "/to/303", "/" + host + "/to/307",
			"//" + host + "/to/307", "/308/to", "/go/308/308/to", "/go/308/to#part", "/go/308/to%23part",
		},
		denyReason: "to which no redirect leads",
	}.make()
}

// linksRedirectChain has five redirects, as many as RFC 9309 has a crawler follow to a robots.txt.
// No standard sets a number for pages.
func linksRedirectChain() Case {
	t := links{
		id: "links-redirect-chain", level: Opinion, source: "RFC 9110 section 15.4",
		title: "Follows five redirects in a row",
		root:  page{links: []string{"/hop/1"}}, first: []string{"/hop/1"},
		pages: map[string]web.Behaviour{"/hop/6": page{}},
	}
	for i := 1; i <= 5; i++ {
		t.pages[fmt.Sprintf("/hop/%d", i)] = web.Redirect{Code: 302, To: fmt.Sprintf("/hop/%d", i+1)}
		t.want = append(t.want, fmt.Sprintf("/hop/%d", i+1))
	}
	return t.make()
}

// linksRedirectLoop has a page that redirects to itself, and two that redirect to each other.
func linksRedirectLoop() Case {
	const id = "links-redirect-loop"
	loop := func(target string) bool { return target == "/self" || strings.HasPrefix(target, "/loop/") }
	return Case{
		ID: id, Group: GroupLinks, Level: Should, Source: "RFC 9110 section 15.4",
		Title: "Ends redirect loops",
		sites: func(Options) []web.Site {
			s := linked(id+".test", nil, "/self", "/loop/1", "/open")
			s.Paths["/self"] = web.Redirect{Code: 302, To: "/self"}
			s.Paths["/loop/1"] = web.Redirect{Code: 301, To: "/loop/2"}
			s.Paths["/loop/2"] = web.Redirect{Code: 301, To: "/loop/1"}
			return []web.Site{s}
		},
		judge: func(e *Evidence) Verdict {
			var selfLoop, pairLoop web.Log
			for _, r := range e.Log {
				switch {
				case r.Target == "/self":
					selfLoop = append(selfLoop, r)
				case loop(r.Target):
					pairLoop = append(pairLoop, r)
				}
			}
			for _, seen := range []web.Log{selfLoop, pairLoop} {
				if len(seen) > maxRedirectRequests {
					return fail(seen[maxRedirectRequests:], "%d requests went into one redirect loop, want at most %d", len(seen), maxRedirectRequests)
				}
			}
			if len(selfLoop) == 0 && len(pairLoop) == 0 {
				return unreached("no redirect of a loop was requested")
			}
			return pass("%d and %s went into the two redirect loops", len(selfLoop), formatCount(len(pairLoop), "request"))
		},
	}
}

// linksRedirectHost redirects to another host, which has its own robots.txt.
func linksRedirectHost() Case {
	const id, other = "links-redirect-host", "links-redirect-host-2.test"
	return Case{
		ID: id, Group: GroupLinks, Level: Must, Source: "RFC 9309 sections 2.2.2 and 2.3",
		Title: "Reads the robots.txt of another host before it follows a redirect to it",
		sites: func(Options) []web.Site {
			first := linked(id+".test", text{body: "User-agent: *\nAllow: /\n"}, "/go/in", "/go/out")
			first.Paths["/go/in"] = web.Redirect{Code: 302, To: "http://" + other + "{port}/private/in"}
			first.Paths["/go/out"] = web.Redirect{Code: 302, To: "http://" + other + "{port}/out"}
			second := linked(other, text{body: "User-agent: *\nDisallow: /private/\n"}, "/out", "/private/in")
			return []web.Site{first, second}
		},
		judge: func(e *Evidence) Verdict {
			followed := len(e.requestsFor("/go/in")) + len(e.requestsFor("/go/out"))
			switch {
			case followed == 0:
				return unreached("no redirect was requested")
			case len(e.requestsTo(other)) == 0:
				return cautious("%s to another host not followed", formatCount(followed, "redirect"))
			}
			return judgeRules(e, other, []string{"/out"}, []string{"/private/in"})
		},
	}
}

// linksOtherHost links to another host that disallows everything.
func linksOtherHost() Case {
	const id, other = "links-elsewhere", "links-elsewhere-2.test"
	return Case{
		ID: id, Group: GroupLinks, Level: Must, Source: "RFC 9309 section 2.2.2",
		Title: "Follows no link to a host that disallows everything",
		sites: func(Options) []web.Site {
			first := linked(id+".test", text{body: "User-agent: *\nAllow: /\n"}, "http://"+other+"{port}/a", "/open")
			second := linked(other, text{body: "User-agent: *\nDisallow: /\n"}, "/a", "/b")
			return []web.Site{first, second}
		},
		judge: func(e *Evidence) Verdict {
			if len(e.requestsFor("/")) == 0 {
				return unreached("the page that links to the other host was not requested")
			}
			if seen := pages(e.requestsTo(other)); len(seen) > 0 {
				return fail(seen, "%s of the other host was requested, but its robots.txt disallows everything", seen[0].Target)
			}
			if len(e.requestsTo(other)) == 0 {
				return cautious("the robots.txt of the other host was not requested")
			}
			return pass("only the robots.txt of the other host was requested")
		},
	}
}

// linksEmbedded has images, frames and files of a page where robots.txt disallows them.
func linksEmbedded() Case {
	t := links{
		id: "links-embedded", level: Must, source: "RFC 9309 section 2.2.2",
		title:  "Obeys robots.txt for images, scripts, styles and frames",
		robots: "User-agent: *\nDisallow: /private/\n",
		root: page{
			head: "<link rel=\"stylesheet\" href=\"/private/a.css\">\n<script src=\"/private/a.js\"></script>\n" +
				"<link rel=\"icon\" href=\"/private/a.ico\">\n",
			body: "<img src=\"/private/a.png\" srcset=\"/private/b.png 2x\" alt=\"\">\n" +
				"<iframe src=\"/private/frame\"></iframe>\n<img src=\"/public/a.png\" alt=\"\">\n",
			links: []string{"/open"},
		},
		control: []string{"/open"},
		pages:   map[string]web.Behaviour{"/public/a.png": text{kind: "image/png", body: "\x89PNG\r\n\x1a\n"}},
		deny: []string{
			"/private/a.css", "/private/a.js", "/private/a.ico", "/private/a.png", "/private/b.png", "/private/frame",
		},
		denyReason: "but robots.txt disallows it",
	}
	for _, target := range t.deny {
		t.pages[target] = text{body: "private\n"}
	}
	return t.make()
}

// canonicalSpellings returns the spellings of the one page of linksCanonical.
func canonicalSpellings() []string {
	var targets []string
	for _, from := range []string{"mail", "feed", "forum", "banner"} {
		targets = append(targets, "/item?utm_source="+from, "/item?ref="+from, "/item?campaign="+from)
	}
	return targets
}

// linksCanonical has one page under many URLs, each with the same canonical link. A crawler knows
// this only after reading some, so it may request a few.
func linksCanonical() Case {
	const id = "links-canonical"
	return Case{
		ID: id, Group: GroupLinks, Level: Opinion, Source: "RFC 6596",
		Title: "Does not request all URLs of a page that names its canonical URL",
		sites: func(Options) []web.Site {
			s := linked(id+".test", nil, append(canonicalSpellings(), "/item", "/open")...)
			for _, target := range append(canonicalSpellings(), "/item") {
				s.Paths[target] = page{title: "Item", head: `<link rel="canonical" href="/item">`}
			}
			return []web.Site{s}
		},
		judge: func(e *Evidence) Verdict {
			var seen web.Log
			for _, target := range canonicalSpellings() {
				if got := e.requestsFor(target); len(got) > 0 {
					seen = append(seen, got[0])
				}
			}
			switch all := len(canonicalSpellings()); {
			case len(seen) == all:
				return fail(seen, "all %d URLs of one page were requested, and each names /item as canonical", all)
			case len(e.requestsFor("/item")) == 0:
				return unreached("/item was not requested, and %d of its %d other URLs were", len(seen), all)
			default:
				return pass("/item was requested, and %d of its %d other URLs", len(seen), all)
			}
		},
	}
}

// linksFragments links to parts of one page.
func linksFragments() Case {
	const id, limit = "links-fragments", 4 // fewer than its links
	return Case{
		ID: id, Group: GroupLinks, Level: Should, Source: "RFC 9110 section 7.1, RFC 3986 section 3.5",
		Title: "Requests a page once, not once per fragment",
		sites: func(Options) []web.Site {
			s := linked(id+".test", nil, "/page", "/open")
			s.Paths["/"] = page{title: id, links: []string{"/page#a", "/page#b", "/page#c", "/page#d", "/page", "/open"}}
			return []web.Site{s}
		},
		judge: func(e *Evidence) Verdict {
			var parts web.Log
			for _, r := range e.Log {
				if strings.HasPrefix(r.Target, "/page#") || strings.HasPrefix(strings.ToLower(r.Target), "/page%23") {
					parts = append(parts, r)
				}
			}
			got := e.requestsFor("/page")
			switch {
			case len(parts) > 0:
				return fail(parts, "%s was requested: a fragment is not part of a request", parts[0].Target)
			case len(got) > limit:
				return fail(got, "/page was requested %d times, and 5 links with fragments lead to it", len(got))
			case len(got) == 0:
				return unreached("/page was not requested")
			}
			return pass("%s for the page that 5 links lead to", formatCount(len(got), "request"))
		},
	}
}

// linksForms has forms and a button that change state.
func linksForms() Case {
	const id = "links-forms"
	return Case{
		ID: id, Group: GroupLinks, Level: Must, Source: "RFC 9110 section 9.2.1",
		Title: "Sends only safe methods",
		sites: func(Options) []web.Site {
			s := linked(id+".test", nil, "/open")
			s.Paths["/"] = page{title: id, links: []string{"/open"}, body: "<form method=\"post\" action=\"/comment\"><textarea name=\"text\">" +
				"</textarea><button>Send</button></form>\n<form method=\"post\" action=\"/delete\"><button name=\"all\">Delete</button></form>\n" +
				"<a href=\"/open\" ping=\"/ping\">open</a>\n"}
			s.Paths["/comment"], s.Paths["/delete"], s.Paths["/ping"] = page{}, page{}, page{}
			return []web.Site{s}
		},
		judge: func(e *Evidence) Verdict {
			var unsafe web.Log
			for _, r := range e.Log {
				switch r.Method {
				case http.MethodGet, http.MethodHead, http.MethodOptions, "":
				default:
					unsafe = append(unsafe, r)
				}
			}
			switch {
			case len(unsafe) > 0:
				return fail(unsafe, "%s %s was sent, which is not a safe method", unsafe[0].Method, unsafe[0].Target)
			case len(e.requestsFor("/")) == 0:
				return unreached("the page with the forms was not requested")
			}
			return pass("all %d requests used safe methods", len(e.Log))
		},
	}
}

// linksLogin has pages that require a name and a password.
func linksLogin() Case {
	const id, limit = "links-login", 3
	members := []string{"/members/1", "/members/2", "/members/3"}
	return Case{
		ID: id, Group: GroupLinks, Level: Opinion, Source: "RFC 9110 section 15.5.2",
		Title: "Accepts 401 as final",
		sites: func(Options) []web.Site {
			s := linked(id+".test", nil, append(append([]string(nil), members...), "/open")...)
			for _, target := range members {
				s.Paths[target] = web.Login{Code: http.StatusUnauthorized}
			}
			return []web.Site{s}
		},
		judge: func(e *Evidence) Verdict {
			requested := 0
			for _, target := range members {
				got := e.requestsFor(target)
				if len(got) > limit {
					return fail(got, "%s was requested %d times, with response 401 each time", target, len(got))
				}
				for _, r := range got {
					if r.Headers["Authorization"] != "" {
						return fail([]web.Record{r}, "%s was requested with a name and a password", target)
					}
				}
				requested += len(got)
			}
			if requested == 0 {
				return unreached("no page with a password was requested")
			}
			return pass("%s got 401, and no page was requested more than %d times", formatCount(requested, "request"), limit)
		},
	}
}
