package manners

import "github.com/mosey-web/mosey/manners/web"

// linksReferences returns the cases of resolving references.
func linksReferences() []links {
	return []links{{
		id: "links-base", level: Must, exact: true, source: "RFC 3986 section 5.1.1, HTML standard section 4.2.3",
		title: "Resolves references against the base element",
		root: page{
			head: "<base href=\"/deep/er/\">\n<base href=\"/second/\">\n", links: []string{"one", "../two", "/three"},
		},
		want: []string{"/deep/er/one", "/deep/two", "/three"},
		deny: []string{"/one", "/two", "/second/one", "/deep/one", "/deep/er/three"}, denyReason: "to which no link leads if the base is heeded",
	}, {
		id: "links-relative", level: Must, exact: true, source: "RFC 3986 section 5.2",
		title: "Resolves relative references and dot segments",
		root:  page{links: []string{"/x/y/page"}},
		first: []string{"/x/y/page"},
		pages: map[string]web.Behaviour{"/x/y/page": page{links: []string{
			"same", "./dot", "../up", "../../../../over", "/a/./b/../c", "?q=1",
		}}},
		want: []string{"/x/y/same", "/x/y/dot", "/x/up", "/over", "/a/c", "/x/y/page?q=1"},
		deny: []string{
			"/same", "/dot", "/up", "/x/y/page/same", "/x/y/./dot", "/x/y/../up", "/x/y/../../../../over", "/../../over",
			"/a/./b/../c", "/?q=1", "/x/y/?q=1",
		},
		denyReason: "to which no link leads",
	}, {
		id: "links-network-path", level: Must, exact: true, source: "RFC 3986 section 4.2",
		title:      "Reads // at the start of a reference as a host",
		root:       page{links: []string{"//links-network-path-2.test{port}/there", "/open"}},
		others:     []web.Site{site("links-network-path-2.test", map[string]web.Behaviour{"/": page{}, "/there": page{}})},
		control:    []string{"/open"},
		wantOther:  []string{"/there"},
		deny:       []string{"/there", "/links-network-path-2.test/there", "//links-network-path-2.test/there"},
		denyReason: "and the link to it is to another host",
	}, {
		id: "links-spaces", level: Should, exact: true, source: "URL standard section 4.4",
		title:      "Strips white space around references and the newlines in them",
		root:       page{links: []string{" \n\t/around  ", "/new\n\tline", "/in between"}},
		want:       []string{"/around", "/newline", "/in%20between"},
		deny:       []string{"/%20/around", "/new", "/new%0A%09line", "/new%20line", "/in"},
		denyReason: "to which no link leads",
	}, {
		id: "links-schemes", level: Must, source: "RFC 3986 section 5.2.2",
		title: "Requests nothing for links of other schemes",
		root: page{links: []string{
			"mailto:someone@example.org", "javascript:void(0)", "tel:+123456789", "data:text/plain,hello", "urn:isbn:0", "/open",
		}},
		control: []string{"/open"},
		deny: []string{
			"/mailto:someone@example.org", "/javascript:void(0)", "/tel:+123456789", "/data:text/plain,hello", "/urn:isbn:0",
			"/someone@example.org", "/void(0)", "/+123456789", "/text/plain,hello", "/isbn:0",
		},
		denyReason: "and the link is of another scheme than http",
	}, {
		id: "links-charset", level: Should, exact: true, source: "URL standard section 4.4, HTML standard section 13.2.3",
		title: "Encodes paths in UTF-8, whatever the encoding of the page",
		root:  page{links: []string{"/latin"}},
		first: []string{"/latin"},
		pages: map[string]web.Behaviour{
			"/latin": text{
				kind: "text/html; charset=windows-1252",
				body: "<!doctype html><title>Latin</title><p><a href=\"/caf\xe9\">a link</a></p>\n",
			},
			"/caf%C3%A9": page{},
		},
		want:       []string{"/caf%C3%A9"},
		deny:       []string{"/caf%E9", "/caf\xe9", "/caf%EF%BF%BD", "/caf", "/caf%C3%83%C2%A9"},
		denyReason: "to which no link leads",
	}}
}

// linksHTML returns the cases of links in HTML.
func linksHTML() []links {
	return []links{{
		id: "links-entities", level: Should, exact: true, source: "HTML standard, character reference state",
		title: "Decodes character references in links",
		root: page{body: `<a href="/list?a=1&amp;b=2">one</a> <a href="/tom&#38;jerry">two</a> <a href='/old?a=1&copy=2'>three</a>` +
			` <a href=/quoteless>four</a>`},
		pages:      map[string]web.Behaviour{"/list?a=1&b=2": page{}},
		want:       []string{"/list?a=1&b=2", "/tom&jerry", "/old?a=1&copy=2", "/quoteless"},
		deny:       []string{"/list?a=1&amp;b=2", "/list?a=1&amp%3Bb=2", "/list?a=1", "/tom&#38;jerry", "/tom&", "/tom", "/old?a=1%C2%A9=2"},
		denyReason: "to which no link leads once character references are decoded",
	}, {
		id: "links-comments", level: Opinion, source: "HTML standard, comment state and script element",
		title: "Ignores links in comments and scripts",
		root: page{
			head: "<!-- <a href=\"/in-comment\">old</a> -->\n",
			body: "<script>\nvar menu = '<a href=\"/in-script\">menu</a>';\n</script>\n" +
				"<textarea><a href=\"/in-text\">text</a></textarea>\n",
			links: []string{"/open"},
		},
		pages:   map[string]web.Behaviour{"/in-comment": page{}, "/in-script": page{}, "/in-text": page{}},
		control: []string{"/open"},
		deny:    []string{"/in-comment", "/in-script", "/in-text"}, denyReason: "and no element of the page links to it",
	}, {
		id: "links-types", level: Opinion, source: "RFC 9110 section 8.3, MIME Sniffing standard section 7",
		title: "Reads no file as HTML that has another Content-Type",
		root:  page{links: []string{"/file/octets", "/file/text", "/file/html"}},
		// A crawler need not request files that it cannot read: the first of them are no control.
		control: []string{"/file/html", "/below/html"},
		pages: map[string]web.Behaviour{
			"/file/octets": text{kind: "application/octet-stream", body: `<!doctype html><a href="/below/octets">a link</a>`},
			"/file/text": text{
				kind: "text/plain", header: map[string]string{"X-Content-Type-Options": "nosniff"},
				body: `<!doctype html><a href="/below/text">a link</a>`,
			},
			"/file/html":    page{links: []string{"/below/html"}},
			"/below/octets": page{}, "/below/text": page{},
		},
		deny: []string{"/below/octets", "/below/text"}, denyReason: "and the one file that names it is no HTML by its Content-Type",
	}}
}

// linksRobots returns the cases of links that robots.txt disallows, in all forms but anchors.
func linksRobots() []links {
	const robots = "User-agent: *\nDisallow: /private/\n"
	const denied = "but robots.txt disallows it"
	return []links{{
		id: "links-redirect-robots", level: Must, source: "RFC 9309 section 2.2.2",
		title:  "Follows no redirect to a disallowed URL",
		robots: robots,
		root:   page{links: []string{"/go/in", "/go/out"}},
		first:  []string{"/go/in"},
		pages: map[string]web.Behaviour{
			"/go/in": web.Redirect{Code: 302, To: "/private/in"}, "/private/in": page{},
			"/go/out": web.Redirect{Code: 302, To: "/out"},
		},
		want: []string{"/go/out", "/out"}, deny: []string{"/private/in"}, denyReason: denied,
	}, {
		id: "links-refresh-robots", level: Must, source: "RFC 9309 section 2.2.2",
		title:  "Follows no meta refresh to a disallowed URL",
		robots: robots,
		root:   page{links: []string{"/go", "/open"}},
		first:  []string{"/go"},
		pages: map[string]web.Behaviour{
			"/go": page{head: `<meta http-equiv="refresh" content="0; url=/private/in">`}, "/private/in": page{},
		},
		want: []string{"/open"}, deny: []string{"/private/in"}, denyReason: denied,
	}, {
		id: "links-sitemap", level: Must, source: "RFC 9309 section 2.2.2, sitemaps.org protocol",
		title:  "Reads the sitemap that robots.txt names, and obeys robots.txt for its URLs",
		robots: robots + "Sitemap: http://links-sitemap.test{port}/map.xml\n",
		root:   page{links: []string{"/open"}},
		pages: map[string]web.Behaviour{
			"/map.xml": text{kind: "application/xml", body: `<?xml version="1.0" encoding="UTF-8"?>` + "\n" +
				`<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">` +
				`<url><loc>http://links-sitemap.test{port}/listed</loc></url>` +
				`<url><loc>http://links-sitemap.test{port}/private/listed</loc></url></urlset>` + "\n"},
			"/private/listed": page{},
		},
		want: []string{"/open", "/map.xml", "/listed"}, deny: []string{"/private/listed"}, denyReason: denied,
	}}
}
