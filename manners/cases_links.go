package manners

import (
	"slices"

	"github.com/mosey-web/mosey/manners/web"
)

const (
	sourceMeta   = "HTML 4.01 appendix B.4.1"
	sourceGoogle = "Google, robots meta tag and X-Robots-Tag"
	sourceRel    = "Google, qualify outbound links" // HTML does not define whether to follow
)

// linksCases returns the cases of followed links and their targets.
func linksCases() []Case {
	var cases []Case
	for _, t := range slices.Concat(linksMeta(), linksHeader(), linksRel(), linksReferences(), linksHTML(), linksRobots()) {
		cases = append(cases, t.make())
	}
	return append(cases, linksCanonical(), linksFragments(), linksForms(), linksLogin(),
		linksRedirects(), linksRedirectChain(), linksRedirectLoop(), linksRedirectHost(), linksEmbedded(), linksOtherHost())
}

// markedPageCase is a case of two pages: one marks its links, the other does not. A crawler that
// requests the links of the second page follows links from such pages.
func markedPageCase(id, title, source string, level Level, markedPage page) links {
	markedPage.links = []string{"/below/hidden"}
	return links{
		id: id, title: title, source: source, level: level,
		root:  page{links: []string{"/marked", "/open"}},
		first: []string{"/marked"}, control: []string{"/open"},
		pages: map[string]web.Behaviour{
			"/marked": markedPage, "/open": page{links: []string{"/below/open"}},
			"/below/hidden": page{}, "/below/open": page{},
		},
	}
}

// expectIgnored expects the links of the marked page not to be followed.
func expectIgnored(t links, reason string) links {
	t.control = append(t.control, "/below/open")
	t.deny, t.denyReason = []string{"/below/hidden"}, reason
	return t
}

// expectFollowed expects them to be followed like others.
func expectFollowed(t links) links {
	t.want = []string{"/below/hidden", "/below/open"}
	return t
}

// linksMeta returns the cases of robots meta elements.
func linksMeta() []links {
	ownName := expectIgnored(markedPageCase("links-meta-agent", "Obeys a meta element of its own name", sourceGoogle, Opinion,
		page{head: `<meta name="{agent}" content="nofollow">`}), "and the one page that links to it says nofollow to this crawler")
	ownName.agent = true
	return []links{
		expectIgnored(markedPageCase("links-meta-nofollow", "Follows no link of a page that says nofollow", sourceMeta, Should,
			page{head: `<META NAME="ROBOTS" CONTENT="Index, NoFollow">`}), "and the one page that links to it says nofollow"),
		expectIgnored(markedPageCase("links-meta-none", "Treats none as noindex and nofollow", sourceGoogle, Opinion,
			page{head: `<meta name="robots" content="none">`}), "and the one page that links to it says none"),
		ownName,
		expectFollowed(markedPageCase("links-meta-other", "Follows the links of a page that says nofollow to another crawler",
			sourceGoogle, Opinion,
			page{head: `<meta name="somebody-else" content="nofollow">`})),
		expectFollowed(markedPageCase("links-noindex", "Follows the links of a page that says noindex alone", sourceMeta, Opinion,
			page{head: `<meta name="robots" content="noindex">`})),
	}
}

// linksHeader returns the cases of X-Robots-Tag.
func linksHeader() []links {
	header := func(value string) page { return page{header: map[string]string{"X-Robots-Tag": value}} }
	ownName := expectIgnored(markedPageCase("links-header-agent", "Obeys an X-Robots-Tag of its own name", sourceGoogle, Opinion,
		header("{agent}: nofollow")), "and the one page that links to it says nofollow to this crawler in its header")
	ownName.agent = true
	return []links{
		expectIgnored(markedPageCase("links-header-nofollow", "Follows no link of a page whose X-Robots-Tag says nofollow", sourceGoogle, Opinion,
			header("noindex, nofollow")), "and the one page that links to it says nofollow in its header"),
		ownName,
		expectFollowed(markedPageCase("links-header-other",
			"Follows the links of a page whose X-Robots-Tag is for another crawler", sourceGoogle, Opinion,
			header("somebody-else: nofollow"))),
	}
}

// linksRel returns the cases of rel on links. ugc and sponsored concern ranking, and do not demand
// crawlers to leave a page alone.
func linksRel() []links {
	return []links{{
		id: "links-rel-nofollow", title: "Does not follow a link of rel=nofollow", source: sourceRel, level: Opinion,
		root: page{
			body:  `<a href="/hidden" rel="external NOFOLLOW">a link</a>`,
			links: []string{"/open"},
		},
		pages:   map[string]web.Behaviour{"/hidden": page{}},
		control: []string{"/open"},
		deny:    []string{"/hidden"}, denyReason: "and the one link to it says nofollow",
	}}
}
