package crawl_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
)

func TestParseSettings(t *testing.T) {
	t.Parallel()

	t.Run("ReadsAllKinds", func(t *testing.T) {
		t.Parallel()
		set, err := crawl.ParseSettings([]string{
			"delay=1m30s", "max_pages=-1", "latency_factor=0.5", "standing=true", "feeds=off", "scope=web", "window=",
			"exclude=/a/,/b/", "include=", "pages_per_activity=auto", "priority_weights=rank:2,errors:0.5", "max_depth=3",
		})
		require.NoError(t, err)
		require.NoError(t, set.Validate())
		require.Equal(t, crawl.Settings{
			Delay: new(crawl.Duration(90 * time.Second)), MaxPages: new(int64(-1)), LatencyFactor: new(0.5), Standing: new(true),
			Feeds: new(false), Scope: new(crawl.ScopeWeb), Window: new(""), Exclude: &[]string{"/a/", "/b/"}, Include: &[]string{},
			PagesPerActivity: new(0), PriorityWeights: &map[string]float64{"rank": 2, "errors": 0.5}, MaxDepth: new(3),
		}, set)
	})

	for pair, want := range map[string]string{
		"delay":                 `setting "delay": want name=value, such as delay=5s`,
		"speed=5":               `there is no setting "speed"`,
		"delay=5":               `duration "5": want a number and a unit`,
		"max_pages=many":        `max_pages "many": want a number`,
		"max_pages=1,2":         `max_pages "1,2": want a number`,
		"standing=yes":          `standing "yes": want true or false`,
		"priority_weights=rank": `priority_weights "rank": want part:weight, such as rank:2,errors:0.5`,
		"max_depth=":            `max_depth "": want a number`,
	} {
		t.Run("Refuses "+pair, func(t *testing.T) {
			t.Parallel()
			_, err := crawl.ParseSettings([]string{pair})
			require.ErrorIs(t, err, crawl.ErrInvalid)
			require.ErrorContains(t, err, want)
		})
	}

	t.Run("RefusesOneTwice", func(t *testing.T) {
		t.Parallel()
		_, err := crawl.ParseSettings([]string{"delay=5s", "delay=6s"})
		require.ErrorIs(t, err, crawl.ErrInvalid)
	})

	t.Run("LeavesBoundsToValidate", func(t *testing.T) {
		t.Parallel()
		for _, pair := range []string{"max_pages=-5", "priority_weights=looks:1", "priority_weights=rank:-1", "yield_after=-1", "max_time=-1s"} {
			set, err := crawl.ParseSettings([]string{pair})
			require.NoError(t, err)
			require.ErrorIs(t, set.Validate(), crawl.ErrInvalid, pair)
		}
	})
}

func TestEstimate(t *testing.T) {
	t.Parallel()
	longest := []crawl.QueuedDomain{{Pending: 50}, {Pending: 30, CrawlDelay: crawl.Duration(time.Minute)}}
	require.Equal(t, 10*time.Second, crawl.Estimate(100, 10, nil, time.Second))
	require.Equal(t, 50*time.Second, crawl.Estimate(100, 10, longest[:1], time.Second), "of one domain")
	require.Equal(t, 30*time.Minute, crawl.Estimate(100, 10, longest, time.Second), "which asks for a longer delay")
	require.Zero(t, crawl.Estimate(0, 10, nil, time.Second))
	require.Zero(t, crawl.Estimate(100, 0, nil, time.Second))
	require.Positive(t, crawl.Estimate(1<<62, 1e-9, nil, time.Second))
}
