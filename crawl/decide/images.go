package decide

import (
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/crawl/usage"
	"github.com/mosey-web/mosey/crawl/variants"
)

// skipImage closes the crawl of an image that its run does not want, or has no budget for.
func skipImage(d *Decision) bool {
	set := d.Run.Settings
	switch budget := limit(*set.MaxImagesPerDomain); {
	case !set.TakesImages():
		return d.pass(reasons.ImagesOff, "the run takes no images any more (--images)")
	case budget != nil && d.Run.ImagesStarted >= *budget:
		return d.pass(reasons.ImageBudget, "the run asks its domain for "+counted(*budget, "image")+" (max_images_per_domain)")
	}
	u, err := urls.Parse(d.Crawl.URL)
	if err != nil {
		return false // the request says so
	}
	if p, found := variants.Match(u, *set.Exclude); found {
		return d.pass(reasons.Excluded, "the run excludes "+p+" (--exclude)")
	}
	return false
}

// FollowImages says how the images of a page become part of its run, and whether they are stored:
// not if its publisher forbids the run's purpose.
func FollowImages(run crawl.RunFacts, c crawl.CrawlFacts, said usage.Usage) (follow *crawl.Follow, stored bool) {
	set := run.Settings
	if allowed, _ := usage.AllowsImages(*set.Purpose, said); !allowed || !set.TakesImages() {
		return nil, false
	}
	return imageScope(run, crawl.Follow{Depth: max(c.Depth, 1)}), true
}

// imageScope has a run's scope of images bound which domains are asked for them.
func imageScope(run crawl.RunFacts, follow crawl.Follow) *crawl.Follow {
	if *run.Settings.ImageScope == settings.ImageScopeSeeds {
		follow.SeedsOnly = true
		return &follow
	}
	follow.MaxSubdomains = limit(int64(*run.Settings.MaxSubdomains))
	return &follow
}
