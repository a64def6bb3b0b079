package decide

import (
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/settings"
)

// LastVisit is what counts of a page's last visit, for a run. If an earlier extractor
// read the page, or the visit left out what the run wants, only the time of the visit
// counts: the page has to be read again, even if it is fresh or unchanged.
func LastVisit(run crawl.RunFacts, c crawl.CrawlFacts) crawl.Visit {
	unread := c.Kind.Image() && c.Image == nil // it was a page, or had a problem
	if c.Extractor >= crawl.ExtractorVersion && !unread && !wantsMore(run, c) {
		return c.Visit
	}
	return crawl.Visit{At: c.Visit.At}
}

// wantsMore reports whether a run wants something of a page that its last visit has not
// kept: the images that it names, or the bytes of the image that it is.
func wantsMore(run crawl.RunFacts, c crawl.CrawlFacts) bool {
	set := run.Settings
	switch {
	case c.Visit.At.IsZero() || !set.TakesImages():
		return false
	case c.Kind.Document():
		return !c.Images
	case c.Kind.Image() && c.Image != nil:
		return *set.Images == settings.ImagesStore && !c.Image.Stored || *set.Thumbnails && !c.Image.Thumbnail
	}
	return false
}
