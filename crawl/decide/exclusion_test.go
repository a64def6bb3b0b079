package decide_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/decide"
	"github.com/mosey-web/mosey/crawl/kinds"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/settings"
)

func TestUnwantedPagesAreSkipped(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		url    string
		change func(*decide.Facts)
		reason reasons.Reason
		why    string
	}{
		"AnImage": {
			"https://example.org/a.png", nil, reasons.Extension,
			"it is an image by its extension (.png), which cannot be parsed; to fetch it, seed it or use --set skip=variants",
		},
		"UnlessTheyAreWanted": {"https://example.org/a.png", func(f *decide.Facts) { run(f).Settings.Skip = &[]string{settings.SkipVariants} }, "", ""},
		"ASortLink": {
			"https://example.org/pub/?C=N;O=D", nil, reasons.Variant,
			"it is a directory listing in another order (Apache, nginx); to fetch it, seed it or use --set skip=extensions",
		},
		"UnlessVariantsAreWanted": {
			"https://example.org/pub/?C=N;O=D", func(f *decide.Facts) { run(f).Settings.Skip = &[]string{settings.SkipExtensions} }, "", "",
		},
		"UnlessItIsASeed": {"https://example.org/pub/?C=N;O=D", func(f *decide.Facts) { page(f).Depth = 0 }, "", ""},
		"ButNotAFeed":     {"https://example.org/a.png", func(f *decide.Facts) { page(f).Kind = kinds.Feed }, "", ""},
		"WhatIsExcluded":  {"https://example.org/private/1", func(f *decide.Facts) { run(f).Settings.Exclude = &[]string{"/private/"} }, reasons.Excluded, "the run excludes /private/ (--exclude)"},
		"NotASeed":        {"https://example.org/private/1", func(f *decide.Facts) { page(f).Depth, run(f).Settings.Exclude = 0, &[]string{"/"} }, "", ""},
		"WhatIsIncluded":  {"https://example.org/wiki/A", func(f *decide.Facts) { run(f).Settings.Include = &[]string{"/b", "/wiki/"} }, "", ""},
		"WhatIsNot":       {"https://example.org/a", func(f *decide.Facts) { run(f).Settings.Include = &[]string{"/wiki/"} }, reasons.Excluded, "the run does not include the page (--include)"},
		"ExcludedAndAlsoIn": {"https://example.org/a", func(f *decide.Facts) {
			run(f).Settings.Include, run(f).Settings.Exclude = &[]string{"/a"}, &[]string{"*"}
		}, reasons.Excluded, "the run excludes * (--exclude)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := facts(func(f *decide.Facts) { page(f).URL = c.url })
			if c.change != nil {
				c.change(&f)
			}
			d := decide.Decide(f, now)
			require.Equal(t, c.reason != "", d.Action == decide.Skip, d.Action)
			if c.reason != "" {
				require.Equal(t, crawl.OutcomeSkipped, d.Outcome)
				require.Equal(t, c.reason, d.Reason)
				require.Equal(t, c.why, d.Explanation)
				require.True(t, d.Reason.Row().Unwanted)
			}
		})
	}
	require.False(t, reasons.Fresh.Row().Unwanted)
}
