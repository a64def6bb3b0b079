package manners

import (
	"fmt"
	"strings"
	"time"

	"github.com/mosey-web/mosey/manners/web"
)

// maxTrapPages bounds the requested pages of a trap. A crawler cannot know a trap before it has
// seen some: eight years of a calendar can be real. At the usual delay of a second, 100 requests
// take less than two minutes and do a site no harm.
const maxTrapPages = 100

// trapCases returns the cases of endless spaces of pages.
func trapCases() []Case {
	trap := func(id, title, source, prefix string, shape web.TrapShape) Case {
		return Case{
			ID: id, Group: GroupSafety, Level: Opinion, Title: title, Source: source,
			sites: func(Options) []web.Site {
				s := site(id+".test", map[string]web.Behaviour{"/beside": page{}})
				s.Paths["/"] = page{title: id, links: []string{trapEntrance(shape), "/beside"}}
				s.Trap = shape
				return []web.Site{s}
			},
			judge: func(e *Evidence) Verdict {
				return leavesTrap(e, func(target string) bool { return strings.HasPrefix(target, prefix) })
			},
		}
	}
	const dupes = "Heritrix manual, crawler traps; RFC 3986 section 6"
	return []Case{
		trap("trap-calendar", "Leaves an endless calendar", "Heritrix manual, crawler traps", "/calendar/", web.TrapCalendar),
		trap("trap-facets", "Leaves an endless combination of search filters", "Google, managing faceted navigation URLs",
			"/search?", web.TrapQuery),
		trap("trap-paths", "Leaves endlessly repeating paths", "Heritrix manual, crawler traps", "/a/", web.TrapPaths),
		trap("trap-session", "Recognizes pages with a session id in the query", dupes, "/shop/", web.TrapSession),
		trap("trap-session-path", "Recognizes pages with a session id in the path", dupes, "/s/", web.TrapSessionPath),
		trapRedirects(),
	}
}

// trapEntrance returns the entrance of a trap.
func trapEntrance(shape web.TrapShape) string {
	return map[web.TrapShape]string{
		web.TrapCalendar: "/calendar/2026/11", web.TrapPaths: "/a/b/", web.TrapQuery: "/search?page=1",
		web.TrapSession: "/shop/1?sid=0", web.TrapSessionPath: "/s/0/shop/1",
	}[shape]
}

// trapRedirects is a chain of redirects without an end or a circle. A crawler that treats each as a
// new page is bounded as in other traps.
func trapRedirects() Case {
	const id = "trap-redirects"
	return Case{
		ID: id, Group: GroupSafety, Level: Opinion, Source: "RFC 9110 section 15.4; Fetch standard, HTTP-redirect fetch",
		Title: "Leaves endless redirects",
		sites: func(Options) []web.Site {
			s := site(id+".test", map[string]web.Behaviour{"/beside": page{}})
			s.Paths["/"] = page{title: id, links: []string{"/hop/1", "/beside"}}
			s.Trap = web.TrapRedirects
			return []web.Site{s}
		},
		judge: func(e *Evidence) Verdict {
			return leavesTrap(e, func(target string) bool { return strings.HasPrefix(target, "/hop/") })
		},
	}
}

// leavesTrap judges that at most maxTrapPages pages of a trap were requested, and that the crawler
// had left it before the run ended.
func leavesTrap(e *Evidence, in func(target string) bool) Verdict {
	var got web.Log
	distinct := make(map[string]bool)
	for _, r := range e.Log {
		if r.Host != "" && in(r.Target) {
			got = append(got, r)
			distinct[r.Target] = true
		}
	}
	switch n := len(got); {
	case len(distinct) > maxTrapPages:
		return fail(got[n-1:], "%d pages of the trap were requested in %s, want at most %d",
			len(distinct), roundDuration(got[n-1].Start-got[0].Start), maxTrapPages)
	case n == 0 && len(e.requestsFor("/")) == 0:
		return unreached("the page that leads into the trap was not requested")
	case n == 0 && len(e.requestsFor("/beside")) == 0:
		return unreached("no link of the page that leads into the trap was followed")
	case n == 0:
		return cautious("no page of the trap was requested, and a page beside it was")
	}
	if e.endsWith(Ended) {
		return pass("%s of the trap requested, and the crawler has ended", formatCount(len(distinct), "page"))
	}
	last := got[len(got)-1]
	// A crawler still inside would have continued at its earlier pace.
	pace := got
	if len(got) == 1 {
		pace = e.Log
	}
	idleTime, wait := e.end()-last.End, 2*longestGap(pace, e.Delay)+time.Second
	if last.InFlight || idleTime < wait {
		return unreached("the run ended %s after the last of %s into the trap: too short to show whether the crawler leaves",
			roundDuration(max(idleTime, 0)), formatCount(len(got), "request"))
	}
	return pass("%s of the trap requested, and none in the last %s of the run", formatCount(len(distinct), "page"), roundDuration(idleTime))
}

// longestGap returns the longest time between the starts of two requests in a row, at least the
// delay.
func longestGap(log web.Log, delay time.Duration) time.Duration {
	gap := delay
	for i := 1; i < len(log); i++ {
		gap = max(gap, log[i].Start-log[i-1].Start)
	}
	return gap
}

// manyLinks is a page of a million links, all disallowed by robots.txt. A polite crawler only has
// to read it.
func manyLinks() Case {
	const count = 1_000_000
	t := survivalCase{
		id: "bomb-links", title: "Survives a page of a million links", source: "Heritrix manual, max outlinks",
		answer: web.ManyLinks{Links: count}, robots: "User-agent: *\nDisallow: /l/\n",
	}
	t.description = fmt.Sprintf("a page of %d links", count)
	return t.make()
}
