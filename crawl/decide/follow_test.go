package decide_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/decide"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/crawl/settings"
)

func TestNotFollowed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		set    settings.Settings
		finder report.Finder
		want   string
	}{
		"Followed":      {settings.Settings{}, report.Finder{Run: crawl.RunFacts{Seed: true}}, ""},
		"FollowedToAll": {settings.Settings{Scope: new(settings.ScopeWeb)}, report.Finder{Depth: 9}, ""},
		"OutOfScope":    {settings.Settings{}, report.Finder{}, "the domain is not a seed of run small-web, which crawls no other domains (--scope)"},
		"JustDeepEnough": {
			settings.Settings{MaxDepth: new(2)}, report.Finder{Depth: 1, Run: crawl.RunFacts{Seed: true}}, "",
		},
		"TooDeep": {
			settings.Settings{MaxDepth: new(2)},
			report.Finder{Depth: 2, Run: crawl.RunFacts{Seed: true}},
			"the page is more than 2 links from a seed of run small-web (--max-depth)",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.finder.Run.Name, c.finder.Run.Settings = "small-web", c.set.WithDefaults()
			require.Equal(t, c.want, decide.NotFollowed(c.finder))
		})
	}
}
