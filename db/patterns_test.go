package db_test

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/decide"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/crawl/traps"
)

// tally is how a pattern stands, as "seen duplicates copies".
func (b *bundle) tally(t *testing.T, domain, pattern string) string {
	t.Helper()
	return one[string](t, b, `SELECT coalesce((SELECT seen || ' ' || duplicates || ' ' || copies
		FROM url_patterns WHERE domain = $1 AND pattern = $2), '')`, domain, pattern)
}

// visit fetches a page of the run, seeded, and records what it counts for.
func (b *bundle) visit(t *testing.T, url string, change func(*crawl.Attempt)) {
	t.Helper()
	u := parse(t, url)[0]
	b.seed(t, url)
	b.claim(t, 1)
	a := attempted(b.begin(t, u.Domain()), u.Domain())
	a.Charge = &crawl.Charge{Patterns: traps.Patterns(u)}
	change(&a)
	b.finish(t, a)
}

func content(text string) func(*crawl.Attempt) {
	return func(a *crawl.Attempt) { a.Page.Visit.Content = traps.HashContent([]byte(text)) }
}

func TestPatternsAreCharged(t *testing.T) {
	t.Parallel()
	b := setup(t, settings.Settings{})
	const domain, pattern = "charged.example", "/p/N"
	for i, step := range []struct {
		what   string
		change func(*crawl.Attempt)
		want   string
	}{
		{"news", content("one"), "1 0 0"},
		{"the same content", content("one"), "2 1 0"},
		{"another", content("two"), "3 1 0"},
		{"a duplicate", func(a *crawl.Attempt) { a.Charge.Duplicate = true }, "4 2 0"},
		{"a copy of what it names", func(a *crawl.Attempt) { a.Charge.Duplicate, a.Charge.Copy = true, true }, "5 2 1"},
		{"news that names another", func(a *crawl.Attempt) { a.Charge.Copy = true }, "6 2 1"},
	} {
		b.visit(t, fmt.Sprintf("https://%s/p/%d", domain, i), step.change)
		require.Equal(t, step.want, b.tally(t, domain, pattern), step.what)
	}
	require.Equal(t, []string{"/p/1", "/p/3", "/p/4"}, column[string](t, b,
		"SELECT substr(url, 24) FROM pages WHERE duplicate ORDER BY url"))

	again := b.in(t, "again", settings.Settings{})
	again.visit(t, "https://"+domain+"/p/0", content("one"))
	require.Equal(t, "6 2 1", b.tally(t, domain, pattern), "what was news is charged once, however often it is fetched")
	again.visit(t, "https://"+domain+"/p/1", content("new"))
	require.Equal(t, "4 1 0", b.tally(t, domain, pattern), "a further run forgets half, and what was none is judged anew")
	require.Zero(t, one[int](t, b, "SELECT count(*) FROM pages WHERE duplicate AND url LIKE '%/p/1'"))
	b.visit(t, "https://"+domain+"/p/9", content("nine"))
	require.Equal(t, "5 1 0", b.tally(t, domain, pattern), "an earlier one does not")
}

func TestAPageIsNoDuplicateOfWhatNamesItAsItsOriginal(t *testing.T) {
	t.Parallel()
	b := setup(t, settings.Settings{})
	b.visit(t, "https://a.example/t?p=20", func(a *crawl.Attempt) {
		content("one")(a)
		a.Charge.Copy, a.Page.Signals.Canonical = true, "https://a.example/t?t=1"
	})
	b.visit(t, "https://a.example/t?t=1", content("one"))
	require.Equal(t, "1 0 0", b.tally(t, domainA, "/t?p"))
	require.Equal(t, "1 0 0", b.tally(t, domainA, "/t?t"))
	require.Equal(t, "2 0 0", b.tally(t, domainA, "/t"))
	b.visit(t, "https://a.example/t?p=21", content("one"))
	require.Equal(t, "2 1 0", b.tally(t, domainA, "/t?p"))
}

// A pattern keeps what news has taught it, and a page of it that is to be judged is
// handed that.
func TestPatternsKeepWhatTheyShare(t *testing.T) {
	t.Parallel()
	b := setup(t, settings.Settings{})
	learned := func(shared, fingerprints string) func(*crawl.Attempt) {
		return func(a *crawl.Attempt) { a.Charge.Shared, a.Charge.Fingerprints = []byte(shared), []byte(fingerprints) }
	}
	b.visit(t, "https://a.example/i?n=1&k=word", learned("shared", "one"))
	b.visit(t, "https://a.example/i?n=2&k=word", learned("", "two"))
	b.visit(t, "https://a.example/i?n=3&k=word", func(a *crawl.Attempt) {
		content("same")(a)
		learned("", "three")(a)
	})
	b.visit(t, "https://a.example/i?n=4&k=word", func(a *crawl.Attempt) {
		content("same")(a)
		learned("of a copy", "of a copy")(a)
	})
	b.seed(t, "https://a.example/i?n=5&k=other")
	n := b.next(t, domainA)
	require.Equal(t, []crawl.PatternFacts{
		{Pattern: "/i", Seen: 4, Duplicates: 1, Shared: []byte("shared"), Fingerprints: []byte("three")},
		{Pattern: "/i?k&n", Seen: 4, Duplicates: 1},
		{Pattern: "/i?k=other&n"},
	}, n.Runs[0].Attempt.Patterns)
}

func TestRedirectsAreJudgedWithTheirTargets(t *testing.T) {
	t.Parallel()
	b := setup(t, settings.Settings{})
	leads := func(to string) func(*crawl.Attempt) {
		return func(a *crawl.Attempt) {
			a.Charge.Redirect, a.Redirect, a.Links = true, true, links(t, to)
			a.Links[0].Patterns = traps.Patterns(parse(t, to)[0])
			a.Page.Visit = &crawl.VisitUpdate{}
		}
	}
	b.visit(t, "https://a.example/go/1", leads("https://a.example/hop/1"))
	b.visit(t, "https://a.example/hop/1", leads("https://a.example/p/1"))
	require.Empty(t, b.tally(t, domainA, "/go/N"), "it is not known where that leads")
	b.visit(t, "https://a.example/p/1", content("one"))
	require.Equal(t, "1 0 0", b.tally(t, domainA, "/p/N"))
	require.Equal(t, "1 0 0", b.tally(t, domainA, "/hop/N"))
	require.Equal(t, "1 0 0", b.tally(t, domainA, "/go/N"))

	b.visit(t, "https://a.example/go/2", leads("https://a.example/p/1"))
	require.Equal(t, "2 1 0", b.tally(t, domainA, "/go/N"), "the target is known")
	b.visit(t, "https://a.example/go/3", leads("https://a.example/p/2"))
	b.visit(t, "https://a.example/go/4", leads("https://a.example/p/2"))
	require.Equal(t, "3 2 0", b.tally(t, domainA, "/go/N"), "another leads there already")
	b.visit(t, "https://a.example/p/2", content("one"))
	require.Equal(t, "4 3 0", b.tally(t, domainA, "/go/N"), "the target was a copy")
	require.Equal(t, "2 1 0", b.tally(t, domainA, "/p/N"))

	b.visit(t, "https://a.example/p/7", leads("https://a.example/p/8"))
	b.visit(t, "https://a.example/p/8", content("eight"))
	require.Equal(t, "3 1 0", b.tally(t, domainA, "/p/N"), "one of its own kind is not charged twice")
	b.visit(t, "https://a.example/go/5", leads("https://b.example/"))
	require.Equal(t, "4 3 0", b.tally(t, domainA, "/go/N"), "what another domain has is not judged")
}

// What is spent is reported, and a person can reset it.
func TestPatternsAreReset(t *testing.T) {
	t.Parallel()
	b := setup(t, settings.Settings{})
	b.visit(t, "https://a.example/p/1", content("one"))
	b.visit(t, "https://a.example/p/2", content("one"))
	b.seed(t, "https://a.example/")
	a := attempted(b.begin(t, domainA), domainA, links(t, "https://a.example/p/99")...)
	a.Links[0].Patterns = []string{"/p/N"}
	n := b.finish(t, a)
	require.NotEqual(t, decide.Skip, decide.Decide(decide.Facts{Facts: n.Facts}, n.Now).Action)

	b.exec(t, "UPDATE url_patterns SET seen = 100, duplicates = 90")
	n = b.next(t, domainA)
	spent := crawl.Trap{Rule: crawl.TrapPattern, Evidence: "90 of 100 pages like /p/N had nothing new"}
	d := decide.Decide(decide.Facts{Facts: n.Facts}, n.Now)
	require.Equal(t, decide.Skip, d.Action)
	require.Equal(t, spent, d.Trap)
	require.Equal(t, []crawl.Trap{spent}, b.domain(t, domainA).Traps)
	b.finish(t, crawl.Attempt{
		ID: d.Attempt.ID, Domain: domainA, Outcome: d.Outcome, Skipped: d.Reason, EndedAt: time.Now(),
		Page: &crawl.PageUpdate{Trap: d.Trap.Rule, TrapEvidence: d.Trap.Evidence},
	})
	require.Nil(t, decide.Pick(b.next(t, domainA).Facts, time.Now().Add(time.Hour)))

	require.NoError(t, b.ResetTraps(t.Context(), domainA))
	require.Empty(t, b.domain(t, domainA).Traps)
	require.Zero(t, one[int](t, b, "SELECT count(*) FROM pages WHERE trap IS NOT NULL OR trap_evidence IS NOT NULL OR duplicate"))
	n = b.next(t, domainA)
	require.Equal(t, "https://a.example/p/99", n.Runs[0].Attempt.URL, "it is decided again")
	require.NotEqual(t, decide.Skip, decide.Decide(decide.Facts{Facts: n.Facts}, n.Now).Action)
	require.NoError(t, b.ResetTraps(t.Context(), domainA))
	require.NoError(t, b.ResetTraps(t.Context(), "unknown.example"))
}

// Of a path whose pages bring nothing new its patterns are named, not the path alone.
func TestStoppedPatternsAreTheWholeOnes(t *testing.T) {
	t.Parallel()
	b := setup(t, settings.Settings{})
	b.seed(t, "https://a.example/")
	b.exec(t, `INSERT INTO url_patterns (domain, pattern, seen, duplicates, run_id)
		SELECT $1, p, s, d, $2 FROM (VALUES ('/v.php', 400, 60), ('/v.php?p', 60, 60), ('/v.php?t', 340, 0)) x (p, s, d)`, domainA, b.run.ID)
	require.Equal(t, []crawl.Trap{{Rule: crawl.TrapPattern, Evidence: "60 of 60 pages like /v.php?p had nothing new"}}, b.domain(t, domainA).Traps)
}

// What was stopped is tried again by each further run, and by no other.
func TestPatternsRecoverWithEachRun(t *testing.T) {
	t.Parallel()
	b := setup(t, settings.Settings{})
	last := b.in(t, "last", settings.Settings{})
	next := b.in(t, "next", settings.Settings{})
	b.exec(t, "INSERT INTO url_patterns (domain, pattern, seen, duplicates, copies, run_id) VALUES ($1, '/p', 101, 61, 41, $2)", domainA, last.run.ID)
	for n, run := range []*bundle{b, last, next} {
		run.seed(t, fmt.Sprintf("https://a.example/p?run=%d", n))
	}
	b.exec(t, "UPDATE pages SET patterns = '{/p}'")
	counted := map[int64]crawl.PatternFacts{}
	for _, r := range b.next(t, domainA).Runs {
		counted[r.ID] = r.Attempt.Patterns[0]
	}
	before := crawl.PatternFacts{Pattern: "/p", Seen: 101, Duplicates: 61, Copies: 41}
	require.Equal(t, map[int64]crawl.PatternFacts{
		b.run.ID: before, last.run.ID: before, next.run.ID: {Pattern: "/p", Seen: 50, Duplicates: 30, Copies: 20},
	}, counted)
	require.Empty(t, b.domain(t, domainA).Traps, "the latest run tries again")
}

// TestPatternsThatBringLittleComeLater is about pages that are pending, and those found later.
func TestPatternsThatBringLittleComeLater(t *testing.T) {
	t.Parallel()
	b := setup(t, settings.Settings{})
	const site = "https://later.example/"
	found := []string{site + "story", site + "p/1"}
	for i := range 20 {
		found = append(found, fmt.Sprintf("%sway?n=%d", site, i))
	}
	finds := func(found ...string) {
		t.Helper()
		a := attempted(b.begin(t, "later.example"), "later.example", links(t, found...)...)
		for i := range a.Links {
			a.Links[i].Patterns = traps.Patterns(parse(t, a.Links[i].URL)[0])
		}
		b.finish(t, a)
	}
	b.seed(t, site)
	finds(found...)
	b.exec(t, "UPDATE page_crawls SET priority = 3 WHERE url LIKE '%n=19'")
	priorities := func() []string {
		t.Helper()
		return column[string](t, b, `SELECT priority || ' ' || count(*) FROM page_crawls
			WHERE outcome IS NULL GROUP BY priority ORDER BY priority DESC`)
	}
	for i := range 8 {
		b.exec(t, "UPDATE page_crawls SET priority = 4 WHERE outcome IS NULL AND url = $1", fmt.Sprintf("%sway?n=%d", site, i))
		n := b.begin(t, "later.example")
		a := attempted(n, "later.example")
		a.Charge = &crawl.Charge{Patterns: traps.Patterns(parse(t, n.URL)[0]), Duplicate: i > 1}
		content(strconv.Itoa(i))(&a)
		b.finish(t, a)
		if i < 7 {
			require.Equal(t, []string{"3 1", fmt.Sprint("-1 ", 20-i)}, priorities(), "too few were read")
		}
	}
	require.Equal(t, []string{"3 1", "-1 2", "-4 11"}, priorities(), "six of eight brought nothing")

	b.seed(t, site+"other")
	b.exec(t, "UPDATE page_crawls SET priority = 9 WHERE outcome IS NULL AND url = $1", site+"other")
	finds(site+"way?n=100", site+"p/2")
	require.Equal(t, []string{"3 1", "-1 3", "-4 12"}, priorities(), "and what is found later")
}
