package activities_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/activities"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/settings"
)

func TestStoreSeeds(t *testing.T) {
	t.Parallel()
	store := func(t *testing.T, b *testBundle, in activities.StoreSeedsInput, with ...envOption) (activities.StoreSeedsResult, error) {
		t.Helper()
		return activityCall[activities.StoreSeedsResult](t, b.acts, b.acts.StoreSeeds, in, with...)
	}

	t.Run("CreatesTheRunAndItsPages", func(t *testing.T) {
		t.Parallel()
		b := setup(t, options{})
		in := activities.StoreSeedsInput{
			Run: "new", URLs: []string{"https://Example.org", "https://example.net/?utm_source=x", "https://example.org/#a"},
			Settings: settings.Settings{Delay: new(settings.Duration(3 * time.Second))},
		}
		res, err := store(t, b, in)
		require.NoError(t, err)
		require.Equal(t, activities.StoreSeedsResult{Added: 2, Known: 1}, res)
		run, err := b.store.Run(t.Context(), "new")
		require.NoError(t, err)
		require.Equal(t, settings.Duration(3*time.Second), *run.Settings.Delay)
		require.Equal(t, 4, *run.Settings.MaxAttempts)
		require.Equal(t, 2, b.count(t,
			"SELECT count(*) FROM page_crawls WHERE run_id = $1 AND depth = 0 AND outcome IS NULL", run.ID))

		res, err = store(t, b, in)
		require.NoError(t, err)
		require.Equal(t, activities.StoreSeedsResult{Known: 3}, res, "again changes nothing")
	})

	t.Run("RefusesWhatIsNoURLAndStoresNothing", func(t *testing.T) {
		t.Parallel()
		b := setup(t, options{})
		_, err := store(t, b, activities.StoreSeedsInput{
			Run: "new", URLs: []string{"https://example.org/", "ftp://example.org/", "nonsense"},
		})
		requireBadInput(t, err, `"ftp://example.org/"`)
		requireBadInput(t, err, `"nonsense"`)
		_, err = b.store.Run(t.Context(), "new")
		require.ErrorIs(t, err, crawl.ErrNotFound)
		require.Zero(t, b.count(t, "SELECT count(*) FROM pages"))
	})

	t.Run("RefusesAnUnknownTimeZoneAndStoresNothing", func(t *testing.T) {
		t.Parallel()
		b := setup(t, options{})
		_, err := store(t, b, activities.StoreSeedsInput{
			Run: "new", URLs: []string{"https://example.org/"}, Settings: settings.Settings{Window: new("Mon 22:00-06:00 Berlin")},
		})
		requireBadInput(t, err, `window "Mon 22:00-06:00 Berlin": time zone "Berlin" is unknown: want an IANA name`)
		_, err = b.store.Run(t.Context(), "new")
		require.ErrorIs(t, err, crawl.ErrNotFound)
		require.Zero(t, b.count(t, "SELECT count(*) FROM pages"))
	})

	t.Run("TakesStagedSeedsAndCountsBadOnes", func(t *testing.T) {
		t.Parallel()
		b := setup(t, options{})
		const good = 1200 // several chunks
		staged := []string{"nonsense"}
		for i := range good {
			staged = append(staged, "https://example.org/"+strconv.Itoa(i))
		}
		staged = append(staged, "https://example.org/7#again", "mailto:"+strings.Repeat("é", 5000))
		require.NoError(t, b.store.StageSeeds(t.Context(), b.run.ID, staged))
		res, err := store(t, b, activities.StoreSeedsInput{Run: runName})
		require.NoError(t, err)
		require.Equal(t, good, res.Added)
		require.Equal(t, 1, res.Known)
		require.Equal(t, 2, res.Refused)
		require.Contains(t, res.Example, "mailto:")
		require.Zero(t, b.count(t, "SELECT count(*) FROM staged_seeds"))
		require.Equal(t, good, b.count(t, "SELECT count(*) FROM page_crawls"))
	})

	t.Run("GoesOnWhereItWasInterrupted", func(t *testing.T) {
		t.Parallel()
		b := setup(t, options{})
		var staged []string
		for i := range 700 {
			staged = append(staged, "https://example.org/"+strconv.Itoa(i))
		}
		require.NoError(t, b.store.StageSeeds(t.Context(), b.run.ID, staged))
		stop := make(chan struct{})
		close(stop)
		_, err := store(t, b, activities.StoreSeedsInput{Run: runName}, stoppedBy(stop))
		requireInternalFailure(t, err)
		left := b.count(t, "SELECT count(*) FROM staged_seeds")
		require.Equal(t, 200, left, "a chunk is stored as a whole")
		require.Equal(t, 700-left, b.count(t, "SELECT count(*) FROM page_crawls"))
		res, err := store(t, b, activities.StoreSeedsInput{Run: runName})
		require.NoError(t, err)
		require.Equal(t, activities.StoreSeedsResult{Added: left}, res)
	})

	t.Run("LeavesOtherRunsSeedsAlone", func(t *testing.T) {
		t.Parallel()
		b := setup(t, options{})
		require.NoError(t, b.store.StageSeeds(t.Context(), b.run.ID, []string{"https://example.org/"}))
		_, err := b.store.EnsureRun(t.Context(), "another", "test", settings.Settings{})
		require.NoError(t, err)
		_, err = store(t, b, activities.StoreSeedsInput{Run: "another"})
		require.NoError(t, err)
		require.Equal(t, 1, b.count(t, "SELECT count(*) FROM staged_seeds"))
	})
}

// Without seeds a run is changed, but none is made.
func TestStoreSeedsWithoutAny(t *testing.T) {
	t.Parallel()
	b := setup(t, options{})
	_, err := activityCall[activities.StoreSeedsResult](t, b.acts, b.acts.StoreSeeds, activities.StoreSeedsInput{Run: "another"})
	requireBadInput(t, err, `urls: run "another" does not exist yet: want at least one URL, such as ["https://example.org/"]`)
	_, err = b.store.Run(t.Context(), "another")
	require.ErrorIs(t, err, crawl.ErrNotFound)

	res, err := activityCall[activities.StoreSeedsResult](t, b.acts, b.acts.StoreSeeds,
		activities.StoreSeedsInput{Run: runName, Settings: settings.Settings{MaxPages: new(int64(7))}})
	require.NoError(t, err)
	require.Zero(t, res)
	run, err := b.store.Run(t.Context(), runName)
	require.NoError(t, err)
	require.EqualValues(t, 7, *run.Settings.MaxPages)
}

func TestStartAndStopCrawl(t *testing.T) {
	t.Parallel()

	t.Run("MakesTheRunGoOn", func(t *testing.T) {
		t.Parallel()
		b := setup(t, options{})
		in := activities.StartCrawlInput{Run: runName}
		_, err := activityCall[struct{}](t, b.acts, b.acts.StopRun, activities.StopRunInput{Run: in.Run})
		require.NoError(t, err)
		run, err := b.store.Run(t.Context(), runName)
		require.NoError(t, err)
		require.Equal(t, crawl.RunStopped, run.Status)
		require.Empty(t, b.starter.crawls)

		_, err = activityCall[struct{}](t, b.acts, b.acts.StartCrawl, in)
		require.NoError(t, err)
		run, err = b.store.Run(t.Context(), runName)
		require.NoError(t, err)
		require.Equal(t, crawl.RunRunning, run.Status)
		require.Equal(t, []string{runName}, b.starter.crawls)
	})

	t.Run("TriesAgainWhenTemporalIsAway", func(t *testing.T) {
		t.Parallel()
		b := setup(t, options{})
		b.starter.err = errAway
		_, err := activityCall[struct{}](t, b.acts, b.acts.StartCrawl, activities.StartCrawlInput{Run: runName})
		requireInternalFailure(t, err)
	})

	t.Run("RefusesARunThatIsNone", func(t *testing.T) {
		t.Parallel()
		b := setup(t, options{})
		_, err := activityCall[struct{}](t, b.acts, b.acts.StartCrawl, activities.StartCrawlInput{Run: "nope"})
		requireBadInput(t, err, "nope")
		_, err = activityCall[struct{}](t, b.acts, b.acts.StopRun, activities.StopRunInput{Run: "nope"})
		requireBadInput(t, err, "nope")
		require.Empty(t, b.starter.crawls)
	})
}
