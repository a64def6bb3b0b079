package search_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/internal/terms"
	"github.com/mosey-web/mosey/search"
)

// Terms of different scripts that stand together are found together.
func TestSearchMixedScripts(t *testing.T) {
	t.Parallel()
	l := newLibrary(t)
	l.add(
		t,
		page{url: "https://nogi.example/", language: "ja", title: "歌", text: long("乃木坂46のメンバー。平成30年度の予算。第3回。 ")},
		page{url: "https://seoul.example/", language: "ko", title: "교통", text: long("오늘 서울 지하철 노선도를 보았다. ")},
		page{url: "https://wx.example/", language: "zh-Hans", title: "手机", text: long("请到微信app下载页面。 ")},
	)
	for query, want := range map[string][]string{
		"乃木坂46":      {"nogi.example/"},
		"平成30年度":     {"nogi.example/"},
		"第3回":        {"nogi.example/"},
		`"서울 지하철"`:   {"seoul.example/"},
		`"지하철 서울"`:   {},
		"微信app下载":    {"wx.example/"},
		"坂":          {"nogi.example/"},
		"乃木46":       {},
		"app 微信 -手机": {},
	} {
		require.Equal(t, want, l.urls(t, search.Query{Text: query}), query)
	}
}

// Names are found as people type them.
func TestSearchNames(t *testing.T) {
	t.Parallel()
	l := newLibrary(t)
	l.add(
		t,
		page{url: "https://a.example/", language: "en", title: "Views", text: "The view pg_stat_activity has a row for each process. Don't worry."},
		page{url: "https://b.example/", language: "en", title: "Paths", text: "os.path.join(a, b) joins paths in Python 3.11, encoded as utf-8."},
		page{url: "https://c.example/", language: "en", title: "Languages", text: "Written in C++ and C#, by AT&T."},
		page{url: "https://d.example/", language: "en", title: "C", text: long("Written in C. A stat of activity in pg. Version 11 of 3.")},
		page{url: "https://e.example/", language: "de", title: "Straßen", text: "Die Häuser über der Müllerstraße."},
		page{url: "https://f.example/", language: "en", title: "Post", text: "Send an e-mail to the lighthouse."},
		page{url: "https://h.example/", language: "en", title: "Tests", text: "A certificate named A+ in a pot."},
		page{url: "https://i.example/", language: "en", title: "Papers", text: "A certificate in a pot."},
		page{url: "https://g.example/", language: "en", title: "Mail", text: "All emails of the keeper, on line and by post."},
	)
	for query, want := range map[string][]string{
		"pg_stat_activity": {"a.example/"},
		"os.path.join":     {"b.example/"},
		"path.join":        {"b.example/"},
		"3.11":             {"b.example/"},
		"utf-8":            {"b.example/"},
		"UTF-8":            {"b.example/"},
		"C++":              {"c.example/"},
		"c#":               {"c.example/"},
		"AT&T":             {"c.example/"},
		"don't":            {"a.example/"},
		"don’t":            {"a.example/"},
		"muellerstrasse":   {"e.example/"},
		"haeuser":          {"e.example/"},
		"A+ certificate":   {"h.example/"},
		"papers -poet":     {"i.example/"},
		"email":            {"f.example/", "g.example/"},
		"e-mail":           {"f.example/"},
		"utf8":             {"b.example/"},
		"dont worry":       {"a.example/"},
		"light house":      {"f.example/"},
		"house light":      {},
		`"light house"`:    {},
	} {
		require.Equal(t, want, l.urls(t, search.Query{Text: query}), query)
	}
	require.ElementsMatch(t, []string{"c.example/", "d.example/"}, l.urls(t, search.Query{Text: "written c"}))
}

// One site does not hide another, however many of its pages are better.
func TestSearchOfOneLargeSite(t *testing.T) {
	t.Parallel()
	l := newLibrary(t)
	var pages []page
	for i := range 60 {
		pages = append(pages, page{url: fmt.Sprintf("https://big.example/%d", i), language: "en", title: fmt.Sprintf("Harbour %d", i), text: "harbour"})
	}
	l.add(t, append(pages, page{url: "https://small.example/", language: "en", title: "Boats", text: "There is a harbour beside the old town and its walls."})...)
	found := l.urls(t, search.Query{Text: "harbour"})
	require.Len(t, found, 3, "%q", found)
	require.Equal(t, "small.example/", found[2])
	require.Len(t, l.urls(t, search.Query{Text: "harbour", Domain: "big.example", Limit: 20}), 20)
	require.Len(t, l.urls(t, search.Query{Text: "harbour", Domain: "big.example", Limit: 20, Offset: 50}), 10)
}

// Nor however many they are.
func TestSearchOfAVeryLargeSite(t *testing.T) {
	t.Parallel()
	l := newLibrary(t)
	x := terms.Index(terms.Page{Language: "en", Title: "Harbour", Text: "harbour"})
	for _, sql := range []string{
		`INSERT INTO pages (url, domain, origin, status, language, signals, content_hash, fetched_at, extractor)
			SELECT 'https://big.example/' || i, 'big.example', 'https://big.example', 'fetched', 'en',
				'{"title": "Harbour"}', substr(sha256(i::text::bytea), 1, 16), now(), 1 FROM generate_series(1, 6000) AS i`,
		`INSERT INTO page_keywords (page_id, domain, language, configs, title, body)
			SELECT id, domain, language, '{english}', '` + x.Title + `', '` + x.Text + `' FROM pages`,
	} {
		_, err := l.store.Pool().Exec(t.Context(), sql)
		require.NoError(t, err)
	}
	l.add(t, page{url: "https://small.example/", language: "en", title: "Boats", text: "There is a harbour beside the old town and its walls."})
	a, err := l.Find(t.Context(), search.Query{Text: "harbour"})
	require.NoError(t, err)
	require.Len(t, a.Results, 3)
	require.Equal(t, "https://small.example/", a.Results[2].URL)
	require.False(t, a.Cut)
	require.Equal(t, 6001, a.Found)
}

// A phrase that one of many pages with all its words has is found, and so is what a minus leaves.
func TestSearchPhraseAmongMany(t *testing.T) {
	t.Parallel()
	l := newLibrary(t)
	var pages []page
	for i := range 400 {
		pages = append(pages, page{url: fmt.Sprintf("https://p%d.example/", i), language: "en", title: "Boats", text: long("light and house, both of them")})
	}
	l.add(t, append(pages, page{url: "https://one.example/", language: "en", title: "Ships", text: long("far off and the house light of them")})...)
	require.Equal(t, []string{"one.example/"}, l.urls(t, search.Query{Text: `"house light"`}))
	require.Equal(t, []string{"one.example/"}, l.urls(t, search.Query{Text: `light -boats`}))
}

func TestSearchOperators(t *testing.T) {
	t.Parallel()
	l := newLibrary(t)
	l.add(
		t,
		page{url: "https://cats.example/", language: "en", text: long("cats sleep")},
		page{url: "https://dogs.example/", language: "en", text: long("dogs sleep")},
		page{url: "https://fish.example/", language: "en", text: long("cats eat fish")},
		page{url: "https://update.example/", language: "en", text: long("select for update locks rows")},
		page{url: "https://updates.example/", language: "en", text: long("all updates of rows")},
	)
	for query, want := range map[string][]string{
		"cats or dogs -fish":  {"cats.example/", "dogs.example/"},
		"cats OR dogs sleep":  {"cats.example/", "dogs.example/"},
		"sleep cats or dogs":  {"cats.example/", "dogs.example/"},
		"-fish cats":          {"cats.example/"},
		`"for update"`:        {"update.example/"},
		"or cats or":          {"cats.example/", "fish.example/"},
		"the cats":            {"cats.example/", "fish.example/"},
		"update":              {"update.example/", "updates.example/"},
		`dogs or "eat fish"`:  {"dogs.example/", "fish.example/"},
		`“eat fish”`:          {"fish.example/"},
		`cats -"eat fish"`:    {"cats.example/"},
		"sleeping cat":        {"cats.example/"},
		"rows select updates": {"update.example/", "updates.example/"},
	} {
		require.ElementsMatch(t, want, l.urls(t, search.Query{Text: query}), query)
	}
	require.Equal(t, "update.example/", l.urls(t, search.Query{Text: "rows select updates"})[0], "a page that lacks a word comes after those that have all")
}

// A word that is spelt, or a name that is written, in another way is found.
func TestSearchOtherSpellings(t *testing.T) {
	t.Parallel()
	l := newLibrary(t)
	l.add(
		t,
		page{url: "https://cpp.example/", language: "en", text: "What C++17 brought"},
		page{url: "https://kurs.example/", language: "de", text: "Ein C++-Kurs für Anfänger"},
		page{url: "https://c.example/", language: "en", text: "The language C"},
		page{url: "https://fa.example/", language: "fa", text: "کتاب سال ۱۴۰۳"},
		page{url: "https://mail.example/", language: "en", text: "Write an e\u2011mail"},
		page{url: "https://sf.example/", language: "en", text: "San Francisco"},
		page{url: "https://fi.example/", language: "fi", text: "Hän sanoi sen talossa"},
		page{url: "https://number.example/", language: "en", text: "Of 1,234,567 people"},
		page{url: "https://party.example/", language: "en", text: "Let us celebrate 🎉 now"},
		page{url: "https://or.example/", language: "en", text: "Either and or gates"},
	)
	for query, want := range map[string][]string{
		"C++":                      {"cpp.example/", "kurs.example/"},
		"C++17":                    {"cpp.example/"},
		"1403":                     {"fa.example/"},
		"۱۴۰۳":                     {"fa.example/"},
		"\u0643\u062a\u0627\u0628": {"fa.example/"},
		"email":                    {"mail.example/"},
		"e-mail":                   {"mail.example/"},
		"e‐mail":                   {"mail.example/"},
		"sanoi":                    {"fi.example/"},
		"1234567":                  {"number.example/"},
		"1,234,567":                {"number.example/"},
		"🎉":                        {"party.example/"},
		"celebrate 🎉":              {"party.example/"},
		"or":                       {"or.example/"},
		"gates or":                 {"or.example/"},
	} {
		require.ElementsMatch(t, want, l.urls(t, search.Query{Text: query}), query)
	}
	require.Empty(t, l.urls(t, search.Query{Text: "sanoi", Language: "en"}))
	require.Equal(t, []string{"fi.example/"}, l.urls(t, search.Query{Text: "talot", Language: "fi"}))
	_, err := l.Search(t.Context(), search.Query{Text: "+ - ~"})
	require.ErrorContains(t, err, "signs are not indexed")
}

func TestSearchSuggests(t *testing.T) {
	t.Parallel()
	l := newLibrary(t)
	l.add(
		t,
		page{url: "https://a.example/", language: "en", text: "a lighthouse at the harbour"},
		page{url: "https://b.example/", language: "en", text: "the harbour, the harbor"},
	)
	for query, want := range map[string]string{
		"lihgthouse harbour": "lighthouse harbour", "harbuor": "harbour", "lighthuse -x": "lighthouse -x", "zzzz": "", "harbour": "",
	} {
		a, err := l.Find(t.Context(), search.Query{Text: query})
		require.NoError(t, err)
		require.Equal(t, want, a.Instead, query)
	}
}

// A page without a description is shown with the heading that has most words of the query.
func TestSearchHeadings(t *testing.T) {
	t.Parallel()
	l := newLibrary(t)
	l.add(t, page{
		url: "https://a.example/", language: "en", title: "Manual", text: "To begin with. Copy the files. Then remove them. And rest.",
		headings: "Introduction\nCopying files\nRemoving files " + strings.Repeat("of any kind ", 20),
	})
	cut := "Removing files " + strings.TrimSpace(strings.Repeat("of any kind ", 8)) + " of any"
	for query, want := range map[string]string{"files": "Copying files", "copying": "Copying files", "removing files": cut, "manual": "Introduction", "rest": "Introduction"} {
		results, err := l.Search(t.Context(), search.Query{Text: query})
		require.NoError(t, err)
		require.Len(t, results, 1, query)
		require.Equal(t, want, results[0].Heading, query)
	}
	l.add(t, page{url: "https://b.example/", language: "en", title: "Guide", headings: "One", text: "word", signals: crawl.Signals{Description: "What it is about"}})
	results, err := l.Search(t.Context(), search.Query{Text: "guide"})
	require.NoError(t, err)
	require.Equal(t, "What it is about", results[0].Description)
	require.Empty(t, results[0].Heading)
	l.add(t, page{url: "https://c.example/", language: "en", title: "Bare", text: "Neither a sailor nor a boat."})
	for query, words := range map[string][]string{"bare boat": {"boat"}, "sailors": {"sailors"}} {
		results, err = l.Search(t.Context(), search.Query{Text: query})
		require.NoError(t, err)
		require.Equal(t, words, results[0].Words, query)
	}
}

// A phrase is found also where its words have been used hundreds of times before.
func TestSearchPhraseInALongPage(t *testing.T) {
	t.Parallel()
	l := newLibrary(t)
	l.add(t, page{
		url: "https://long.example/", language: "en", title: "Long",
		text: strings.Repeat("the end of the day ", 1_000) + "the keeper of the lamp " + strings.Repeat("and the night ", 5_000) + "until the dawn",
	})
	for _, query := range []string{`"the keeper of the lamp"`, `"until the dawn"`} {
		require.Equal(t, []string{"long.example/"}, l.urls(t, search.Query{Text: query}), query)
	}
}

// A page that is not to be archived is found by its words, but not by phrases.
func TestSearchOfNoArchive(t *testing.T) {
	t.Parallel()
	l := newLibrary(t)
	text := long("The keeper of the lamp lights the lamp.")
	l.add(t,
		page{url: "https://kept.example/", language: "en", title: "Lighthouses", text: text},
		page{url: "https://bare.example/", language: "en", title: "Lighthouses", text: text, headings: "Lamps", noArchive: true})
	both := []string{"kept.example/", "bare.example/"}
	for _, query := range []string{"keeper lamp", "lighthouse", "lit OR lamps", "lighting"} {
		require.ElementsMatch(t, both, l.urls(t, search.Query{Text: query}), query)
	}
	for _, query := range []string{`"the keeper of the lamp"`, `"keeper lamp"`, `"lamp lamp"`, `"keeper lights"`} {
		require.NotContains(t, l.urls(t, search.Query{Text: query}), "bare.example/", query)
	}
	require.Equal(t, []string{"kept.example/"}, l.urls(t, search.Query{Text: `"keeper of the lamp"`}))
	results, err := l.Search(t.Context(), search.Query{Text: "keeper stranger OR lights", Domain: "bare.example"})
	require.NoError(t, err)
	require.Len(t, results, 1)
	require.Empty(t, results[0].Heading)
}
