package decide_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/decide"
	"github.com/mosey-web/mosey/crawl/kinds"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/crawl/usage"
)

// anImage makes what is due an image, of a run that takes images.
func anImage(f *decide.Facts) {
	run(f).Attempt.Kind, run(f).Attempt.Depth = kinds.Image, 1
	run(f).Settings.Images = new(settings.ImagesMetadata)
}

func TestImages(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*decide.Facts)
		do     decide.Action
		reason reasons.Reason
	}{
		"AreRequested": {func(*decide.Facts) {}, decide.Request, ""},
		"AreNotPages": {func(f *decide.Facts) {
			run(f).Spent, run(f).Settings.Include = crawl.SpentPages, &[]string{"/wiki/"}
			run(f).Attempt.URL = "https://example.org/a.jpg"
		}, decide.Request, ""},
		"HaveABudget": {func(f *decide.Facts) {
			run(f).Settings.MaxImagesPerDomain, run(f).ImagesStarted = new(int64(3)), 3
		}, decide.Skip, reasons.ImageBudget},
		"MayBeExcluded": {func(f *decide.Facts) { run(f).Settings.Exclude = &[]string{"/"} }, decide.Skip, reasons.Excluded},
		"MayBeTurnedOff": {func(f *decide.Facts) {
			run(f).Settings.Images = new(settings.ImagesOff)
		}, decide.Skip, reasons.ImagesOff},
		"CountAsBytes": {func(f *decide.Facts) {
			run(f).Spent = crawl.SpentAll
		}, decide.Finish, reasons.Scheduled},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := decide.Decide(facts(anImage, c.change), now)
			require.Equal(t, c.do, d.Action, d.Explanation)
			require.Equal(t, c.reason, d.Reason)
		})
	}
}

// A budget of pages that is spent ends nothing while an image is to be tried again.
func TestImagesOutliveTheBudgetOfPages(t *testing.T) {
	t.Parallel()
	later := now.Add(time.Minute)
	f := facts(func(f *decide.Facts) {
		run(f).Spent, run(f).Due = crawl.SpentPages, later
	})
	d := decide.Decide(f, now)
	require.Equal(t, decide.Wait, d.Action, d.Explanation)
	require.Equal(t, later, d.Until)
	run(&f).Spent, run(&f).Due = crawl.SpentAll, time.Time{}
	require.Equal(t, decide.Finish, decide.Decide(f, now).Action)
}

func TestLastVisitOfWhatIsWanted(t *testing.T) {
	t.Parallel()
	visited := func(kind kinds.Kind) crawl.AttemptFacts {
		return crawl.AttemptFacts{Kind: kind, Extractor: crawl.ExtractorVersion, Visit: crawl.Visit{At: now, ETag: "e"}}
	}
	wants := func(images settings.Images, thumbnails bool) crawl.RunFacts {
		set := settings.Settings{Images: &images, Thumbnails: &thumbnails}.WithDefaults()
		return crawl.RunFacts{Settings: set}
	}
	withImages, stored, known := visited(kinds.Page), visited(kinds.Image), visited(kinds.Image)
	withImages.ImagesRecorded = true
	stored.Image, known.Image = &crawl.ImageFacts{Stored: true}, &crawl.ImageFacts{}
	for name, c := range map[string]struct {
		run    crawl.RunFacts
		crawl  crawl.AttemptFacts
		counts bool
	}{
		"PageForAnHTMLCrawl":        {wants(settings.ImagesOff, false), visited(kinds.Page), true},
		"PageWithoutItsImages":      {wants(settings.ImagesMetadata, false), visited(kinds.Page), false},
		"PageWithItsImages":         {wants(settings.ImagesMetadata, false), withImages, true},
		"ImageForItsMetadata":       {wants(settings.ImagesMetadata, false), known, true},
		"ImageForItsBytes":          {wants(settings.ImagesStore, false), known, false},
		"ImageThatIsStored":         {wants(settings.ImagesStore, false), stored, true},
		"ImageForItsSmallPicture":   {wants(settings.ImagesStore, true), stored, false},
		"ImageThatWasNotRecorded":   {wants(settings.ImagesMetadata, false), visited(kinds.Image), false},
		"OtherKindsAreNotConcerned": {wants(settings.ImagesStore, true), visited(kinds.Feed), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.counts, decide.LastVisit(c.run, c.crawl).ETag != "")
		})
	}
}

func TestFollowImages(t *testing.T) {
	t.Parallel()
	follow := func(change func(*settings.Settings), said usage.Usage) (*crawl.Follow, bool) {
		set := settings.Settings{Images: new(settings.ImagesMetadata), MaxDepth: new(0)}.WithDefaults()
		change(&set)
		return decide.FollowImages(crawl.RunFacts{Settings: set}, crawl.AttemptFacts{Depth: 2}, said)
	}
	got, stored := follow(func(*settings.Settings) {}, usage.Usage{NoFollow: usage.SourceMetaRobots})
	require.True(t, stored)
	require.Equal(t, &crawl.Follow{Depth: 2, MaxSubdomains: new(int64(1000))}, got, "whatever the depth, and what is said of links")
	got, _ = follow(func(s *settings.Settings) { s.ImageScope = new(settings.ImageScopeSeeds) }, usage.Usage{})
	require.Equal(t, &crawl.Follow{Depth: 2, SeedsOnly: true}, got)
	for _, said := range []usage.Usage{{NoImageIndex: usage.SourceHeader}, {NoIndex: usage.SourceMetaRobots}} {
		got, stored = follow(func(*settings.Settings) {}, said)
		require.Nil(t, got)
		require.False(t, stored)
	}
	_, stored = follow(func(s *settings.Settings) { s.Images = new(settings.ImagesOff) }, usage.Usage{})
	require.False(t, stored)
}
