package settings_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl/settings"
)

func TestRefresh(t *testing.T) {
	t.Parallel()
	of := settings.Settings{
		Delay: new(settings.Duration(20 * time.Second)), MaxPages: new(int64(7)), WhenDone: new(settings.WhenDoneRecrawl),
		Images: new(settings.ImagesStore), MinRefetch: new(settings.Duration(time.Hour)), MaxDepth: new(3),
	}.WithDefaults()
	all := of.Refresh("", settings.Settings{})
	require.Equal(t, all, all.WithDefaults(), "each is set")
	require.Equal(t, 20*time.Second, time.Duration(*all.Delay))
	require.EqualValues(t, -1, *all.MaxPages, "what the other run was limited to says nothing of this one")
	require.Equal(t, 0, *all.MaxDepth)
	require.Zero(t, *all.MinRefetch)
	require.Equal(t, settings.WhenDoneEnd, *all.WhenDone)
	require.Equal(t, settings.ImagesStore, *all.Images)
	require.Equal(t, settings.ImagesStore, *of.Refresh(settings.RefreshImages, settings.Settings{}).Images)
	require.Equal(t, settings.ImagesOff, *of.Refresh(settings.RefreshPages, settings.Settings{}).Images)

	own := of.Refresh("", settings.Settings{Delay: new(settings.Duration(time.Minute)), MaxDepth: new(2), MaxPages: new(int64(5))})
	require.Equal(t, time.Minute, time.Duration(*own.Delay))
	require.Equal(t, 2, *own.MaxDepth)
	require.EqualValues(t, 5, *own.MaxPages)
	require.Equal(t, 3, *of.MaxDepth, "the other run's are as they were")
}
