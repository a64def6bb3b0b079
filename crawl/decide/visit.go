package decide

import (
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/crawl/usage"
)

// LastVisit returns the last visit of a page as far as it counts for a run. Only its time counts
// after an earlier extractor, or if the run needs more: the page is read again, even if unchanged.
func LastVisit(run crawl.RunFacts, c crawl.AttemptFacts) crawl.Visit {
	unread := c.Kind.Image() && c.Image == nil // it was a page, or had a problem
	if c.Extractor >= crawl.ExtractorVersion && !unread && !lacksImages(run, c) {
		return c.Visit
	}
	return crawl.Visit{At: c.Visit.At}
}

// lacksImages reports whether the last visit lacks images, or an image's bytes, that a run needs.
func lacksImages(run crawl.RunFacts, c crawl.AttemptFacts) bool {
	set := run.Settings
	switch {
	case c.Visit.At.IsZero() || !set.TakesImages():
		return false
	case c.Kind.Document():
		return !c.ImagesRecorded
	case c.Kind.Image() && c.Image != nil:
		statement, _ := StoredUsage(c)
		mayCopy, _ := usage.AllowsCopies(statement)
		return *set.Images == settings.ImagesStore && !c.Image.Stored && mayCopy || *set.Thumbnails && !c.Image.Thumbnail
	}
	return false
}
