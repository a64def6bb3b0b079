package decide

import (
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/settings"
)

// LastVisit is the last visit of a page, as far as it counts for a run. After an earlier extractor,
// or without something that the run wants, only its time counts: the page is read again, even if
// unchanged.
func LastVisit(run crawl.RunFacts, c crawl.CrawlFacts) crawl.Visit {
	unread := c.Kind.Image() && c.Image == nil // it was a page, or had a problem
	if c.Extractor >= crawl.ExtractorVersion && !unread && !wantsMore(run, c) {
		return c.Visit
	}
	return crawl.Visit{At: c.Visit.At}
}

// wantsMore reports whether the last visit lacks something that a run wants: the images of a page,
// or the bytes of an image.
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
