package bench_test

import (
	"fmt"
	"strings"

	"github.com/mosey-web/mosey/manners/web"
)

// listedURLs is the number of URLs in a sitemap.
const listedURLs = 100

// listings are a robots.txt that names a sitemap and a feed, and these.
func listings() map[string]web.Behaviour {
	var urls, items strings.Builder
	for i := range listedURLs {
		fmt.Fprintf(&urls, "<url><loc>%%s/p/%d</loc></url>", i+1)
		if i < 10 {
			fmt.Fprintf(&items, "<item><title>%d</title><link>%%s/p/%d</link></item>", i, i+1)
		}
	}
	return map[string]web.Behaviour{
		"/robots.txt": listing{"text/plain", "User-agent: *\nAllow: /\nSitemap: %s/sitemap.xml\nSitemap: %s/feed.xml\n"},
		"/sitemap.xml": listing{
			"application/xml", `<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">` + urls.String() + "</urlset>",
		},
		"/feed.xml": listing{
			"application/rss+xml", `<rss version="2.0"><channel><title>News</title><link>%s/</link>` + items.String() + "</channel></rss>",
		},
	}
}

// listing answers with a document in which %s stands for the site.
type listing struct{ mediaType, body string }

// Serve implements web.Behaviour.
func (l listing) Serve(v *web.Visit) {
	v.W.Header().Set("Content-Type", l.mediaType)
	v.Write([]byte(strings.ReplaceAll(l.body, "%s", "http://"+v.R.Host)))
}

// Truth implements web.Behaviour.
func (listing) Truth() web.Truth { return web.Truth{Status: 200} }
