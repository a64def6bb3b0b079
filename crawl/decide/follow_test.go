package decide_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/decide"
)

func TestNotFollowed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		set    crawl.Settings
		finder crawl.Finder
		want   string
	}{
		"Followed":      {crawl.Settings{}, crawl.Finder{Run: crawl.RunFacts{Seed: true}}, ""},
		"FollowedToAll": {crawl.Settings{Scope: new(crawl.ScopeWeb)}, crawl.Finder{Depth: 9}, ""},
		"OutOfScope":    {crawl.Settings{}, crawl.Finder{}, "its domain is not a seed of run small-web, which crawls no others (--scope)"},
		"JustDeepEnough": {
			crawl.Settings{MaxDepth: new(2)}, crawl.Finder{Depth: 1, Run: crawl.RunFacts{Seed: true}}, "",
		},
		"TooDeep": {
			crawl.Settings{MaxDepth: new(2)},
			crawl.Finder{Depth: 2, Run: crawl.RunFacts{Seed: true}},
			"it is more than 2 links from a seed of run small-web (--max-depth)",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.finder.Run.Name, c.finder.Run.Settings = "small-web", c.set.WithDefaults()
			require.Equal(t, c.want, decide.NotFollowed(c.finder))
		})
	}
}
