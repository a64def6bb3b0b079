package db_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/decide"
	"github.com/mosey-web/mosey/crawl/settings"
)

// widen looks at one chunk of what the bundle's run has crawled.
func (b *bundle) widen(t *testing.T) (added int, done bool) {
	t.Helper()
	run, err := b.Run(t.Context(), b.run.Name)
	require.NoError(t, err)
	added, done, err = b.WidenRun(t.Context(), run.ID, func(c crawl.AttemptFacts) *crawl.KnownLinks {
		return decide.FollowSkipped(crawl.RunFacts{Settings: run.Settings}, c)
	})
	require.NoError(t, err)
	return added, done
}

// set changes settings of the bundle's run.
func (b *bundle) set(t *testing.T, s settings.Settings) {
	t.Helper()
	var err error
	b.run, err = b.EnsureRun(t.Context(), b.run.Name, "test", s)
	require.NoError(t, err)
}

// TestWidenRun checks that a run with a larger depth or scope gets the matching URLs that it
// already knows.
func TestWidenRun(t *testing.T) {
	t.Parallel()

	t.Run("ByDepth", func(t *testing.T) {
		t.Parallel()
		b := setupRun(t, "deeper", settings.Settings{MaxDepth: new(0)})
		b.seed(t, "https://deeper.example/")
		b.fetch(t, "deeper.example", "https://deeper.example/1", "https://elsewhere.example/")
		require.True(t, b.end(t, "deeper.example", ""))
		_, done := b.widen(t)
		require.True(t, done, "nothing has been widened")

		b.set(t, settings.Settings{MaxDepth: new(1)})
		added, done := b.widen(t)
		require.True(t, done)
		require.Equal(t, 1, added)
		require.Equal(t, []string{"https://deeper.example/", "https://deeper.example/1"}, b.crawls(t))
		require.Equal(t, []string{"deeper.example"}, b.claim(t, 9), "it is due again")
		b.fetch(t, "deeper.example", "https://deeper.example/2")
		require.Len(t, b.crawls(t), 2)
		b.set(t, settings.Settings{MaxDepth: new(1)})
		added, _ = b.widen(t)
		require.Zero(t, added, "the same again widens nothing")
		b.set(t, settings.Settings{MaxDepth: new(settings.Unlimited)})
		added, _ = b.widen(t)
		require.Equal(t, 1, added)
		require.Equal(t, 2, one[int](t, b, "SELECT depth FROM page_crawls WHERE url = 'https://deeper.example/2'"))
	})

	t.Run("ByScope", func(t *testing.T) {
		t.Parallel()
		b := setupRun(t, "wider", settings.Settings{})
		b.seed(t, "https://wider.example/")
		found := links(t, "https://other.example/", "https://nofollow.example/")
		found[1].NoFollow = true
		b.finish(t, attempted(b.begin(t, "wider.example"), "wider.example", found...))
		b.set(t, settings.Settings{Scope: new(settings.ScopeWeb)})
		added, done := b.widen(t)
		require.True(t, done)
		require.Equal(t, 1, added)
		require.Equal(t, []string{"https://other.example/", "https://wider.example/"}, b.crawls(t))
		require.Contains(t, b.claim(t, 9), "other.example")
	})

	t.Run("NotByAPageThatForbidsIt", func(t *testing.T) {
		t.Parallel()
		b := setupRun(t, "forbidden", settings.Settings{MaxDepth: new(0)})
		b.seed(t, "https://forbidden.example/")
		b.fetch(t, "forbidden.example", "https://forbidden.example/1")
		b.exec(t, `UPDATE pages SET usage = '{"nofollow": "meta robots"}' WHERE url = 'https://forbidden.example/'`)
		b.set(t, settings.Settings{MaxDepth: new(9)})
		added, _ := b.widen(t)
		require.Zero(t, added)
	})

	t.Run("InChunksThatGoOn", func(t *testing.T) {
		t.Parallel()
		b := setupRun(t, "chunks", settings.Settings{MaxDepth: new(0)})
		const pages = 230
		var seeds []string
		for i := range pages {
			seeds = append(seeds, fmt.Sprintf("https://chunk%d.example/%d", i%3, i))
		}
		b.seed(t, seeds...)
		// each links to a page of its own, but for one that is still pending
		b.exec(t, `UPDATE page_crawls SET outcome = 'success', completed_at = now(), locked_at = NULL
			WHERE run_id = $1 AND url <> $2`, b.run.ID, seeds[0])
		b.exec(t, `INSERT INTO pages (url, domain, origin) SELECT c.url || '/x', c.domain, 'https://' || c.domain
			FROM page_crawls c WHERE c.run_id = $1`, b.run.ID)
		b.exec(t, `INSERT INTO page_links (from_page_id, to_page_id) SELECT c.page_id, p.id
			FROM page_crawls c JOIN pages p ON p.domain = c.domain AND p.url = c.url || '/x' WHERE c.run_id = $1`, b.run.ID)
		b.set(t, settings.Settings{MaxDepth: new(1)})
		total := 0
		for chunk := 1; ; chunk++ {
			added, done := b.widen(t)
			total += added
			if done {
				// what was added to the domains still to come is looked at, and links nowhere
				require.GreaterOrEqual(t, chunk, 3)
				break
			}
			require.Less(t, chunk, 10)
		}
		require.Equal(t, pages-1, total)
		added, done := b.widen(t)
		require.True(t, done)
		require.Zero(t, added)
	})
}
