package decide

import (
	"slices"

	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/crawl/variants"
)

// explainExclusion explains why a run excludes a URL; both results are empty if it does not.
func explainExclusion(set settings.Settings, raw string) (explanation string, reason reasons.Reason) {
	u, err := urls.Parse(raw)
	if err != nil {
		return "", "" // the request reports it
	}
	if p, found := variants.Match(u, *set.Exclude); found {
		return "the run excludes " + p + " (--exclude)", reasons.Excluded
	}
	if _, found := variants.Match(u, *set.Include); !found && len(*set.Include) > 0 {
		return "the run does not include the page (--include)", reasons.Excluded
	}
	const override = "; to fetch it, seed it or use "
	if set.Skips(settings.SkipExtensions) {
		if kind := variants.Extension(u); kind != "" {
			return "it is " + kind + ", which cannot be parsed" + override + "--set skip=variants", reasons.Extension
		}
	}
	if set.Skips(settings.SkipVariants) {
		if kind := variants.Describe(u); kind != "" {
			return "it is " + kind + override + "--set skip=extensions", reasons.Variant
		}
	}
	return "", ""
}

// AddsURLs reports whether new settings add URLs or images: skipped URLs are decided again.
func AddsURLs(before, after settings.Settings) bool {
	return !slices.Equal(*before.Exclude, *after.Exclude) || !slices.Equal(*before.Include, *after.Include) ||
		before.Skips(settings.SkipExtensions) != after.Skips(settings.SkipExtensions) ||
		before.Skips(settings.SkipVariants) != after.Skips(settings.SkipVariants) ||
		exceeds(*before.MaxImagesPerDomain, *after.MaxImagesPerDomain) || !before.TakesImages() && after.TakesImages()
}
