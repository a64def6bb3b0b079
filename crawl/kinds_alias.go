package crawl

import "github.com/mosey-web/mosey/crawl/kinds"

// Kind is what is asked of a site.
type Kind = kinds.Kind

// The kinds of requests.
const (
	KindPage    = kinds.Page
	KindRobots  = kinds.Robots
	KindFavicon = kinds.Favicon
	KindSitemap = kinds.Sitemap
	KindFeed    = kinds.Feed
	KindTDM     = kinds.TDM
	KindImage   = kinds.Image
)
