package decide

import (
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/crawl/usage"
	"github.com/mosey-web/mosey/crawl/variants"
)

// skipImage closes the crawl of an image outside its run's settings or budget.
func skipImage(d *Decision) bool {
	set := d.Run.Settings
	switch budget := limitOrNil(*set.MaxImagesPerDomain); {
	case !set.TakesImages():
		return d.skipWith(reasons.ImagesOff, "the run no longer fetches images (--images)")
	case budget != nil && d.Run.ImagesStarted >= *budget:
		return d.skipWith(reasons.ImageBudget, "the run requests at most "+pluralize(*budget, "image")+" of the domain (max_images_per_domain)")
	}
	u, err := urls.Parse(d.Attempt.URL)
	if err != nil {
		return false // the request reports it
	}
	if p, found := variants.Match(u, *set.Exclude); found {
		return d.skipWith(reasons.Excluded, "the run excludes "+p+" (--exclude)")
	}
	return false
}

// FollowImages returns the Follow for a page's images, and whether they are stored. They are not
// stored if the publisher forbids the run's purpose.
func FollowImages(run crawl.RunFacts, c crawl.AttemptFacts, statement usage.Usage) (follow *crawl.Follow, stored bool) {
	set := run.Settings
	if allowed, _ := usage.AllowsImages(*set.Purpose, statement); !allowed || !set.TakesImages() {
		return nil, false
	}
	return imageScope(run, crawl.Follow{Depth: max(c.Depth, 1)}), true
}

// imageScope limits the domains of requested images by the run's scope of images.
func imageScope(run crawl.RunFacts, follow crawl.Follow) *crawl.Follow {
	if *run.Settings.ImageScope == settings.ImageScopeSeeds {
		follow.SeedsOnly = true
		return &follow
	}
	follow.MaxSubdomains = limitOrNil(int64(*run.Settings.MaxSubdomains))
	return &follow
}
