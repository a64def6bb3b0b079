package manners_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/mosey-web/mosey/manners"
)

// robotsPlots are plots of all cases about robots.txt.
func robotsPlots() []plotted {
	cases := []plotted{{
		id: "robots-changes", good: "/robots.txt / /a1 /robots.txt", bad: "/robots.txt / /robots.txt +1s /a1",
		reason: "the newest robots.txt disallows everything",
	}, {
		id: "robots-kept", good: "/robots.txt / /a /b /c", bad: "/robots.txt / /robots.txt /a /robots.txt /b /c",
		reason: "robots.txt was requested 3 times",
	}, {
		id: "robots-origin", good: "/robots.txt / /a robots-origin-www.test/robots.txt robots-origin-www.test/shared",
		bad:    "/robots.txt / /a robots-origin-www.test/robots.txt robots-origin-www.test/private/",
		reason: "/private/ was requested, but robots.txt disallows it",
	}, {
		id: "robots-redirect-host", good: "/robots.txt robots-redirect-host-2.test/robots.txt / /a", bad: "/robots.txt / /a",
		reason: "the redirect was not followed",
	}, {
		id: "robots-redirects", good: "/robots.txt /r/1 /r/2 /r/3 /r/4 /r/5 / /a", bad: "/robots.txt /r/1 /",
		reason: "before the redirects of robots.txt had been followed",
	}, {
		id: "robots-returns", good: "/robots.txt /robots.txt / /a", bad: "/robots.txt /",
		reason: "while robots.txt was unavailable",
	}}
	for _, c := range manners.RuledCases() {
		first := "/robots.txt"
		if c.ID == "robots-hang" {
			first += "!" // there is no answer to wait for
		}
		p := plotted{id: c.ID, good: plot(first)}
		if !slices.Contains(c.Deny, "/") {
			p.good = plot(first + " / " + strings.Join(c.Allow, " "))
		}
		if len(c.Deny) == 0 {
			p.bad, p.reason = plot("/ "+first), "before robots.txt had a response"
		} else {
			last := c.Deny[len(c.Deny)-1]
			p.bad, p.reason = plot(first+" "+last), last+" was requested, but robots.txt disallows it"
		}
		cases = append(cases, p)
	}
	return cases
}

func TestRobots(t *testing.T) {
	t.Parallel()
	cases := robotsPlots()
	plotsComplete(t, manners.GroupRobots, cases)
	playPlots(t, cases)
}
