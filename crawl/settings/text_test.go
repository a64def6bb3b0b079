package settings_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl/settings"
)

func TestParse(t *testing.T) {
	t.Parallel()

	t.Run("ReadsAllKinds", func(t *testing.T) {
		t.Parallel()
		set, err := settings.Parse([]string{
			"delay=1m30s", "max_pages=-1", "latency_factor=0.5", "thumbnails=on", "feeds=off", "scope=web", "window=",
			"exclude=/a/,/b/", "include=", "skip=none", "when_done=wait", "pages_per_activity=auto", "max-depth=3",
		})
		require.NoError(t, err)
		require.NoError(t, set.Validate())
		require.Equal(t, settings.Settings{
			Delay: new(settings.Duration(90 * time.Second)), MaxPages: new(int64(-1)), LatencyFactor: new(0.5), Thumbnails: new(true),
			Feeds: new(false), Scope: new(settings.ScopeWeb), Window: new(""), Exclude: &[]string{"/a/", "/b/"}, Include: &[]string{}, Skip: &[]string{}, WhenDone: new(settings.WhenDoneWait),
			PagesPerActivity: new(0), MaxDepth: new(3),
		}, set)
	})

	for pair, want := range map[string]string{
		"delay":           `setting "delay": want name=value, such as delay=5s`,
		"speed=5":         `unknown setting "speed"`,
		"delay=5":         `delay "5": want a number and a unit`,
		"max_pages=many":  `max_pages "many": want a number`,
		"max_pages=1,2":   `max_pages "1,2": want a number`,
		"thumbnails=true": `thumbnails "true": want on or off`,
		"max_depth=":      `max_depth "": want a number`,
	} {
		t.Run("Refuses "+pair, func(t *testing.T) {
			t.Parallel()
			_, err := settings.Parse([]string{pair})
			require.ErrorIs(t, err, settings.ErrInvalid)
			require.ErrorContains(t, err, want)
		})
	}

	t.Run("RefusesOneTwice", func(t *testing.T) {
		t.Parallel()
		_, err := settings.Parse([]string{"delay=5s", "delay=6s"})
		require.ErrorIs(t, err, settings.ErrInvalid)
	})

	t.Run("LeavesBoundsToValidate", func(t *testing.T) {
		t.Parallel()
		for _, pair := range []string{"max_pages=-5", "skip=pictures", "when_done=stay", "yield_after=-1", "max_time=-1s"} {
			set, err := settings.Parse([]string{pair})
			require.NoError(t, err)
			require.ErrorIs(t, set.Validate(), settings.ErrInvalid, pair)
		}
	})
}
