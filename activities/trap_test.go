package activities_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/activities"
	"github.com/mosey-web/mosey/manners/web"
	"github.com/mosey-web/mosey/test/form"
)

// crawlAll fetches pages of the site until nothing of it is due, in at most so
// many requests.
func (b *testBundle) crawlAll(t *testing.T, most int) {
	t.Helper()
	for len(b.pages()) <= most {
		res, err := b.fetchPages(t, 100)
		require.NoError(t, err)
		switch res.Next {
		case activities.StepFinish:
			return
		case activities.StepRobots:
			b.followStep(t, res.NextStep)
		case activities.StepFetch:
		}
		b.skipWait(t, time.Duration(res.Wait))
	}
	require.Fail(t, "no end", "%d requests", len(b.pages()))
}

// skipWait makes the site's slots and pending attempts due as if a wait had passed.
func (b *testBundle) skipWait(t *testing.T, wait time.Duration) {
	t.Helper()
	if wait > 0 {
		b.exec(t, "UPDATE politeness_slots SET free_at = free_at - $1::interval", wait)
		b.exec(t, "UPDATE page_crawls SET scheduled_for = scheduled_for - $1::interval WHERE outcome IS NULL AND domain = $2", wait, b.site)
	}
}

// Every endless space ends, and says why; the site's honest pages are all
// fetched.
func TestTrapsEnd(t *testing.T) {
	t.Parallel()
	const honest = 60
	cases := make(map[string]web.TrapShape)
	for _, kind := range web.TrapShapes() {
		if kind != web.TrapLinks { // a million links: see the page's own bounds
			cases[string(kind)] = kind
		}
	}
	bundles := setupCases(t, options{}, cases, func(kind web.TrapShape) web.Site {
		return web.Site{Pages: honest, Plain: true, Trap: kind}
	})
	for name := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			switch cases[name] {
			case web.TrapPaths, web.TrapRedirects, web.TrapSessionPath:
				form.Long(t)
			}
			b := bundles[name]
			b.seed(t, "/")
			b.allowAll(t, b.page("/"))
			b.crawlAll(t, 600)
			t.Logf("%d requests, %d skipped, %d marked", len(b.pages()),
				b.count(t, "SELECT count(*) FROM page_crawls WHERE skipped = 'trap' AND domain = $1", b.site),
				b.count(t, "SELECT count(*) FROM pages WHERE trap IS NOT NULL AND domain = $1", b.site))
			for _, target := range []string{"/", "/p/1", "/p/30", "/p/60"} {
				require.Contains(t, b.pages(), target)
			}
			require.Equal(t, honest, b.count(t, `SELECT count(*) FROM page_crawls
				WHERE outcome = 'success' AND skipped IS NULL AND domain = $1 AND url LIKE '%/p/%'`, b.site))
			require.Zero(t, b.count(t, `SELECT count(*) FROM page_crawls c JOIN pages p ON p.id = c.page_id
				WHERE c.skipped = 'trap' AND (p.trap IS NULL OR p.trap_evidence IS NULL OR c.error_message IS NULL)`))
		})
	}
}
