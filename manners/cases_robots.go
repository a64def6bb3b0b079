package manners

import (
	"fmt"
	"strings"

	"github.com/mosey-web/mosey/manners/web"
)

// robotsCases returns the cases of the content of robots.txt.
func robotsCases() []Case {
	tables := [][]rules{robotsGroups(), robotsMatches(), robotsTexts()}
	var cases []Case
	for _, table := range tables {
		for _, t := range table {
			cases = append(cases, t.make())
		}
	}
	return append(cases, robotsOrigin(), robotsCached())
}

// robotsGroups returns the cases of selecting the crawler's group of lines.
func robotsGroups() []rules {
	return []rules{{
		id: "robots-first", section: "2.3", title: "Reads robots.txt before the first page",
		robots: "User-agent: *\nDisallow: /private/\n",
		allow:  []string{"/a"}, deny: []string{"/private/"},
	}, {
		id: "robots-deny-all", section: "2.2.2", title: "Requests nothing if everything is disallowed",
		robots: "User-agent: *\nDisallow: /\n", deny: []string{"/", "/a"},
	}, {
		id: "robots-own-group", section: "2.2.1", title: "Obeys its own group, not the group *",
		robots: "User-agent: *\nDisallow: /\n\nUser-agent: {agent}\nDisallow: /own/\n", agent: true,
		allow: []string{"/a"}, deny: []string{"/own/"},
	}, {
		id: "robots-own-group-case", section: "2.2.1", title: "Finds its name in upper case",
		robots: "User-agent: *\nDisallow: /\n\nuser-AGENT: {AGENT}\nDISALLOW: /own/\n", agent: true,
		allow: []string{"/a"}, deny: []string{"/own/"},
	}, {
		id: "robots-own-group-split", section: "2.2.1", title: "Joins two groups of its own name",
		robots: "User-agent: {agent}\nDisallow: /one/\n\nUser-agent: *\nDisallow: /a\n\nUser-agent: {agent}\nDisallow: /two/\n",
		agent:  true, allow: []string{"/a"}, deny: []string{"/one/", "/two/"},
	}, {
		id: "robots-own-group-list", section: "2.2", title: "Finds its name among several that share lines",
		robots: "User-agent: somebody-else\nUser-agent: {agent}\nDisallow: /own/\n\nUser-agent: *\nDisallow: /a\n",
		agent:  true, allow: []string{"/a"}, deny: []string{"/own/"},
	}, {
		id: "robots-other-group", section: "2.2.1", title: "Ignores groups of other crawlers",
		robots: "User-agent: somebody-else\nDisallow: /\n\nUser-agent: *\nDisallow: /private/\n",
		allow:  []string{"/a"}, deny: []string{"/private/"},
	}, {
		id: "robots-unknown-between", section: "2.2.4", title: "Keeps a group together around unknown lines",
		robots: "User-agent: *\nSitemap: http://robots-unknown-between.test{port}/none.xml\nNonsense: 1\nDisallow: /private/\n",
		allow:  []string{"/a"}, deny: []string{"/private/"},
	}}
}

// robotsMatches returns the cases of matching paths to rules.
func robotsMatches() []rules {
	return []rules{{
		id: "robots-longest", section: "2.2.2", title: "Follows the rule that matches the most octets",
		robots: "User-agent: *\nAllow: /example/page/\nDisallow: /example/page/disallowed.gif\nDisallow: /example/\n",
		allow:  []string{"/example/page/"}, deny: []string{"/example/page/disallowed.gif", "/example/other"},
	}, {
		id: "robots-tie", section: "2.2.2", level: Should, title: "Allows if an allow and a disallow match equally long",
		robots: "User-agent: *\nDisallow: /same\nAllow: /same\nDisallow: /private/\n",
		allow:  []string{"/same"}, deny: []string{"/private/"},
	}, {
		id: "robots-case", section: "2.2.2", title: "Distinguishes upper and lower case in paths",
		robots: "User-agent: *\nDisallow: /Private/\n",
		allow:  []string{"/private/"}, deny: []string{"/Private/"},
	}, {
		id: "robots-wildcard", section: "2.2.3", title: "Matches * with any octets",
		robots: "User-agent: *\nDisallow: /*/print\n",
		allow:  []string{"/print"}, deny: []string{"/a/print", "/a/b/print?x=1"},
	}, {
		id: "robots-end", section: "2.2.3", title: "Matches $ with the end of the path",
		robots: "User-agent: *\nDisallow: /*.php$\n",
		allow:  []string{"/a.php?x=1"}, deny: []string{"/a.php"},
	}, {
		id: "robots-query", section: "2.2.2", title: "Matches the query as part of the path",
		robots: "User-agent: *\nDisallow: /list?sort=\n",
		allow:  []string{"/list"}, deny: []string{"/list?sort=name"},
	}, {
		id: "robots-percent", section: "2.2.2", title: "Compares octets of UTF-8 and their percent-encoding as equal",
		robots: "User-agent: *\nDisallow: /caf\u00e9\nDisallow: /%E6%97%A5\n",
		allow:  []string{"/cafe"}, deny: []string{"/caf%C3%A9", "/%E6%97%A5%E6%9C%AC"},
	}, {
		id: "robots-empty-rule", section: "2.2.2", title: "Treats an empty Disallow as no rule",
		robots: "User-agent: *\nDisallow:\n", allow: []string{"/a"},
	}, {
		id: "robots-prefix", section: "2.2.2", title: "Matches rules from the start of the path",
		robots: "User-agent: *\nDisallow: /fish\n",
		allow:  []string{"/Fish", "/catfish"}, deny: []string{"/fish.html", "/fish/salmon"},
	}}
}

// robotsTexts returns the cases of the syntax of robots.txt.
func robotsTexts() []rules {
	const private = "User-agent: *\nDisallow: /private/\n"
	plain := func(id, title, section, body string) rules {
		return rules{id: id, section: section, title: title, robots: body, allow: []string{"/a"}, deny: []string{"/private/"}}
	}
	bom := plain("robots-bom", "Reads a robots.txt that begins with a byte order mark", "2.3", "\ufeff"+private)
	bom.level = Should
	cr := plain("robots-cr", "Reads lines that end in CR alone", "2.2", strings.ReplaceAll(private, "\n", "\r"))
	return []rules{
		bom, cr,
		plain("robots-crlf", "Reads lines that end in CR and LF", "2.2", strings.ReplaceAll(private, "\n", "\r\n")),
		plain("robots-comments", "Skips comments", "2.2",
			"# all\nUser-agent: * # everybody\n# a comment between\nDisallow: /private/ # not here\n#Disallow: /a\n"),
		plain("robots-spaces", "Skips white space around names and values", "2.2",
			"  User-agent  :   *  \n\tDisallow\t:\t/private/\t\n"),
		plain("robots-no-newline", "Reads a last line without a line end", "2.2", strings.TrimSuffix(private, "\n")),
		plain("robots-long", "Reads at least 500 KiB", "2.5", longRobots()),
		plain("robots-garbage", "Skips malformed lines and reads the others", "2.3.1.5",
			"\x00\x01\x02 garbage \xff\xfe\n<html>\n:::\nDisallow\n"+private+"\x00\n= = =\n"),
	}
}

// longRobots has its rule among the last lines before 500 KiB.
func longRobots() string {
	const limit = 500 << 10
	rule := "Disallow: /private/\n"
	var b strings.Builder
	b.WriteString("User-agent: *\n")
	for i := 0; b.Len() < limit-len(rule)-64; i++ {
		fmt.Fprintf(&b, "Disallow: /nothing-here/%d\n", i)
	}
	b.WriteString(rule)
	for b.Len() < limit+100<<10 {
		b.WriteString("# past what a crawler has to read\n")
	}
	return b.String()
}

// robotsOrigin has two hosts, because the rules of one do not apply to the other.
func robotsOrigin() Case {
	const id, other = "robots-origin", "robots-origin-www.test"
	return Case{
		ID: id, Group: GroupRobots, Level: Must, Source: "RFC 9309 section 2.3",
		Title: "Reads the robots.txt of each host that a link leads to",
		sites: func(Options) []web.Site {
			first := linked(id+".test", text{body: "User-agent: *\nAllow: /\n"},
				"/a", "http://"+other+"{port}/shared", "http://"+other+"{port}/private/")
			second := linked(other, text{body: "User-agent: *\nDisallow: /private/\n"}, "/shared")
			return []web.Site{first, second}
		},
		judge: func(e *Evidence) Verdict {
			return worstVerdict(judgeRules(e, other, []string{"/shared"}, []string{"/private/"}), judgeRules(e, e.host, []string{"/a"}, nil))
		},
	}
}

// robotsCached has three pages: one robots.txt is enough for them.
func robotsCached() Case {
	const id = "robots-kept"
	return Case{
		ID: id, Group: GroupRobots, Level: Should, Source: "RFC 9309 section 2.4",
		Title: "Caches robots.txt for the next pages",
		sites: func(Options) []web.Site {
			return []web.Site{linked(id+".test", text{body: "User-agent: *\nDisallow:\n"}, "/a", "/b", "/c")}
		},
		judge: func(e *Evidence) Verdict {
			got := e.requestsFor(robotsPath)
			if limit := 2; len(got) > limit {
				return fail(got, "robots.txt was requested %d times in %d requests", len(got), len(e.Log))
			}
			return judgeRules(e, e.host, []string{"/a", "/b", "/c"}, nil)
		},
	}
}
