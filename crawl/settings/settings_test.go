package settings_test

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl/settings"
)

// full sets every field to something that is not its default.
func full() settings.Settings {
	return settings.Settings{
		Delay: new(settings.Duration(1500 * time.Millisecond)), IPDelay: new(settings.Duration(0)),
		DeferAfter: new(settings.Duration(90 * time.Minute)), MaxAttempts: new(2), MaxDepth: new(0), MaxDomains: new(3),
		MaxPages: new(int64(4)), MaxPagesPerDomain: new(int64(0)), PagesPerActivity: new(5),
		Scope: new(settings.ScopeWeb), WhenDone: new(settings.WhenDoneRecrawl),
		SubnetDelay: new(settings.Duration(7)), Graylist: new(settings.Duration(0)), LatencyFactor: new(0.5), MaxGraylistings: new(6), MaxRedirects: new(7),
		Feeds: new(false), Sitemaps: new(false),
		Purpose: new(settings.PurposeArchive), MinRefetch: new(settings.Duration(8)), Window: new("Sat 00:00-24:00"),
		MaxBytes: new(int64(9)), MaxBytesPerDomain: new(int64(10)), MaxTime: new(settings.Duration(11)), YieldAfter: new(int64(12)),
		GroupBy: new(settings.GroupByRegistered), MaxSubdomains: new(13), MaxPagesPerRegistered: new(int64(14)),
		Images: new(settings.ImagesStore), ImageScope: new(settings.ImageScopeSeeds), ImageMinSize: new(16),
		MaxImagesPerDomain: new(int64(18)), MaxImagesPerPage: new(19), Thumbnails: new(true),
		Exclude: &[]string{"/private/"}, Include: &[]string{"/*.html$"}, Skip: &[]string{settings.SkipVariants},
	}
}

func TestSettingsWithDefaults(t *testing.T) {
	t.Parallel()

	t.Run("FillsInWhatIsNotSet", func(t *testing.T) {
		t.Parallel()
		require.Equal(t, settings.Settings{
			Delay: new(settings.Duration(10 * time.Second)), IPDelay: new(settings.Duration(time.Second)),
			DeferAfter: new(settings.Duration(time.Hour)), MaxAttempts: new(4), MaxDepth: new(-1), MaxDomains: new(1000),
			MaxPages: new(int64(-1)), MaxPagesPerDomain: new(int64(-1)), PagesPerActivity: new(0),
			Scope: new(settings.ScopeSeeds), WhenDone: new(settings.WhenDoneEnd),
			SubnetDelay: new(settings.Duration(0)), Graylist: new(settings.Duration(5 * time.Minute)), LatencyFactor: new(5.0), MaxGraylistings: new(5), MaxRedirects: new(20),
			Feeds: new(true), Sitemaps: new(true),
			Purpose: new(settings.PurposeSearch), MinRefetch: new(settings.Duration(24 * time.Hour)), Window: new(""),
			MaxBytes: new(int64(-1)), MaxBytesPerDomain: new(int64(-1)), MaxTime: new(settings.Duration(0)), YieldAfter: new(int64(500)),
			GroupBy: new(settings.GroupByHost), MaxSubdomains: new(1000), MaxPagesPerRegistered: new(int64(-1)),
			Images: new(settings.ImagesOff), ImageScope: new(settings.ImageScopeAny), ImageMinSize: new(100),
			MaxImagesPerDomain: new(int64(-1)), MaxImagesPerPage: new(50), Thumbnails: new(false),
			Exclude: &[]string{}, Include: &[]string{}, Skip: &[]string{settings.SkipExtensions, settings.SkipVariants},
		}, settings.Settings{}.WithDefaults())
	})

	t.Run("KeepsWhatIsSet", func(t *testing.T) {
		t.Parallel()
		require.Equal(t, full(), full().WithDefaults())
	})

	t.Run("LeavesTheOriginalAlone", func(t *testing.T) {
		t.Parallel()
		var s settings.Settings
		s.WithDefaults()
		require.Equal(t, settings.Settings{}, s)
	})

	t.Run("AreValid", func(t *testing.T) {
		t.Parallel()
		require.NoError(t, settings.Settings{}.WithDefaults().Validate())
	})

	t.Run("CanAllBeParsed", func(t *testing.T) {
		t.Parallel()
		for _, d := range settings.All() {
			set, err := settings.Parse([]string{d.Name + "=" + d.Default})
			require.NoError(t, err)
			require.NoError(t, set.Validate())
		}
	})
}

func TestSettingsValidate(t *testing.T) {
	t.Parallel()
	for field, c := range map[string]struct{ low, high int64 }{
		"delay":                           {0, int64(settings.DelayMax)},
		"ip_delay":                        {0, int64(settings.DelayMax)},
		"defer_after":                     {0, int64(settings.DelayMax)},
		"subnet_delay":                    {0, int64(settings.DelayMax)},
		"graylist":                        {0, int64(settings.DelayMax)},
		"latency_factor":                  {0, 1000},
		"max_graylistings":                {1, 1000},
		"max_attempts":                    {1, 20},
		"max_redirects":                   {0, 100},
		"max_depth":                       {-1, math.MaxInt16},
		"max_active_domains":              {1, 1_000_000},
		"max_pages":                       {-1, math.MaxInt64},
		"max_pages_per_domain":            {-1, math.MaxInt64},
		"pages_per_activity":              {0, 1000},
		"max_pages_per_registered_domain": {-1, math.MaxInt64},
		"max_subdomains":                  {-1, math.MaxInt32},
		"max_images_per_domain":           {-1, math.MaxInt64},
		"max_images_per_page":             {0, 200},
		"image_min_size":                  {1, 10_000},
	} {
		t.Run(field, func(t *testing.T) {
			t.Parallel()
			require.NoError(t, withField(t, field, c.low).Validate())
			require.NoError(t, withField(t, field, c.high).Validate())
			wrong := []int64{c.low - 1, math.MinInt64}
			if c.high < math.MaxInt64 {
				wrong = append(wrong, c.high+1)
			}
			for _, v := range wrong {
				err := withField(t, field, v).Validate()
				require.ErrorIs(t, err, settings.ErrInvalid)
				require.ErrorContains(t, err, ": "+field+" ")
			}
		})
	}

	t.Run("scope", func(t *testing.T) {
		t.Parallel()
		for _, scope := range []settings.Scope{settings.ScopeSeeds, settings.ScopeWeb} {
			require.NoError(t, settings.Settings{Scope: &scope}.Validate())
		}
		for _, scope := range []settings.Scope{"", "Web", "all"} {
			err := settings.Settings{Scope: &scope}.Validate()
			require.ErrorIs(t, err, settings.ErrInvalid)
			require.ErrorContains(t, err, "scope")
			require.ErrorContains(t, err, "want seeds or web")
		}
	})

	t.Run("group_by", func(t *testing.T) {
		t.Parallel()
		for _, by := range []settings.GroupBy{settings.GroupByHost, settings.GroupByRegistered} {
			require.NoError(t, settings.Settings{GroupBy: &by}.Validate())
		}
		require.ErrorContains(t, settings.Settings{GroupBy: new(settings.GroupBy("ip"))}.Validate(), `group_by "ip": want host or registered-domain`)
	})

	t.Run("patterns", func(t *testing.T) {
		t.Parallel()
		require.NoError(t, settings.Settings{Exclude: &[]string{"/", "*", "/a*b$", "https://a.example/x", "http://*/y"}}.Validate())
		long := "/" + strings.Repeat("a", 500)
		for want, patterns := range map[string][]string{
			`include "wiki/": want the beginning of a path or a URL`: {"/a", "wiki/"},
			`include "": want`:                               {""},
			`include "/a b": want`:                           {"/a b"},
			`include "/ü": want`:                             {"/ü"},
			`501 bytes: want 500 at most`:                    {long},
			`include: 101 patterns: want 100 at most`:        slices.Repeat([]string{"/a"}, 101),
			`include "ftp://a.example/": want the beginning`: {"ftp://a.example/"},
		} {
			err := settings.Settings{Include: &patterns}.Validate()
			require.ErrorIs(t, err, settings.ErrInvalid)
			require.ErrorContains(t, err, want)
		}
	})

	t.Run("NamesAllFaults", func(t *testing.T) {
		t.Parallel()
		err := settings.Settings{MaxAttempts: new(0), Delay: new(settings.Duration(-time.Second)), Scope: new(settings.Scope("x"))}.Validate()
		for _, want := range []string{"max_attempts 0: want 1 to 20", "delay -1s: want 0s to 8760h", `scope "x"`} {
			require.ErrorContains(t, err, want)
		}
		require.NoError(t, settings.Settings{}.Validate(), "what is not set is not at fault")
	})
}

// withField sets one field by its name, to a number of nanoseconds if it is a
// duration.
func withField(t *testing.T, field string, v int64) settings.Settings {
	t.Helper()
	d, known := settings.Lookup(field)
	require.True(t, known)
	var value any = v
	if d.Duration() {
		value = settings.Duration(v)
	}
	data, err := json.Marshal(map[string]any{field: value})
	require.NoError(t, err)
	var s settings.Settings
	require.NoError(t, json.Unmarshal(data, &s))
	return s
}

func TestSettingsJSON(t *testing.T) {
	t.Parallel()

	t.Run("ComeBackAsTheyWere", func(t *testing.T) {
		t.Parallel()
		for _, want := range []settings.Settings{{}, full(), settings.Settings{}.WithDefaults()} {
			data, err := json.Marshal(want)
			require.NoError(t, err)
			var got settings.Settings
			require.NoError(t, json.Unmarshal(data, &got))
			require.Equal(t, want, got, string(data))
		}
	})

	t.Run("AreForPeople", func(t *testing.T) {
		t.Parallel()
		data, err := json.Marshal(full())
		require.NoError(t, err)
		require.JSONEq(t, `{"delay":"1.5s","ip_delay":"0s","subnet_delay":"7ns","defer_after":"1h30m0s","max_attempts":2,"max_depth":0,
			"graylist":"0s","latency_factor":0.5,"max_graylistings":6,"max_redirects":7,"feeds":false,"sitemaps":false,"min_refetch":"8ns","purpose":"archive","window":"Sat 00:00-24:00",
			"exclude":["/private/"],"include":["/*.html$"],"skip":["variants"],
			"max_bytes":9,"max_bytes_per_domain":10,"max_time":"11ns","yield_after":12,
			"group_by":"registered-domain","max_subdomains":13,"max_pages_per_registered_domain":14,
			"images":"store","image_scope":"seeds","image_min_size":16,"max_images_per_domain":18,"max_images_per_page":19,"thumbnails":true,
			"max_active_domains":3,"max_pages":4,"max_pages_per_domain":0,"pages_per_activity":5,"scope":"web","when_done":"recrawl"}`,
			string(data))
		data, err = json.Marshal(settings.Settings{})
		require.NoError(t, err)
		require.JSONEq(t, "{}", string(data))
	})

	t.Run("HavePagesPerActivityAsANumberOrAuto", func(t *testing.T) {
		t.Parallel()
		for text, want := range map[string]int{`"auto"`: settings.PagesPerActivityAuto, `0`: 0, `1`: 1, `50`: 50, `"7"`: 7} {
			s := settings.Settings{MaxDepth: new(3), PagesPerActivity: new(5)}
			require.NoError(t, json.Unmarshal([]byte(`{"pages_per_activity":`+text+`}`), &s), text)
			require.Equal(t, settings.Settings{MaxDepth: new(3), PagesPerActivity: &want}, s, text)
			require.NoError(t, s.Validate())
		}
		for _, bad := range []string{`"many"`, `""`, `"0"`, `"-1"`, `"1001"`} {
			err := json.Unmarshal([]byte(`{"pages_per_activity":`+bad+`}`), new(settings.Settings))
			require.ErrorIs(t, err, settings.ErrInvalid, bad)
			require.ErrorContains(t, err, "pages_per_activity "+bad+": want auto or 1 to 1000")
		}
		require.Error(t, json.Unmarshal([]byte(`{"pages_per_activity":1.5}`), new(settings.Settings)))
		var s settings.Settings
		require.NoError(t, json.Unmarshal([]byte(`{"pages_per_activity":"auto","dely":"1s"}`), &s))
		require.ErrorContains(t, s.Validate(), `unknown setting "dely"`)
		data, err := json.Marshal(settings.Settings{PagesPerActivity: new(settings.PagesPerActivityAuto)})
		require.NoError(t, err)
		require.JSONEq(t, `{"pages_per_activity":0}`, string(data), "workers of the last version read a number")
	})

	t.Run("RefuseBadDurations", func(t *testing.T) {
		t.Parallel()
		for _, bad := range []string{`10`, `1.5`, `"10"`, `""`, `"ten"`, `"1d"`, `"1e300s"`, `true`, `{}`, `["1s"]`} {
			var s settings.Settings
			err := json.Unmarshal([]byte(`{"delay":`+bad+`}`), &s)
			require.ErrorIs(t, err, settings.ErrInvalid, bad)
			require.ErrorContains(t, err, "10s", bad)
		}
	})
}

func TestSettingsOfImages(t *testing.T) {
	t.Parallel()
	set := settings.Settings{}.WithDefaults()
	require.False(t, set.TakesImages())
	set.Images = new(settings.ImagesMetadata)
	require.True(t, set.TakesImages())
	set.Images, set.ImageScope = new(settings.Images("all")), new(settings.ImageScope("web"))
	err := set.Validate()
	require.ErrorIs(t, err, settings.ErrInvalid)
	require.ErrorContains(t, err, `images "all": want off, metadata or store`)
	require.ErrorContains(t, err, `image_scope "web": want seeds or any`)
}
