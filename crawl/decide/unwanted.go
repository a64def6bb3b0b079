package decide

import (
	"slices"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/crawl/variants"
)

// unwanted says why a run does not want a URL for what it is, in words and as a
// reason; both are empty where it does.
func unwanted(set crawl.Settings, raw string) (why string, reason crawl.Reason) {
	u, err := urls.Parse(raw)
	if err != nil {
		return "", "" // the request says so
	}
	if p, found := variants.Match(u, *set.Exclude); found {
		return "the run excludes " + p + " (--exclude)", crawl.ReasonExcluded
	}
	if _, found := variants.Match(u, *set.Include); !found && len(*set.Include) > 0 {
		return "it is none of what the run includes (--include)", crawl.ReasonExcluded
	}
	const override = ", unless it is seeded or the run has "
	if *set.SkipExtensions {
		if what := variants.Extension(u); what != "" {
			return "it is " + what + ", which cannot be parsed" + override + "--skip-extensions=false", crawl.ReasonExtension
		}
	}
	if *set.SkipKnownVariants {
		if what := variants.Known(u); what != "" {
			return "it is " + what + override + "--skip-known-variants=false", crawl.ReasonVariant
		}
	}
	return "", ""
}

// WantsOthers reports whether a run's new settings want other URLs than its old ones, or
// more at a depth, or more images: what it has passed over is to be decided again.
func WantsOthers(before, after crawl.Settings) bool {
	return !slices.Equal(*before.Exclude, *after.Exclude) || !slices.Equal(*before.Include, *after.Include) ||
		*before.SkipExtensions != *after.SkipExtensions || *before.SkipKnownVariants != *after.SkipKnownVariants ||
		beyond(*before.MaxPagesPerDepth, *after.MaxPagesPerDepth) ||
		beyond(*before.MaxImagesPerDomain, *after.MaxImagesPerDomain) || !before.TakesImages() && after.TakesImages()
}
