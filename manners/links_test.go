package manners_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/manners"
)

// linkScripts has a client for each case of links that passes, and one that does not.
func linkScripts() []scripted {
	const closed = "/robots.txt / /marked /open /below/open"
	const hidden = closed + " /below/hidden"
	var cases []scripted
	for _, id := range []string{
		"links-meta-nofollow", "links-meta-none", "links-meta-agent", "links-header-nofollow", "links-header-agent",
	} {
		cases = append(cases, scripted{id: id, good: asks(closed), bad: asks(hidden), reason: "/below/hidden was requested"})
	}
	for _, id := range []string{"links-meta-other", "links-noindex", "links-header-other"} {
		cases = append(cases, scripted{
			id: id, good: asks(hidden), bad: asks(closed), want: manners.Cautious, reason: "1 of 2 links not followed: /below/hidden",
		})
	}
	cases = append(cases, scripted{
		id: "links-rel-nofollow", good: asks("/robots.txt / /open"), bad: asks("/robots.txt / /hidden /open"),
		reason: "/hidden was requested",
	})
	return append(cases, referenceScripts()...)
}

func referenceScripts() []scripted {
	return []scripted{{
		id: "links-base", good: asks("/robots.txt / /deep/er/one /deep/two /three"), bad: asks("/robots.txt / /one /three"),
		reason: "/one was requested",
	}, {
		id: "links-relative", good: asks("/ /x/y/page /x/y/same /x/y/dot /x/up /over /a/c /x/y/page?q=1"),
		bad: asks("/ /x/y/page /x/y/../up"), reason: "/x/y/../up was requested",
	}, {
		id: "links-network-path", good: asks("/ /open links-network-path-2.test/there"),
		bad: asks("/ /open //links-network-path-2.test:80/there"), reason: "to which no link leads",
	}, {
		id: "links-spaces", good: asks("/ /around /newline /in%20between"), bad: asks("/ /%20%0A%09/around%20%20"),
		reason: "to which no link leads",
	}, {
		id: "links-schemes", good: asks("/ /open"), bad: asks("/ /open /mailto:someone@example.org"), reason: "another scheme",
	}, {
		id: "links-charset", good: asks("/ /latin /caf%C3%A9"), bad: asks("/ /latin /caf%E9"), reason: "/caf%E9 was requested",
	}, {
		id: "links-entities", good: asks("/ /list?b=2&a=1 /tom&jerry /old?a=1&copy=2 /quoteless"),
		bad: asks("/ /list?a=1&amp;b=2"), reason: "&amp;",
	}, {
		id: "links-comments", good: asks("/ /open"), bad: asks("/ /open /in-script"), reason: "no element",
	}, {
		id: "links-types", good: asks("/ /file/octets /file/html /below/html"),
		bad: asks("/ /file/octets /file/html /below/html /below/octets"), reason: "no HTML by its Content-Type",
	}, {
		id: "links-redirect-robots", good: asks("/robots.txt / /go/in /go/out /out"), bad: asks("/robots.txt / /go/in /private/in"),
		reason: "robots.txt disallows it",
	}, {
		id: "links-refresh-robots", good: asks("/robots.txt / /go /open"), bad: asks("/robots.txt / /go /private/in"),
		reason: "robots.txt disallows it",
	}, {
		id: "links-sitemap", good: asks("/robots.txt /map.xml /listed / /open"), bad: asks("/robots.txt /map.xml /listed /private/listed / /open"),
		reason: "robots.txt disallows it",
	}, {
		id:   "links-redirects",
		good: asks("/ /go/301 /to/301 /go/302 /to/302 /go/303 /to/303 /go/307 /to/307 /go/308 /go/308/to"),
		bad:  asks("/ /go/301 /to/301 /go/302 /go/../to/302"), reason: "to which no redirect leads",
	}, {
		id: "links-redirect-chain", good: asks("/ /hop/1 /hop/2 /hop/3 /hop/4 /hop/5 /hop/6"), bad: asks("/ /hop/1 /hop/2 /hop/3"),
		want: manners.Cautious, reason: "3 of 5 links",
	}, {
		id: "links-redirect-loop", good: asks("/ /self /self /loop/1 /loop/2 /loop/1 /open"),
		bad: asks("/ /self" + repeat(" /loop/1 /loop/2", 11)), reason: "22 requests",
	}, {
		id: "links-redirect-host", good: asks("/robots.txt / /go/in links-redirect-host-2.test/robots.txt /go/out links-redirect-host-2.test/out"),
		bad: asks("/robots.txt / /go/out links-redirect-host-2.test/out"), reason: "robots.txt never",
	}, {
		id: "links-elsewhere", good: asks("/robots.txt / links-elsewhere-2.test/robots.txt /open"),
		bad: asks("/robots.txt / links-elsewhere-2.test/robots.txt links-elsewhere-2.test/a"), reason: "disallows everything",
	}, {
		id: "links-embedded", good: asks("/robots.txt / /public/a.png /open"), bad: asks("/robots.txt / /private/b.png /open"),
		reason: "/private/b.png was requested",
	}, {
		id: "links-canonical", good: asks("/ /item?utm_source=mail /item?ref=mail /item /open"),
		bad: asks("/ /item" + trackedTargets()), reason: "all 12 URLs",
	}, {
		id: "links-fragments", good: asks("/ /page /open"), bad: asks("/ /page#a /page /open"), reason: "a fragment",
	}, {
		id: "links-forms", good: asks("/robots.txt / /open"), bad: post, reason: "POST /comment",
	}, {
		id: "links-login", good: asks("/ /members/1 /members/2 /members/3 /open"), bad: asks("/" + repeat(" /members/2", 4)),
		reason: "4 times",
	}}
}

func TestLinks(t *testing.T) {
	t.Parallel()
	cases := linkScripts()
	complete(t, manners.GroupLinks, cases)
	play(t, cases)
}

// A client that reads robots.txt alone shows nothing, and breaks nothing.
func TestLinksUnreached(t *testing.T) {
	t.Parallel()
	for _, c := range manners.Cases() {
		if c.Group != manners.GroupLinks {
			continue
		}
		t.Run(c.ID, func(t *testing.T) {
			t.Parallel()
			got := run(t, c.ID, visitorAgent, asks("/robots.txt"))
			if c.ID == "links-forms" || c.ID == "links-fragments" {
				require.NotEqual(t, manners.Fail, got.Result, got.Reason)
				return
			}
			require.Equal(t, manners.Unreached, got.Result, got.Reason)
		})
	}
}

// More ways to be wrong, each of which the case has to see.
func TestLinksWrong(t *testing.T) {
	t.Parallel()
	play(t, []scripted{{
		id: "links-relative", good: asks("/ /x/y/page /x/y/same /x/y/dot /x/up /over /a/c /x/y/page?q=1"),
		bad: asks("/ /x/y/page /x/y/x/y/nonsense"), reason: "to which no link leads",
	}, {
		id: "links-fragments", good: asks("/ /page /page"), bad: asks("/" + repeat(" /page", 5)), reason: "5 times",
	}, {
		id: "links-login", good: asks("/ /members/1"), bad: guess, reason: "a name and a password",
	}, {
		id: "links-redirect-loop", good: asks("/ /self /loop/1"), bad: asks("/" + repeat(" /self", 22)), reason: "22 requests",
	}, {
		id: "links-network-path", good: asks("/ /open links-network-path-2.test/there /favicon.ico"),
		bad: asks("/ /open /favicon.ico /llms.txt"), want: manners.Cautious, reason: "/there",
	}})
}
