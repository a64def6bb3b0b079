package activities_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/manners/web"
)

// anubis is the challenge that Anubis sends by default, with status 200.
var anubis = page{
	head: `<meta name="robots" content="noindex,nofollow"><script id="anubis_challenge" type="application/json">{"rules":{}}</script>`,
	body: lighthouse + `<p id="status">Loading...</p><a href="/linked-by-the-wall">Why am I seeing this?</a>`,
}

// A wall is a refusal, whatever its status: it is named, not indexed, and not followed.
func TestWallsAreRefusals(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		behaviour web.Behaviour
		wall      reasons.Reason
		status    int
		outcome   crawl.Outcome
		evidence  string
	}{
		"Page":   {anubis, reasons.WallAnubis, 200, crawl.OutcomeBlocked4xx, `its source has <script id="anubis_challenge"`},
		"Header": {turns{answers: []func(*web.Visit){answers(403, "Cf-Mitigated", "challenge")}}, reasons.WallCloudflare, 403, crawl.OutcomeBlocked4xx, "header Cf-Mitigated: challenge"},
		"Empty":  {turns{answers: []func(*web.Visit){answers(202, "X-Amzn-Waf-Action", "challenge")}}, reasons.WallAWS, 202, crawl.OutcomeBlocked4xx, "header X-Amzn-Waf-Action: challenge"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, targets := answering(t, c.behaviour, map[string]web.Behaviour{})
			requested := b.pages()
			require.Subset(t, targets, requested)
			require.Len(t, requested, 5, "each once, until the domain is judged")

			attempt := b.report(t, requested[0]).Crawls[0]
			require.Equal(t, c.outcome, attempt.Outcome)
			require.Equal(t, c.status, attempt.StatusCode)
			require.Equal(t, c.wall, attempt.Skipped)
			require.Equal(t, c.wall.Row().Explanation+": "+c.evidence, attempt.Error)
			require.Empty(t, b.found(t, "lighthouse"))
			require.Zero(t, b.count(t, "SELECT count(*) FROM pages WHERE url LIKE '%linked-by-the-wall'"))
			require.Equal(t, 5, b.count(t, "SELECT (skips ->> $1)::integer FROM run_domains WHERE domain = $2", string(c.wall), b.site))
			d, err := b.store.Domain(t.Context(), b.site)
			require.NoError(t, err)
			require.Equal(t, crawl.DomainBlocked, d.Status)
		})
	}
}

// A wall in place of robots.txt is named, and nothing is allowed.
func TestAWallInPlaceOfRobots(t *testing.T) {
	t.Parallel()
	b := setup(t, options{sites: serving(map[string]web.Behaviour{"/robots.txt": anubis, "/": page{body: lighthouse}})})
	b.seed(t, "/")
	b.follow(t)
	require.Empty(t, b.pages())
	require.Contains(t, b.robots(t).Reason, "(wall: Anubis): nothing is allowed")
	require.Equal(t, 1, b.count(t, "SELECT count(*) FROM page_crawls WHERE kind = 'robots' AND outcome = 'blocked_4xx' AND skipped = 'wall: Anubis'"))
}

// A wall in place of a sitemap says nothing about the sitemap.
func TestAWallInPlaceOfASitemap(t *testing.T) {
	t.Parallel()
	b := setup(t, options{settings: settings.Settings{Sitemaps: new(true)}, sites: serving(map[string]web.Behaviour{
		"/robots.txt": turns{answers: []func(*web.Visit){says("Sitemap: /map.xml\n")}}, "/": page{body: lighthouse}, "/map.xml": anubis,
	})})
	b.seed(t, "/")
	b.follow(t)
	attempt := b.report(t, "/map.xml").Crawls[0]
	require.Equal(t, crawl.OutcomeBlocked4xx, attempt.Outcome)
	require.Equal(t, reasons.WallAnubis, attempt.Skipped)
	b.requireNothingInFlight(t)
}

// A page that only asks for JavaScript is not found. That is no refusal.
func TestPagesThatAskForJavaScript(t *testing.T) {
	t.Parallel()
	b := setup(t, options{sites: serving(map[string]web.Behaviour{
		"/": page{body: `<noscript>You need to enable JavaScript to run this app.</noscript><div id="root"></div><a href="/imprint">Imprint</a>`},
	})})
	b.seed(t, "/")
	b.follow(t)
	attempt := b.report(t, "/").Crawls[0]
	require.Equal(t, crawl.OutcomeSuccess, attempt.Outcome)
	require.Equal(t, reasons.NeedsScript, attempt.Skipped)
	require.Empty(t, b.found(t, "JavaScript"))
	require.Contains(t, b.pages(), "/imprint")
	d, err := b.store.Domain(t.Context(), b.site)
	require.NoError(t, err)
	require.False(t, d.Health.Samples[0].Refused)
}
