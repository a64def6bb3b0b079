package activities_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/manners/web"
	"github.com/mosey-web/mosey/search"
	"github.com/mosey-web/mosey/test/dbtest"
)

const lighthouse = "<h1>Lighthouses</h1><p>The keeper of the lighthouse climbs the stairs every evening, lights the lamp and writes the weather into his book.</p>" +
	"<p>Nobody has asked him for it in thirty years, yet he goes on, for somebody may come one day and want to know.</p>"

// found are the URLs' paths that a search finds.
func (b *testBundle) found(t *testing.T, text string) []string {
	t.Helper()
	dbtest.WriteKeywords(t, b.store)
	results, err := search.New(b.store).Search(t.Context(), search.Query{Text: text})
	require.NoError(t, err)
	paths := []string{}
	for _, r := range results {
		paths = append(paths, "/"+strings.SplitN(r.URL, "/", 4)[3])
	}
	return paths
}

func TestPagesAreFound(t *testing.T) {
	t.Parallel()
	english := `<html lang="en-GB"><meta name=description content="About a keeper">`
	b := setup(t, options{sites: serving(map[string]web.Behaviour{
		"/":          page{body: `<a href=/keeper>1</a><a href=/hidden>2</a><a href=/past>3</a><a href=/nosnippet>4</a><a href=/reserved>5</a><a href=/plain.txt>6</a><a href=/login>7</a>`},
		"/keeper":    page{head: english + `<meta property="article:published_time" content="2026-03-04">`, body: lighthouse},
		"/hidden":    page{head: english + `<meta name=robots content=noindex>`, body: lighthouse + "<p>hidden</p>"},
		"/past":      page{head: english, body: lighthouse + "<p>past</p>", header: []string{"X-Robots-Tag", "unavailable_after: 2020-01-01"}},
		"/reserved":  page{head: english, body: lighthouse + "<p>reserved</p>", header: []string{"Content-Signal", "search=no"}},
		"/nosnippet": page{head: english + `<meta name=robots content=nosnippet>`, body: `<p>` + strings.Repeat("Quite another text that is about snippets and what is shown of them to people who search. ", 3) + `</p>`},
		"/plain.txt": plain{text: "Notes on harbours\n\n" + strings.Repeat("A harbour is where ships wait for the weather that the keeper has written down. ", 3)},
		"/login":     page{head: "<title>Log in</title>", body: lighthouse + "<form><input type=password></form>"},
	})})
	b.seed(t, "/")
	b.follow(t)

	require.Equal(t, []string{"/keeper"}, b.found(t, "lighthouse"))
	require.Equal(t, []string{"/keeper"}, b.found(t, "LIGHTHOUSES climbing"), "stems, case")
	require.Equal(t, []string{"/plain.txt"}, b.found(t, "harbours"))
	require.Equal(t, []string{"/nosnippet"}, b.found(t, "snippets"))
	for _, hidden := range []string{"hidden", "past", "reserved"} {
		require.Empty(t, b.found(t, hidden))
		require.Zero(t, b.count(t, "SELECT count(*) FROM page_keywords k INNER JOIN pages p ON p.id = k.page_id WHERE url LIKE '%' || $1", "/"+hidden))
	}

	results, err := search.New(b.store).Search(t.Context(), search.Query{Text: "keeper lamp", Language: "en"})
	require.NoError(t, err)
	require.Len(t, results, 1)
	require.Equal(t, "Title", results[0].Title)
	require.Equal(t, "About a keeper", results[0].Description)
	require.Equal(t, "en-GB", results[0].Language)
	require.Equal(t, b.site, results[0].Domain)
	require.Equal(t, "2026-03-04", results[0].Date.Format("2006-01-02"))
	results, err = search.New(b.store).Search(t.Context(), search.Query{Text: "snippets"})
	require.NoError(t, err)
	require.Empty(t, results[0].Description, "nosnippet")
}

// plain answers with text/plain.
type plain struct {
	web.Healthy

	text string
}

func (p plain) Serve(v *web.Visit) {
	v.W.Header().Set("Content-Type", "text/plain; charset=utf-8")
	v.Write([]byte(p.text))
}

// inTurn answers each time as the next of a list does, the last for ever.
type inTurn struct {
	web.Healthy

	list []page
	n    int
	// asked are the conditions of each request.
	asked []string
}

func (b *inTurn) Serve(v *web.Visit) {
	b.asked = append(b.asked, v.R.Header.Get("If-None-Match"))
	p := b.list[min(b.n, len(b.list)-1)]
	b.n++
	v.W.Header().Set("ETag", `"same"`)
	p.Serve(v)
}

// visit fetches the root in a run of its own.
func (b *testBundle) visit(t *testing.T, n int) {
	t.Helper()
	b.again(t, fmt.Sprintf("visit-%d", n), 0, settings.Settings{MinRefetch: new(settings.Duration)})
}

func TestNoIndexIsObeyedWhenItComesAndGoes(t *testing.T) {
	t.Parallel()
	hidden := page{body: lighthouse, header: []string{"X-Robots-Tag", "noindex"}}
	site := &inTurn{list: []page{{body: lighthouse}, hidden, {body: lighthouse}}}
	b := setup(t, options{sites: serving(map[string]web.Behaviour{"/": site})})
	b.allowAll(t, b.page("/"))
	for i, want := range [][]string{{"/"}, {}, {"/"}, {"/"}} {
		b.visit(t, i)
		require.Equal(t, want, b.found(t, "lighthouse"), "visit %d: %q", i+1, site.asked)
	}
	require.Equal(t, []string{"", `"same"`, "", `"same"`}, site.asked, "a 304 would not say that it is allowed now")
}

func TestAnOlderExtractorDropsTheConditions(t *testing.T) {
	t.Parallel()
	site := &inTurn{list: []page{{body: lighthouse}}}
	b := setup(t, options{sites: serving(map[string]web.Behaviour{"/": site})})
	b.allowAll(t, b.page("/"))
	b.visit(t, 0)
	b.visit(t, 1)
	b.exec(t, "DELETE FROM page_keywords")
	b.exec(t, "UPDATE pages SET extractor = extractor - 1, fresh_until = now() + interval '1 day' WHERE extractor IS NOT NULL")
	b.visit(t, 2)
	require.Equal(t, []string{"", `"same"`, ""}, site.asked)
	require.Equal(t, []string{"/"}, b.found(t, "lighthouse"))
}

// Of a page that is not to be archived nothing is kept of the order of its words.
func TestPagesThatAreNotToBeArchived(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		page page
		kept bool
	}{
		"NothingSaid":      {page{}, true},
		"Meta":             {page{head: `<meta name=robots content="noarchive">`}, false},
		"MetaForUs":        {page{head: `<meta name=mosey content="noarchive">`}, false},
		"MetaForOthers":    {page{head: `<meta name=otherbot content="noarchive">`}, true},
		"Header":           {page{header: []string{"X-Robots-Tag", "noarchive"}}, false},
		"HeaderForUsAlone": {page{header: []string{"X-Robots-Tag", "mosey: noarchive"}}, false},
		"HeaderForOthers":  {page{header: []string{"X-Robots-Tag", "otherbot: noarchive"}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.page.body = lighthouse
			b := setup(t, options{sites: serving(map[string]web.Behaviour{"/": c.page})})
			b.seed(t, "/")
			b.follow(t)
			const ordered = `concat_ws(' ', k.title, k.headings, k.description, k.address, k.body, k.outline::text) ~ ':[a-h]([0-9a-f]{2})+'`
			kept := 0
			if c.kept {
				kept = 1
			}
			require.Equal(t, kept, b.count(t, "SELECT count(*) FROM page_keywords k WHERE index_pending AND "+ordered))
			require.Equal(t, []string{"/"}, b.found(t, "lighthouse keeper"))
			require.Equal(t, 1, b.count(t, "SELECT count(*) FROM page_keywords"))
			require.Equal(t, kept, b.count(t, "SELECT count(*) FROM page_keywords k WHERE NOT index_pending AND "+ordered))
			require.Len(t, b.found(t, `"keeper of the lighthouse climbs"`), kept)
		})
	}
}
