package web

import (
	"fmt"
	"strconv"
	"strings"
)

// addSpecials adds the pages that are not numbered: private ones, ones behind nofollow, redirects
// of all sorts, missing pages and other content.
func (p *Plan) addSpecials(s *site) {
	if s.Plain && s.SitemapPages == 0 && s.FeedItems == 0 {
		return
	}
	s.special = make(map[string]resource)
	add := func(path string, res resource) {
		res.index = -1
		if res.behaviour == nil {
			res.behaviour = s.Behaviour
		}
		s.special[path] = res
		if res.linked != linkNone {
			s.order = append(s.order, path)
		}
	}
	if s.FeedItems > 0 {
		p.addFeed(s, add)
	}
	if s.Plain {
		if s.SitemapPages > 0 {
			p.addSitemap(s, add)
		}
		return
	}
	p.addPages(add)
	p.addRedirects(s, add)
	for path, code := range map[string]int{"/missing": 404, "/gone": 410, "/forbidden": 403} {
		s.special[path] = resource{behaviour: Status{Code: code}, index: -1, linked: linkPlain}
	}
	s.order = append(s.order, "/missing", "/gone", "/forbidden")
	p.addSitemap(s, add)
	add("/files/report", resource{content: pdf, ctype: "application/pdf", linked: linkPlain})
	add("/files/photo", resource{content: png, ctype: "image/png", linked: linkPlain})
	for i := range 10 {
		add("/img/"+strconv.Itoa(i)+".png", resource{content: png, ctype: "image/png"})
	}
}

// sitemapPath is the sitemap that a crawler requests if robots.txt names no other.
const sitemapPath = "/sitemap.xml"

// addSitemap lists numbered pages, or pages without links to them.
func (p *Plan) addSitemap(s *site, add func(string, resource)) {
	var listed []string
	for n := range s.SitemapPages {
		listed = append(listed, fmt.Sprintf("/p/%d", n+1))
	}
	if s.SitemapPages == 0 {
		listed = []string{"/listed/1", "/listed/2"}
		for _, path := range listed {
			add(path, resource{})
		}
	}
	var file strings.Builder
	file.WriteString(`<?xml version="1.0" encoding="UTF-8"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">`)
	for _, path := range listed {
		fmt.Fprintf(&file, "<url><loc>%s</loc><lastmod>2026-01-02</lastmod></url>", p.URL(s.Host, path))
	}
	file.WriteString("</urlset>")
	add(sitemapPath, resource{content: file.String(), ctype: "application/xml", to: listed})
}

// feedPath is the feed that the first page of a site with FeedItems names.
const feedPath = "/feed.xml"

// addFeed adds a feed of RSS 2.0 that lists the last numbered pages.
func (p *Plan) addFeed(s *site, add func(string, resource)) {
	var listed []string
	var file strings.Builder
	fmt.Fprintf(&file, `<?xml version="1.0" encoding="UTF-8"?><rss version="2.0"><channel><title>%s</title><link>%s</link>`,
		s.Host, p.URL(s.Host, "/"))
	for n := range min(s.FeedItems, s.Pages) {
		path := pagePath(s.Pages - n)
		listed = append(listed, path)
		fmt.Fprintf(&file, "<item><title>%s</title><link>%s</link><pubDate>Fri, 02 Jan 2026 00:00:00 GMT</pubDate></item>",
			path, p.URL(s.Host, path))
	}
	file.WriteString("</channel></rss>")
	add(feedPath, resource{content: file.String(), ctype: "application/rss+xml", to: listed})
}

func (p *Plan) addPages(add func(string, resource)) {
	for _, path := range []string{
		"/private/1", "/private/2", "/private/open", "/p/1/print",
	} {
		add(path, resource{linked: linkPlain})
	}
	add("/q?b=2&a=1", resource{linked: linkPlain, href: "/q?b=2&utm_campaign=x&a=1"})
	add("/caf%C3%A9", resource{linked: linkPlain, href: "/café"})
	add("/nf/1", resource{linked: linkNofollow})
	add("/nf/2", resource{linked: linkNofollow})
	metas := []struct {
		path, tag, below string
		nofollow         bool
	}{
		{"/meta/noindex", `<meta name="robots" content="noindex">`, "/below/1", false},
		{"/meta/nofollow", `<meta name="ROBOTS" content="index, NoFollow">`, "/hidden/1", true},
		{"/meta/none", `<meta name="robots" content="none">`, "/hidden/2", true},
		{"/meta/mosey", `<meta name="mosey" content="nofollow">`, "/hidden/3", true},
	}
	for _, m := range metas {
		add(m.path, resource{
			meta: m.tag, nofollow: m.nofollow, to: []string{m.below}, linked: linkPlain,
		})
		add(m.below, resource{})
	}
}

func (p *Plan) addRedirects(s *site, add func(string, resource)) {
	redirect := func(path string, kind linkStyle, b Redirect) {
		add(path, resource{behaviour: b, linked: kind})
	}
	redirect("/redirect/301", linkPlain, Redirect{To: "/landing/1"})
	redirect("/redirect/302", linkPlain, Redirect{Code: 302, To: "../landing/2#part"})
	redirect("/redirect/307", linkPlain, Redirect{Code: 307, To: p.URL(s.Host, "/landing/3")})
	redirect("/redirect/308", linkPlain, Redirect{Code: 308, To: "//" + p.authority(s.Host) + "/landing/4"})
	for i := range 4 {
		add("/landing/"+strconv.Itoa(i+1), resource{})
	}
	redirect("/redirect/chain/1", linkPlain, Redirect{Code: 302, To: "/redirect/chain/2"})
	redirect("/redirect/chain/2", linkNone, Redirect{Code: 302, To: "/redirect/chain/3"})
	redirect("/redirect/chain/3", linkNone, Redirect{Code: 302, To: "/redirect/chain/4"})
	redirect("/redirect/chain/4", linkNone, Redirect{Code: 302, To: "/landing/1"})
	redirect("/redirect/loop/1", linkPlain, Redirect{Code: 302, To: "/redirect/loop/2"})
	redirect("/redirect/loop/2", linkNone, Redirect{Code: 302, To: "/redirect/loop/1"})
	redirect("/redirect/self", linkPlain, Redirect{Code: 302, To: "/redirect/self"})
	redirect("/redirect/private", linkPlain, Redirect{To: "/private/1"})
	redirect("/redirect/nowhere", linkPlain, Redirect{To: ""})
	redirect("/redirect/script", linkPlain, Redirect{To: "javascript:alert(1)"})
	redirect("/redirect/loopback", linkPlain, Redirect{To: p.URL("127.0.0.1", "/trap")})
	redirect("/redirect/metadata", linkPlain, Redirect{To: "http://169.254.169.254/latest/meta-data/"})
	next := p.sites[(s.index+1)%len(p.sites)]
	redirect("/redirect/site", linkPlain, Redirect{To: p.URL(next.Host, "/")})
	if p.unseededHost != "" {
		redirect("/redirect/outside", linkPlain, Redirect{To: p.URL(p.unseededHost, "/p/1")})
	}
}

// paragraphs fill the pages with prose, so that its language can be detected.
var paragraphs = [...]string{
	"The harbour wakes long before the town does, and the first boats are already out when the baker opens his shutters and sets the loaves in the window to cool.",
	"She kept the letters in a biscuit tin under the stairs, tied with kitchen string, and read one every winter when the snow had closed the road to the valley.",
	"A good path follows the water. Where the stream turns, the path turns with it, and nobody who walks there has ever had to ask a stranger for the way home.",
	"In spring the orchard fills with bees, and the old gardener sits on the wall with his hat over his eyes and pretends that he is counting every one of them.",
	"They built the library from what was left of the mill: the beams became shelves, the floor became tables, and the great wheel still turns behind a sheet of glass.",
	"Nothing in the workshop was thrown away. Springs, screws and the handles of broken cups waited in labelled jars until somebody came along who needed them.",
	"The night train stops here for a minute only, so the passengers learn to stand by the door with their coats buttoned and their tickets held between their teeth.",
	"Rain makes the slate roofs shine like the backs of fish, and from the hill the whole village looks as if it might slip quietly away into the sea before morning.",
	"He taught his children to name the winds before the letters of the alphabet, because a letter can be looked up again and a wind that was missed is gone for good.",
	"On market days the square smells of oranges and wet wool, and the clock above the town hall, which has not worked for thirty years, is nearly always right.",
	"The map was wrong about the bridge but honest about the marsh, which is the better way round, as anyone who has had to turn back in the evening will tell you.",
	"Every evening the lamps along the canal are lit by hand, from the north end to the south, and the man who lights them says goodnight to each of them by name.",
}
