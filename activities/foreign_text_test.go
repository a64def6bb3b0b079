package activities_test

import (
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/manners/web"
)

// hostileHeader is the head of an answer whose texts no database and no terminal
// would take as they are.
const hostileHeader = "HTTP/1.1 200 OK\r\nConnection: close\r\nETag: \"\xff\"\r\n" +
	"Content-Type: text/html; charset=\"\x9b31m\xff\"\r\n"

func requireClean(t *testing.T, text string) {
	t.Helper()
	require.NotEmpty(t, text)
	require.False(t, strings.ContainsFunc(text, unicode.IsControl), "%q", text)
}

// A robots.txt with an ETag that is no text is read once, and then known.
func TestRobotsWithHostileHeader(t *testing.T) {
	t.Parallel()
	b := setup(t, options{sites: robotsFile(raw(hostileHeader + "\r\nUser-agent: *\nDisallow: /a\n"))})
	b.seed(t, "/a", "/b")
	b.follow(t)
	require.Len(t, b.log(), 2, "robots.txt and /b")
	require.Equal(t, crawl.RobotsRules, b.robots(t).Verdict)
	require.Empty(t, b.robots(t).ETag, "it could not be sent back as it was")
	require.Equal(t, crawl.OutcomeBlockedRobots, b.report(t, "/a").Crawls[0].Outcome)
	b.requireNothingInFlight(t)
}

func TestPageWithHostileHeader(t *testing.T) {
	t.Parallel()
	b := setup(t, options{sites: one(raw(hostileHeader + "\r\n<title>a\x1b[31m\x00b</title>"))})
	b.seed(t, "/")
	b.allowAll(t, b.page("/"))
	b.follow(t)
	require.Len(t, b.pages(), 1)
	r := b.report(t, "/")
	require.Equal(t, crawl.OutcomeSuccess, r.Crawls[0].Outcome)
	requireClean(t, r.Crawls[0].ContentType)
	requireClean(t, r.Title)
}

// The names in a certificate are its owner's.
func TestCertificateWithHostileName(t *testing.T) {
	t.Parallel()
	b := setup(t, options{
		sites:    []web.Site{{Pages: -1, TLS: web.TLSWrongHost}},
		settings: settings.Settings{MaxAttempts: new(1)},
	})
	b.seed(t, "/")
	b.allowAll(t, b.page("/"))
	b.follow(t)
	last := b.report(t, "/").Crawls[0]
	require.Equal(t, crawl.OutcomeFailed, last.Outcome)
	require.Contains(t, last.Error, "[31melsewhere")
	requireClean(t, last.Error)
}

// A record that the database refuses is kept without what it says: the request has
// been made, and is not made again.
func TestRefusedRecord(t *testing.T) {
	t.Parallel()
	t.Run("OfAPage", func(t *testing.T) {
		t.Parallel()
		for name, constraint := range map[string]string{
			"ByAConstraint": "ALTER TABLE pages ADD CHECK (signals ->> 'title' <> 'Title')",                                 // class 23
			"ByAValue":      "ALTER TABLE pages ADD CHECK ((CASE signals ->> 'title' WHEN 'Title' THEN 0 END) / 0 IS NULL)", // class 22
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				b := setup(t, options{
					sites:    serving(map[string]web.Behaviour{"/": page{body: `<a href="/b">b</a>`}}),
					settings: settings.Settings{Delay: new(settings.Duration(time.Millisecond))},
				})
				b.seed(t, "/")
				b.allowAll(t, b.page("/"))
				b.exec(t, constraint)
				b.follow(t)
				require.Equal(t, []string{"/"}, b.pages())
				last := b.report(t, "/").Crawls[0]
				require.Equal(t, crawl.OutcomeSuccess, last.Outcome)
				require.Equal(t, 200, last.StatusCode)
				require.Contains(t, last.Error, "the database refused the rest of the record")
				require.Positive(t, b.count(t, "SELECT delay_ms FROM page_crawls WHERE id = $1", last.ID), "its slot is settled")
				b.requireNothingInFlight(t)
			})
		}
	})
	t.Run("OfARobotsTxt", func(t *testing.T) {
		t.Parallel()
		b := setup(t, options{sites: robotsFile(turns{answers: []func(*web.Visit){says("User-agent: *\nAllow: /poison\n")}})})
		b.seed(t, "/")
		b.exec(t, "ALTER TABLE robots_contents ADD CHECK (position('poison'::bytea IN content) = 0)")
		b.follow(t)
		require.Len(t, b.log(), 1, "it is not asked for again, and nothing else either")
		r := b.robots(t)
		require.Equal(t, crawl.RobotsUnreachable, r.Verdict)
		require.Contains(t, r.Reason, "could not be stored")
		require.Greater(t, time.Duration(r.Lifetime), time.Hour)
		b.requireNothingInFlight(t)
	})
}
