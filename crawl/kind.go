package crawl

// Kind is what is asked of a site. It is stored with each page and each crawl. A
// new kind needs no migration.
type Kind string

// The kinds of requests.
const (
	// KindPage is a page.
	KindPage Kind = "page"
	// KindRobots is an origin's robots.txt (RFC 9309).
	KindRobots Kind = "robots"
	// KindSitemap is a sitemap, or an index of them (sitemaps.org).
	KindSitemap Kind = "sitemap"
	// KindFeed is an RSS, Atom or JSON feed.
	KindFeed Kind = "feed"
	// KindTDM is an origin's tdmrep.json, which reserves text and data mining.
	KindTDM Kind = "tdm"
	// KindImage is an image of a page.
	KindImage Kind = "image"
)
