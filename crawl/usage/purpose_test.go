package usage_test

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/crawl/usage"
)

// The table in the package's documentation, one signal at a time.
func TestAllows(t *testing.T) {
	t.Parallel()
	purposes := []settings.Purpose{settings.PurposeSearch, settings.PurposeAITrain, settings.PurposeArchive}
	for _, c := range []struct {
		key, value string
		forbids    settings.Purpose
		reason     string
	}{
		{"X-Robots-Tag", "noai", settings.PurposeAITrain, "ai-train is forbidden by noai (X-Robots-Tag)"},
		{"X-Robots-Tag", "mosey: noai", settings.PurposeAITrain, "ai-train is forbidden by noai (X-Robots-Tag to mosey)"},
		{"Tdm-Reservation", "1", settings.PurposeAITrain, "ai-train is forbidden by a TDM reservation (the header tdm-reservation)"},
		{"Content-Signal", "ai-train=no", settings.PurposeAITrain, "ai-train is forbidden by ai-train=no (the header Content-Signal)"},
		{"Content-Signal", "use=full", "", ""},
		{"Content-Signal", "search=no", settings.PurposeSearch, "search is forbidden by search=no (the header Content-Signal)"},
		{"X-Robots-Tag", "noarchive", settings.PurposeArchive, "archive is forbidden by noarchive (X-Robots-Tag)"},
		{"X-Robots-Tag", "none, nosnippet, noimageindex, noimageai, unavailable_after: 2000-01-01", "", ""},
		{"Tdm-Reservation", "0", "", ""},
		{"Content-Signal", "ai-train=yes, search=yes, ai-input=no", "", ""},
	} {
		t.Run(c.key+": "+c.value, func(t *testing.T) {
			t.Parallel()
			var p usage.Usage
			p.AddHeader(http.Header{c.key: {c.value}})
			for _, purpose := range purposes {
				allowed, reason := usage.Allows(purpose, p)
				require.Equal(t, purpose != c.forbids, allowed, purpose)
				if allowed {
					require.Empty(t, reason)
				} else {
					require.Equal(t, c.reason, reason)
				}
			}
		})
	}

	t.Run("unknown purpose", func(t *testing.T) {
		t.Parallel()
		allowed, reason := usage.Allows("mining", usage.Usage{})
		require.False(t, allowed)
		require.Equal(t, `unknown purpose "mining"`, reason)
	})
}

func TestIndexable(t *testing.T) {
	t.Parallel()
	end := time.Date(2026, time.September, 3, 0, 0, 0, 0, time.UTC)
	expiring := fromTags("mosey: unavailable_after: 2026-09-03")

	ok, reason := usage.Indexable(usage.Usage{}, end)
	require.True(t, ok)
	require.Empty(t, reason)
	ok, _ = usage.Indexable(expiring, end)
	require.True(t, ok)
	ok, reason = usage.Indexable(expiring, end.Add(1))
	require.False(t, ok)
	require.Equal(t, "an index is forbidden by unavailable_after 2026-09-03T00:00:00Z (X-Robots-Tag to mosey)", reason)
	ok, reason = usage.Indexable(fromMeta("robots", "noindex"), time.Time{})
	require.False(t, ok)
	require.Equal(t, "an index is forbidden by noindex (meta robots)", reason)
}

func TestFollowLinks(t *testing.T) {
	t.Parallel()
	ok, reason := usage.FollowLinks(fromTags("noindex, noai"))
	require.True(t, ok)
	require.Empty(t, reason)
	ok, reason = usage.FollowLinks(fromTags("nofollow"))
	require.False(t, ok)
	require.Equal(t, "following links is forbidden by nofollow (X-Robots-Tag)", reason)
}

func TestAllowsImages(t *testing.T) {
	t.Parallel()
	for value, forbidden := range map[string][]settings.Purpose{
		"noimageindex": {settings.PurposeSearch},
		"noindex":      {settings.PurposeSearch},
		"noimageai":    {settings.PurposeAITrain},
		"noai":         {settings.PurposeAITrain},
		"noarchive":    {settings.PurposeArchive},
		"nofollow":     nil,
	} {
		t.Run(value, func(t *testing.T) {
			t.Parallel()
			var p usage.Usage
			p.AddHeader(http.Header{"X-Robots-Tag": {value}})
			for _, purpose := range []settings.Purpose{settings.PurposeSearch, settings.PurposeAITrain, settings.PurposeArchive} {
				allowed, why := usage.AllowsImages(purpose, p)
				require.Equal(t, !slices.Contains(forbidden, purpose), allowed, purpose)
				if !allowed {
					require.Contains(t, why, value+" (X-Robots-Tag)")
				}
			}
		})
	}
	var reserved usage.Usage
	reserved.AddHeader(http.Header{"Tdm-Reservation": {"1"}})
	allowed, _ := usage.AllowsImages(settings.PurposeAITrain, reserved)
	require.False(t, allowed)
	allowed, _ = usage.AllowsImages("unknown", usage.Usage{})
	require.False(t, allowed)
}
